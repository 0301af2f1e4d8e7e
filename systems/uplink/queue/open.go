package queue

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
)

const (
	// In the slot of keyDownlinks: the open downlinks, by when they end in milliseconds
	// since 1970 by the clock of Redis, and how many of them each customer has.
	keyOpen   = "ran:open:{" + keyDownlinks + "}"
	keyShares = "ran:shares:{" + keyDownlinks + "}"
	keyClock  = "ran:clock:{" + keyDownlinks + "}" // a stream whose entry has the time

	// mostDownlinks bounds the open downlinks. A customer may have as many of them as
	// places are free: half of them alone, and a share of the rest together with others,
	// so that no customer takes the last place (dynamic thresholds; Choudhury and Hahne,
	// IEEE/ACM Transactions on Networking 6(2), 1998). An entry takes less than 1 kB.
	mostDownlinks = 20_000

	// scriptOpen writes a downlink if its customer has a place, and names it by its entry and its customer.
	scriptOpen = `
local mine = redis.call('HGET', KEYS[3], ARGV[2]) or 0
if tonumber(mine) >= ARGV[1] - redis.call('ZCARD', KEYS[2]) then return false end
local id = redis.call('XADD', KEYS[1], '*', unpack(ARGV, 4))
local name = id .. ' ' .. ARGV[2]
redis.call('ZADD', KEYS[2], string.match(id, '%d+') + ARGV[3], name)
redis.call('HINCRBY', KEYS[3], ARGV[2], 1)
return name`
	// scriptEnd ends downlinks, and those whose time is up: as many as may end between two calls of tidy, since
	// each of mostDownlinks is open for ten seconds at least. It also removes entries that are older than any
	// open one, which is ten minutes: earlier versions left them. The time is that of an entry, since an operator
	// may not allow TIME. PERSIST is as in scriptFull.
	scriptEnd = `
redis.call('PERSIST', KEYS[2])
local now = tonumber(string.match(redis.call('XADD', KEYS[4], 'MAXLEN', '1', '*', 'v', '1'), '%d+'))
local names = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 2000)
for _, name in ipairs(ARGV) do names[#names + 1] = name end
for _, name in ipairs(names) do
  if redis.call('ZREM', KEYS[2], name) == 1 then
    local id, customer = string.match(name, '^(%S+) (.*)$')
    if redis.call('HINCRBY', KEYS[3], customer, -1) < 1 then redis.call('HDEL', KEYS[3], customer) end
    redis.call('XDEL', KEYS[1], id)
  end
end
redis.call('XTRIM', KEYS[1], 'MINID', '~', now - 600000)
return 0`
)

// ErrShare says that a customer has its share of the downlinks that may be open.
var ErrShare = errors.New("queue: the customer's share of open downlinks is used up")

// EndDownlinks removes downlinks that need no result any more, by their names, and all whose time is up. They
// make room for others of their customers, on whatever connection and instance.
func (r *Redis) EndDownlinks(ctx context.Context, names ...string) error {
	return r.openScript(ctx, scriptEnd, names...).Error()
}

func (r *Redis) openScript(ctx context.Context, text string, args ...string) rueidis.RedisResult {
	return r.client.Do(ctx, r.client.B().Eval().Script(text).Numkeys(4).Key(keyDownlinks, keyOpen, keyShares, keyClock).Arg(args...).Build())
}
