package faults_test

import (
	"os"
	"slices"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// weathers are the faults of a proxy.
func weathers() []fault {
	swallowed := func(f *fleet, c *crowd, since counts) bool { return f.counts(c).swallowed > since.swallowed }
	return []fault{
		{name: "latency and jitter", hold: 200 * time.Millisecond, end: clear,
			begin: turn(redistest.Weather{Latency: time.Millisecond, Jitter: 3 * time.Millisecond}),
			bites: func(f *fleet, c *crowd, since counts) bool { return f.counts(c).delayed > since.delayed }},
		{name: "dropped connections", begin: sever(false), end: nothing},
		{name: "reset connections", begin: sever(true), end: nothing},
		{name: "cuts in the middle of data", hold: 100 * time.Millisecond, end: clear,
			begin: turn(redistest.Weather{Jitter: time.Millisecond, Cut: 0.05}),
			bites: func(f *fleet, c *crowd, since counts) bool { return f.counts(c).cut >= since.cut+10 }},
		{name: "half-open connections", timeouts: 1, end: clear, bites: swallowed,
			begin: turn(redistest.Weather{DeafToRequests: true, DeafToAnswers: true})},
		{name: "lost requests", timeouts: 0.25, end: clear, bites: swallowed,
			begin: turn(redistest.Weather{DeafToRequests: true})},
		{name: "lost answers", timeouts: 0.25, end: clear, bites: swallowed,
			begin: turn(redistest.Weather{DeafToAnswers: true})},
		{name: "connections that nobody accepts", timeouts: 1, end: clear,
			begin: func(f *fleet) {
				f.proxy.Become(redistest.Weather{ClosedDoor: true})
				f.proxy.Sever(true)
			},
			bites: func(f *fleet, c *crowd, since counts) bool { return f.counts(c).waited > since.waited }},
	}
}

func turn(w redistest.Weather) func(*fleet) { return func(f *fleet) { f.proxy.Become(w) } }

// sever ends the connections of the replicas, which must have some.
func sever(reset bool) func(*fleet) {
	return func(f *fleet) {
		testenv.Eventually(f.t, "a connection is ended", func() bool { return f.proxy.Sever(reset) > 0 })
	}
}

func clear(f *fleet) { f.proxy.Become(redistest.Weather{}) }

// replicaKilled ends a replica as kill -9 does, amid calls to it, and starts it again.
func replicaKilled(i int) fault {
	var (
		victim *endpoint
		missed int64
	)
	return fault{name: "a replica killed", hold: 200 * time.Millisecond,
		begin: func(f *fleet) {
			victim = f.replicas[i].at()
			missed = victim.missed.Load()
			f.replicas[i].kill()
		},
		bites: func(*fleet, *crowd, counts) bool { return victim.missed.Load() > missed },
		end:   func(f *fleet) { f.replicas[i].start() }}
}

// childKilled ends one of the replicas that a supervisor keeps.
func childKilled() fault {
	var before []int
	return fault{name: "a supervised replica killed", hold: 50 * time.Millisecond,
		begin: func(f *fleet) {
			before = f.replicas[0].children()
			victim, _ := os.FindProcess(before[0])
			_ = victim.Kill()
		},
		bites: func(f *fleet, _ *crowd, _ counts) bool {
			now := f.replicas[0].children()
			return len(now) == len(before) && !slices.Equal(now, before)
		},
		end: nothing}
}

// redisKilled ends the Redis as kill -9 does, and starts it with what its
// append-only file has.
func redisKilled() fault {
	return fault{name: "Redis killed",
		begin: func(f *fleet) { f.redis.Kill() },
		bites: func(f *fleet, c *crowd, since counts) bool {
			f.noneReady()
			return f.counts(c).refused > since.refused
		},
		end: func(f *fleet) { f.redis.Restart() }}
}

// refusals are the ways of a Redis to answer that it will not.
func refusals() []fault {
	refusal := func(name string, begin, end []string) fault {
		return fault{name: name, hold: 50 * time.Millisecond,
			begin: func(f *fleet) { f.command(begin...) },
			end:   func(f *fleet) { f.command(end...) },
			bites: func(f *fleet, c *crowd, since counts) bool { return f.counts(c).refused > since.refused }}
	}
	return []fault{
		refusal("a Redis without memory", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}),
		refusal("a Redis that has become a replica", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}),
		refusal("a Redis that misses its replicas",
			[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}),
	}
}
