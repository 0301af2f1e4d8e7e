package queue

import "github.com/redis/rueidis"

// scriptFull does a command that takes memory in a Redis that has none left. Redis refuses one in a script only
// before the script has written, and PERSIST, which changes nothing of our keys, counts as that. (Since Redis 7 the flag
// allow-oom says so; 6.2 does not know it.)
const scriptFull = `
redis.call('PERSIST', KEYS[1])
return redis.call(unpack(ARGV))`

// scriptAdd adds entries to a stream even then: of each how many arguments it has, and these.
const scriptAdd = `
redis.call('PERSIST', KEYS[1])
local i = 1
while i <= #ARGV do
  redis.call('XADD', KEYS[1], '*', unpack(ARGV, i + 1, i + ARGV[i]))
  i = i + 1 + ARGV[i]
end
return 1`

// evenFull is a command that even a full Redis accepts. What routers write takes little, or replaces what they then
// cut off; if they waited, nobody would make room.
func (r *Redis) evenFull(args ...string) rueidis.Completed {
	return r.script(scriptFull, args[keyAt(args)], args...)
}
