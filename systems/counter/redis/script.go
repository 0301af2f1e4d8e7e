package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

const (
	fieldCounter = "counter"
	fieldStatus  = "status"
	fieldChanged = "lastChanged"

	// remembered is how long the change of an idempotency key is kept.
	remembered = 10 * time.Minute
)

// Commands that can fail come before those that write, so that an error means
// that nothing was written. Numbers of Lua are exact up to 2^53; beyond, the text
// is asked for.
const (
	changeText = `local now = redis.call('TIME')[1]
local value = redis.call('HINCRBY', KEYS[1], 'counter', ARGV[1])
local odd = value % 2
if value >= 2^53 or value <= -2^53 then
  value = redis.call('HGET', KEYS[1], 'counter')
  odd = string.sub(value, -1) % 2
end
redis.call('HSET', KEYS[1], 'status', odd, 'lastChanged', now)
`
	plainText = changeText + `return {value, now}`

	onceText = `local seen = redis.call('GET', KEYS[2])
if seen then
  local value, at = string.match(seen, '(%S+) (%S+)')
  return {value, at, 1}
end
` + changeText + `value = redis.call('HGET', KEYS[1], 'counter')
redis.call('SET', KEYS[2], value .. ' ' .. now, 'PX', ARGV[2])
return {value, now, 0}`
)

// A script is known to Redis by its hash.
type script struct{ text, sha string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// script increments by one call.
func (c *Counter) script(ctx context.Context, n int64) (Change, error) {
	change, _, err := c.call(ctx, c.plain, []string{c.key}, strconv.FormatInt(n, 10))
	return change, err
}

// incrementOnce increments unless an increment with this id came before.
func (c *Counter) incrementOnce(ctx context.Context, n int64, id string) (Change, error) {
	change, replayed, err := c.call(ctx, c.idempotent, []string{c.key, c.idPrefix + id},
		strconv.FormatInt(n, 10), strconv.FormatInt(remembered.Milliseconds(), 10))
	if replayed {
		c.counts.replayed.Add(1)
	}
	return change, err
}

// call runs a script by its hash, or by its text where Redis does not know it yet.
func (c *Counter) call(ctx context.Context, s script, keys []string, args ...string) (change Change, replayed bool, err error) {
	client, err := c.link.connected()
	if err != nil {
		return Change{}, false, err
	}
	n := int64(len(keys))
	result := c.do(ctx, client, client.B().Evalsha().Sha1(s.sha).Numkeys(n).Key(keys...).Arg(args...).Build())
	if isNoScript(result.Error()) {
		result = c.do(ctx, client, client.B().Eval().Script(s.text).Numkeys(n).Key(keys...).Arg(args...).Build())
	}
	change, replayed, err = parse(result)
	return change, replayed, c.judge(ctx, err, ErrIndeterminate)
}

func isNoScript(err error) bool {
	reply, ok := rueidis.IsRedisErr(err)
	return ok && reply.IsNoScript()
}

// parse reads the answer of a script.
func parse(result rueidis.RedisResult) (change Change, replayed bool, err error) {
	values, err := result.ToArray()
	if err != nil {
		return Change{}, false, err
	}
	var numbers [3]int64
	for i := range min(len(values), len(numbers)) {
		if numbers[i], err = values[i].AsInt64(); err != nil {
			return Change{}, false, err
		}
	}
	if len(values) < 2 {
		return Change{}, false, errAnswer
	}
	return Change{Value: numbers[0], At: numbers[1]}, numbers[2] == 1, nil
}

func (c *Counter) get(ctx context.Context) (int64, error) {
	client, err := c.link.connected()
	if err != nil {
		return 0, err
	}
	value, err := c.do(ctx, client, client.B().Hget().Key(c.key).Field(fieldCounter).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return value, err
}
