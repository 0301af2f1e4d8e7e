package faults_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/guard/guardtest"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// counterKey is where the replicas keep the counter.
const counterKey = "{contend:counter}"

// A fleet is three replicas that share a counter through a Redis.
type fleet struct {
	t        testing.TB
	redis    *redistest.Server
	proxy    *redistest.Proxy // nil: the replicas reach the Redis directly
	replicas []*replica
	timeout  time.Duration // of one operation on the Redis
}

// A setting is how a fleet is started.
type setting struct {
	design  string
	timeout time.Duration // of one operation on the Redis; 0: short, but enough for it
	direct  bool          // by the socket of the Redis, past the proxy
	// supervised: one process keeps the replicas, at one address.
	supervised bool
	redis      []string // further arguments of the redis-server
}

func startFleet(t testing.TB, s setting) *fleet {
	t.Helper()
	// Without a port, which somebody else could take while the Redis is away.
	f := &fleet{t: t, redis: redistest.Start(t, append([]string{"--port", "0"}, s.redis...)...)}
	url := f.redis.URL()
	if !s.direct {
		socket := strings.TrimPrefix(url, "unix://")
		f.proxy = redistest.StartProxy(t, func() (net.Conn, error) { return net.Dial("unix", socket) })
		url = "redis://" + f.proxy.Addr()
	}
	f.timeout = cmp.Or(s.timeout, shortTimeout)
	args, processes := []string{"--redis", url}, replicaCount
	if s.supervised {
		args, processes = append(args, "--replicas", strconv.Itoa(replicaCount)), 1
	}
	for range processes {
		f.replicas = append(f.replicas, startReplica(t, s.design, append(args, redisTimeout(f.timeout))...))
	}
	f.allReady()
	for s.timeout == 0 && !f.quick(s.design) {
		f.timeout *= 2
		for _, r := range f.replicas {
			r.stop()
			r.args[len(r.args)-1] = redisTimeout(f.timeout)
			r.start()
		}
		f.allReady()
	}
	return f
}

// shortTimeout is the timeout of one operation where things are to fail. A machine that
// is slow or busy has twice as long, as often as it takes.
const shortTimeout = 400 * time.Millisecond

func redisTimeout(d time.Duration) string { return "--redis-timeout=" + d.String() }

// quick reports whether in fair weather every call is acknowledged in half the timeout,
// which distinguishes faults from a slow machine.
func (f *fleet) quick(design string) bool {
	i := slices.IndexFunc(designs(), func(d trial) bool { return d.name == design })
	w := large(designs()[i].callers)
	w.calls = 3
	c := gather(f.t, f.replicas, w)
	slow := func(call guardtest.Call) bool { return call.End-call.Start > f.timeout/2 }
	ok := !slices.ContainsFunc(c.await(), slow) && c.refused.Load() == 0 && c.lost.Load() == 0
	if !ok {
		f.t.Logf("a timeout of %v is too short here", f.timeout)
	}
	return ok || f.timeout > patience
}

// allReady waits until every replica says that it is ready.
func (f *fleet) allReady() {
	f.t.Helper()
	for _, r := range f.replicas {
		testenv.Eventually(f.t, "a replica is ready", func() bool { return r.ready() == nil })
	}
}

// noneReady waits until no replica says so.
func (f *fleet) noneReady() {
	f.t.Helper()
	for _, r := range f.replicas {
		testenv.Eventually(f.t, "a replica is not ready", func() bool { return r.ready() != nil })
	}
}

// command has the Redis do something, past the proxy.
func (f *fleet) command(args ...string) rueidis.RedisResult {
	f.t.Helper()
	opt, err := rueidis.ParseURL(f.redis.URL())
	if err != nil {
		f.t.Fatal(err)
	}
	opt.DisableCache, opt.ForceSingleClient, opt.AlwaysRESP2 = true, true, true
	client, err := rueidis.NewClient(opt)
	if err != nil {
		f.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := client.Do(ctx, client.B().Arbitrary(args...).Build())
	if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
		f.t.Fatalf("%s: %v", args[0], err)
	}
	return answer
}

