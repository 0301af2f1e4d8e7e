package faults_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"contend/guard/guardtest"
	"contend/internal/redisserver/redistest"
)

const combining = "redis-combining"

// large returns the workload of a large scenario. In a short run fewer callers, though
// both protocols at every replica, leave others the processors while a fault lasts.
func large(callers int) workload {
	if *increments >= perRound {
		return workload{callers: callers}
	}
	return workload{callers: max(2*replicaCount, callers/10), every: 100 * time.Millisecond}
}

// Where nothing fails, every call is acknowledged, and no value is left out.
func TestCalm(t *testing.T) {
	t.Parallel()
	f := startFleet(t, setting{design: combining, timeout: patience})
	exact(t, f.rush(large(callerCount), size(1)))
	for range 4 {
		f.window(calm)
	}
}

// exact checks that no call of h is indeterminate: with what a rush has checked,
// nothing that was refused has happened.
func exact(t *testing.T, h guardtest.History) {
	t.Helper()
	if lost := len(h) - len(h.Succeeded()); lost > 0 {
		t.Errorf("%d of %d calls are indeterminate: want none", lost, len(h))
	}
}

func TestProxyFaults(t *testing.T) {
	t.Parallel()
	f := startFleet(t, setting{design: combining})
	f.rush(large(callerCount), size(1), weathers()...)
	for _, x := range weathers() {
		f.window(x)
	}
}

func TestReplicaKilled(t *testing.T) {
	t.Parallel()
	f := startFleet(t, setting{design: combining, direct: true})
	f.rush(large(callerCount), size(1), replicaKilled(0), replicaKilled(1), replicaKilled(2))
	for i := range f.replicas {
		f.window(replicaKilled(i))
	}
}

// The supervisor of replicas at one address restarts what is killed.
func TestSupervisedReplicaKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("--replicas needs Linux")
	}
	f := startFleet(t, setting{design: combining, direct: true, supervised: true})
	f.rush(large(callerCount), size(10), childKilled(), childKilled())
	f.window(childKilled())
}

// Whatever a Redis that writes its append-only file has confirmed survives kill
// -9: the kernel has it, or with appendfsync always the disk.
func TestRedisRestarted(t *testing.T) {
	t.Parallel()
	for _, fsync := range []struct {
		policy string
		share  int
	}{{"no", 1}, {"always", 10}} {
		t.Run(fsync.policy, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, setting{design: combining, direct: true,
				redis: []string{"--appendfsync", fsync.policy}})
			f.rush(large(callerCount), size(fsync.share), redisKilled(), redisKilled())
			f.window(redisKilled())
		})
	}
}

func TestRedisStandsStill(t *testing.T) {
	t.Parallel()
	if len(stands()) == 0 {
		t.Skip("needs the signals of Linux")
	}
	f := startFleet(t, setting{design: combining})
	f.rush(large(callerCount), size(10), stands()...)
	for range 3 {
		f.window(stands()[0])
	}
}

// A refusal is exact: with time enough for every answer nothing is indeterminate,
// so any refused increment that did happen would show.
func TestRefusedDidNotHappen(t *testing.T) {
	t.Parallel()
	for _, d := range designs() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, setting{design: d.name, timeout: patience, direct: true})
			exact(t, f.rush(large(d.callers), size(d.share), refusals()...))
		})
	}
}

// A trial is how much of the load of redis-combining another design can bear.
type trial struct {
	name           string
	callers, share int
}

func designs() []trial {
	return []trial{
		{combining, callerCount, 10},
		{"redis-pipelined", callerCount, 10},
		{"redis-script", callerCount, 10},
		{"redis-naive", 12, 100}, // its transactions disturb each other
	}
}

func TestDesignsUnderFaults(t *testing.T) {
	t.Parallel()
	for _, d := range designs()[1:] {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, setting{design: d.name})
			f.rush(large(d.callers), size(d.share), faults(1)...)
			f.window(weathers()[0])
			f.window(weathers()[3])
		})
	}
}

// faults are all that the suite knows, refusals aside.
func faults(victim int) []fault {
	return slices.Concat(weathers(), stands(), []fault{replicaKilled(victim), redisKilled()})
}

// Increments that are repeated under their idempotency key until they are
// acknowledged happen exactly once, whatever fails. Every design has one way to do it.
func TestRepeatedUnderTheirKeys(t *testing.T) {
	t.Parallel()
	f := startFleet(t, setting{design: combining})
	repeating := large(callerCount)
	repeating.withIDs = true
	exact(t, f.rush(repeating, size(10),
		faults(2)...))
}

// The negative control reads, adds and writes: it must be caught.
func TestControlIsCaught(t *testing.T) {
	t.Parallel()
	f := startFleet(t, setting{design: "redis-getset", timeout: patience})
	f.proxy.Become(redistest.Weather{Jitter: time.Millisecond})
	w := large(callerCount)
	w.calls = 5
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := f.value()
		h := gather(t, f.replicas, w).await()
		after := f.settled(h)
		if err := judge(h, before, after); err != nil {
			t.Logf("caught: %v", err)
			return
		}
	}
	t.Errorf("redis-getset lost no update within %v", patience)
}
