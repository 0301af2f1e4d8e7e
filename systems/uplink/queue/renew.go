package queue

import (
	"github.com/redis/rueidis"
)

// scriptRenew has a stream begin anew that takes no more entries, as it has had one with the greatest ID. If a group is named,
// nothing may be pending with it. It returns 0 where the stream has to stay for now.
const scriptRenew = `
local about = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #about, 2 do
  if about[i] == 'last-generated-id' and about[i + 1] ~= ARGV[1] then return 1 end
end
if ARGV[2] and #redis.call('XPENDING', KEYS[1], ARGV[2], '-', '+', 1) > 0 then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[2] then redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[2], '0', 'MKSTREAM') end
return 1`

func (r *Redis) renewal(key string, groups ...string) rueidis.Completed {
	var e encoder
	e.id(lastID)
	return r.script(scriptRenew, key, append(e.args, groups...)...)
}