// redisPID is the process of the Redis.
func (f *fleet) redisPID() int {
	f.t.Helper()
	info, err := f.command("INFO", "server").ToString()
	for line := range strings.Lines(info) {
		if pid, found := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); found && err == nil {
			var n int
			if n, err = strconv.Atoi(pid); err == nil {
				return n
			}
		}
	}
	f.t.Fatalf("no process_id in what Redis tells of itself: %v", err)
	return 0
}

// settled returns the value of the counter after the calls of h. If some are
// indeterminate it ends the connections of the replicas first, and with them all
// that may still be on its way.
func (f *fleet) settled(h guardtest.History) int64 {
	f.t.Helper()
	if len(h.Succeeded()) < len(h) {
		f.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}
	return f.value()
}

func (f *fleet) value() int64 {
	f.t.Helper()
	answer := f.command("HGET", counterKey, "counter")
	if rueidis.IsRedisNil(answer.Error()) {
		return 0
	}
	value, err := answer.AsInt64()
	if err != nil {
		f.t.Fatal(err)
	}
	return value
}

// increments in which each fault of a rush strikes once.
const perRound = 100_000

// rush has callers make at least so many increments, while the faults strike one
// after the other, again and again, spread over them, and judges what happened.
func (f *fleet) rush(w workload, increments int, faults ...fault) guardtest.History {
	f.t.Helper()
	before := f.value()
	begin := time.Now()
	faults = slices.Repeat(faults, max(1, increments/perRound))
	c := gather(f.t, f.replicas, w)
	for i, x := range faults {
		due := int64(increments * (i + 1) / (len(faults) + 1))
		c.progress(fmt.Sprintf("it is time for: %s", x.name), func() bool { return c.recorded.Load() >= due })
		f.strike(x, c)
	}
	c.progress("all increments are done", func() bool { return c.recorded.Load() >= int64(increments) })
	h := c.disperse()
	took := time.Since(begin)
	after := f.settled(h)
	if err := judge(h, before, after); err != nil {
		f.t.Error(err)
	}
	f.t.Logf("%d increments in %v: %d acknowledged, %d indeterminate of which %d happened, %d refused",
		len(h), took.Round(time.Millisecond), c.acknowledged.Load(), int64(len(h))-c.acknowledged.Load(),
		after-before-c.acknowledged.Load(), c.refused.Load())
	return h
}

const (
	windowCallers = 6
	windowCalls   = 240 // at least
)

// window has few callers make some hundred calls, loads among them, while a fault
// strikes, and looks for an order that explains every answer.
func (f *fleet) window(x fault) {
	f.t.Helper()
	before := f.value()
	c := gather(f.t, f.replicas, workload{callers: windowCallers, every: 5 * time.Millisecond, lostCalls: 2,
		adds: func(caller, call int) int32 { return int32((caller + call) % 4) }})
	recorded := func(n int64) func() bool {
		return func() bool { return c.running.Load() == 0 || c.recorded.Load() >= n }
	}
	c.progress("it is time for: "+x.name, recorded(windowCalls/3))
	f.strike(x, c)
	c.progress("the window is full", recorded(windowCalls))
	h := c.disperse()
	after := f.settled(h)
	end := time.Since(c.begin)
	h = append(h, guardtest.Call{Caller: windowCallers, Value: after, Start: end, End: end})
	begin := time.Now()
	for _, err := range []error{
		guardtest.CheckTotal(h, before, after),
		guardtest.CheckMonotonic(h),
		guardtest.CheckRealTime(h),
		guardtest.CheckLinearizable(h, before, patience),
	} {
		if err != nil {
			f.t.Errorf("a window with %s: %v", x.name, err)
		}
	}
	f.t.Logf("a window with %s: %d calls, %d indeterminate, judged in %v", x.name, len(h), len(h)-len(h.Succeeded()),
		time.Since(begin).Round(time.Millisecond))
}
