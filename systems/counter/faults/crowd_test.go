package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/guard/guardtest"
)

// callerCount is how many call at the same time in a large scenario of a long run.
const callerCount = 300

// A workload is what callers do.
type workload struct {
	callers int
	calls   int // by each caller; 0: until the crowd is asked to stop
	// adds is what a caller adds in a call over gRPC; nil means 1, which HTTP
	// always adds. Adding 0 is a load.
	adds func(caller, call int) int32
	// withIDs has every increment repeated under its idempotency key until it is
	// acknowledged.
	withIDs bool
	// lostCalls ends a caller that has had so many indeterminate calls; 0: never.
	lostCalls int
	every     time.Duration // how often all callers call, at the same time; 0: each by itself, without a pause
}

// A crowd is callers at work, over HTTP and gRPC to all replicas.
type crowd struct {
	t        testing.TB
	replicas []*replica
	work     workload
	begin    time.Time
	parts    []guardtest.History // by caller
	wg       sync.WaitGroup
	stopped  atomic.Bool
	fault    atomic.Pointer[error] // the first wrong answer

	running                               atomic.Int64 // callers
	recorded, acknowledged, lost, refused atomic.Int64 // calls that may have happened, did, are indeterminate, did not
}

// gather sends callers to work.
func gather(t testing.TB, replicas []*replica, w workload) *crowd {
	c := &crowd{t: t, replicas: replicas, work: w, begin: time.Now(), parts: make([]guardtest.History, w.callers)}
	c.running.Store(int64(w.callers))
	for i := range w.callers {
		c.wg.Go(func() {
			defer c.running.Add(-1)
			c.call(i)
		})
	}
	t.Cleanup(func() { // where the test has failed
		c.stopped.Store(true)
		c.wg.Wait()
	})
	return c
}

// disperse ends the work and returns what happened.
func (c *crowd) disperse() guardtest.History {
	c.t.Helper()
	c.stopped.Store(true)
	return c.await()
}

// await returns what happened once all callers have done their calls.
func (c *crowd) await() guardtest.History {
	c.t.Helper()
	c.progress("all callers finish", func() bool { return c.running.Load() == 0 })
	c.wg.Wait()
	var h guardtest.History
	for _, part := range c.parts {
		h = append(h, part...)
	}
	return h
}

// progress waits until ok. It fails the test when an answer breaks the contract,
// and when nothing has been acknowledged for too long.
func (c *crowd) progress(what string, ok func() bool) {
	c.t.Helper()
	for seen, since := int64(-1), time.Now(); !ok(); time.Sleep(pollEvery) {
		if fault := c.fault.Load(); fault != nil {
			c.t.Fatalf("waiting until %s: %v", what, *fault)
		}
		if n := c.recorded.Load(); n != seen {
			seen, since = n, time.Now()
		} else if time.Since(since) > patience {
			c.t.Fatalf("waiting until %s: no call got on for %v, after %d", what, patience, n)
		}
	}
}

// A caller calls the replica that is its home. Whoever is not acknowledged calls the
// next replica, and once it is, its home again.
type caller struct {
	*crowd
	id       int
	replica  int // the one it calls next
	missed   int // calls since the last one that was acknowledged
	door     door
	endpoint *endpoint // of the door
}

func (c *caller) home() int { return c.id % len(c.replicas) }

func (c *crowd) call(id int) {
	who := &caller{crowd: c, id: id}
	who.replica = who.home()
	defer who.leave()
	lost := 0
	for i := 0; !c.stopped.Load() && (c.work.calls == 0 || i < c.work.calls); i++ {
		done, err := who.one(i)
		if err != nil {
			err = fmt.Errorf("caller %d: %w", id, err)
			c.fault.CompareAndSwap(nil, &err)
			return
		}
		c.parts[id] = append(c.parts[id], done...)
		c.recorded.Add(int64(len(done)))
		for _, d := range done {
			if d.Err != nil {
				lost++
			}
		}
		if c.work.lostCalls > 0 && lost >= c.work.lostCalls {
			return
		}
		if every := c.work.every; every > 0 {
			time.Sleep(every - time.Since(c.begin)%every)
		}
	}
}

// one does one increment, which is repeated after a refusal, and returns all that
// may have happened. An error is a wrong answer.
func (c *caller) one(call int) (guardtest.History, error) {
	n := int32(1)
	if c.overRPC() && c.work.adds != nil {
		n = c.work.adds(c.id, call)
	}
	id := ""
	if c.work.withIDs {
		id = fmt.Sprintf("caller-%d-call-%d", c.id, call)
	}
	start := time.Since(c.begin)
	for {
		said := c.enter().increment(context.Background(), n, id)
		did := guardtest.Call{Caller: c.id, N: int64(n), Value: said.value, Start: start, End: time.Since(c.begin), Err: said.err}
		switch {
		case said.kind == acknowledged:
			c.acknowledged.Add(1)
			c.goHome()
			return guardtest.History{did}, nil
		case said.kind == wrong:
			return nil, said.err
		case said.kind == refused:
			c.refused.Add(1)
		case said.kind == indeterminate:
			c.lost.Add(1)
		}
		c.move()
		switch {
		case id != "": // once more
		case said.kind == indeterminate:
			return guardtest.History{did}, nil
		case c.stopped.Load():
			return nil, nil
		default:
			start = time.Since(c.begin) // what was refused did not happen
		}
	}
}

// overRPC: half of the callers of every replica use gRPC.
func (c *caller) overRPC() bool { return c.id/len(c.replicas)%2 == 0 }

// enter returns the door to the replica, where it is now.
func (c *caller) enter() door {
	now := c.replicas[c.replica].at()
	if c.door != nil && c.endpoint == now {
		return c.door
	}
	c.leave()
	c.endpoint = now
	turn := c.id / len(c.replicas) / 2
	if c.overRPC() {
		c.door = newRPCDoor(now.grpc[turn%len(now.grpc)])
	} else {
		c.door = &httpDoor{addr: now.http, path: []string{"/status", sharedPath(c.replicas[0])}[turn%2]}
	}
	return c.door
}

// sharedPath is the other name of the shared counter.
func sharedPath(r *replica) string { return "/status/" + r.design }

func (c *caller) goHome() {
	if c.missed = 0; c.replica != c.home() {
		c.leave()
		c.replica = c.home()
	}
}

// move goes to the next replica after a pause, which is twice as long after each miss:
// otherwise refused callers could keep a slow machine so busy that all are refused.
func (c *caller) move() {
	c.endpoint.missed.Add(1)
	c.leave()
	c.replica = (c.replica + 1) % len(c.replicas)
	time.Sleep(time.Duration(10+rand.IntN(30)) * time.Millisecond << min(c.missed, 4))
	c.missed++
}

func (c *caller) leave() {
	if c.door != nil {
		c.door.close()
		c.door = nil
	}
}

// judge checks what a counter that was at before and is at after has answered.
func judge(h guardtest.History, before, after int64) error {
	return errors.Join(
		guardtest.CheckTotal(h, before, after),
		guardtest.CheckDense(h, before),
		guardtest.CheckMonotonic(h),
		guardtest.CheckRealTime(h),
	)
}
