package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/redisserver/redistest"
)

// An instance is killed at 0 and was heard last up to a beat before. Its heartbeat goes a lease after that. Others
// notice that within a beat, and take it for dead half a beat later, but not before a lease has passed since they
// started, or found Redis again.
func TestWhenAnInstanceIsDead(t *testing.T) {
	const lease, beat = 15 * time.Second, 2500 * time.Millisecond
	for _, tt := range []struct {
		name        string
		found       time.Duration // when the others found Redis
		heard       time.Duration // when the killed one was heard last
		least, most time.Duration
	}{
		{"others that ran before", -time.Hour, 0, lease + beat/2, lease + beat + beat/2},
		{"the same, heard a beat before", -time.Hour, -beat, lease - beat + beat/2, lease + beat/2},
		{"others started 2 s later", 2 * time.Second, 0, 17 * time.Second, 17*time.Second + beat/2},
		{"others started 5 s later", 5 * time.Second, -beat, 20 * time.Second, 20 * time.Second},
		{"others started when its heartbeat was gone", 20 * time.Second, 0, 35 * time.Second, 35 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			in := &Intake{cfg: IntakeConfig{Lease: lease}, absent: map[string]time.Time{}}
			in.holder.init()
			time.Sleep(max(0, tt.found))
			in.touch = began.Add(tt.found)
			for {
				in.doubt = in.cfg.beat()
				live := map[string]bool{}
				if time.Since(began) < tt.heard+lease {
					live["killed"] = false
				}
				in.holder.see(&holderView{live: live})
				if in.dead("killed") {
					break
				}
				time.Sleep(in.doubt)
			}
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("%s: dead after %v, want %v to %v", tt.name, took, tt.least, tt.most)
			}
		})
	}
}

// An instance that has something of a customer's stream in hand is not silent because of one heartbeat that is late.
func TestOneLateHeartbeatIsNoSilence(t *testing.T) {
	const lease, beat = 15 * time.Second, 2500 * time.Millisecond
	for _, tt := range []struct {
		after        time.Duration
		said         uint64 // heartbeats; seven came before
		silent, wait bool
	}{
		{0, 7, false, true},
		{beat + 10*time.Millisecond, 7, false, true}, // as it comes if nothing is late
		{2 * beat, 7, false, true},
		{2 * beat, 8, false, false},
		{2*beat + 1, 7, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := &Intake{cfg: IntakeConfig{Instance: "b", Lease: lease}}
			in.holder.init()
			in.holder.see(&holderView{live: map[string]bool{"a": false}, said: map[string]presence{"a": {Beat: tt.said}}})
			a := &arrival{since: time.Now(), beats: map[string]uint64{"a": 7}}
			time.Sleep(tt.after)
			if silent := in.silent(newSource(keyCustomer+"acme", -1), a, "a"); silent != tt.silent || a.wait != tt.wait {
				t.Errorf("after %v: silent %v, wait %v; want %+v", tt.after, silent, a.wait, tt)
			}
		})
	}
}

// What a live instance has in hand of a stream is an earlier process's where it names the stream neither as held nor as left.
func TestWhoDisownsAStream(t *testing.T) {
	in := &Intake{cfg: IntakeConfig{Instance: "b"}}
	in.holder.init()
	in.holder.see(&holderView{said: map[string]presence{"none": {}, "other": {Holds: []string{"c2"}}, "holds": {Holds: []string{"c1", "c"}}, "leaves": {Leaves: []string{"c"}}, "b": {}}})
	for name, want := range map[string]bool{"none": true, "other": true, "holds": false, "leaves": false, "b": false, "unknown": false} {
		if got := in.disowns(newSource(keyCustomer+"c", -1), name); got != want {
			t.Errorf("%s disowns it: %v", name, got)
		}
	}
	if in.disowns(newSource(keyUplinks+"0", 0), "none") {
		t.Error("partitions have leases")
	}
}

// A report of another instance from before the arrival that was not seen then does not count as a later one.
func TestHeartbeatsBeforeTheArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &Intake{cfg: IntakeConfig{Instance: "b", Lease: 15 * time.Second}}
		in.holder.init()
		view := func(said uint64) *holderView {
			return &holderView{asked: time.Now(), live: map[string]bool{"a": false}, said: map[string]presence{"a": {Beat: said}}}
		}
		before := view(6)
		time.Sleep(time.Second)
		a := &arrival{began: time.Now()}
		for _, step := range []struct {
			after        time.Duration
			view         *holderView // nil: a new one
			said         uint64
			silent, wait bool
		}{
			{0, before, 6, false, true},
			{time.Hour, before, 6, false, true},      // nobody has looked
			{time.Second, nil, 7, false, true},       // said before
			{5 * time.Second, nil, 7, false, true},   // two heartbeats after the look
			{time.Millisecond, nil, 7, true, false},  // and more
			{time.Millisecond, nil, 8, false, false}, // said since
		} {
			time.Sleep(step.after)
			if step.view == nil {
				step.view = view(step.said)
			}
			in.holder.see(step.view)
			a.wait = false
			a.look(step.view)
			if silent := in.silent(newSource(keyCustomer+"acme", -1), a, "a"); silent != step.silent || a.wait != step.wait {
				t.Errorf("%+v: silent %v, wait %v", step, silent, a.wait)
			}
		}
	})
}

// A keeper that fails looks again as late as ever, also while a stream is about to be read.
func TestAKeeperThatFails(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	in := &Intake{redis: r, cfg: IntakeConfig{Lease: time.Minute}, lookNow: make(chan struct{}, 1), owned: newSourceSet(),
		absent: map[string]time.Time{}, arriving: map[*source]*arrival{newSource(keyCustomer+"acme", -1): {began: time.Now()}}}
	in.holder.init()
	server.Do("ACL", "SETUSER", "default", "-smembers")
	in.ctx, in.stop = context.WithTimeout(t.Context(), 2*time.Second)
	defer in.stop()
	in.keep()
	if n := in.count.errors.Load(); n == 0 || n > 10 { // two within 3.3 s; with a pause of arriveEvery 40
		t.Errorf("it failed %d times in 2 s", n)
	}
}

// Whoever cannot forget an old consumer of a stream learns all the same whose entries are to be claimed.
func TestAConsumerThatCannotBeForgotten(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	in := &Intake{redis: r, cfg: IntakeConfig{Lease: time.Second}, touch: time.Now().Add(-time.Hour), absent: map[string]time.Time{"old": time.Now().Add(-time.Hour)}}
	in.holder.init()
	s := newSource(keyUplinks+"0", 0) // has no group, so that nothing can be forgotten
	consumers := `return {{'name', 'old', 'pending', 0, 'idle', 3600001}, {'name', '` + leftBehind + `', 'pending', 3, 'idle', 1}}`
	replies := r.client.DoMulti(t.Context(), r.script(consumers, s.key), r.cmd("XLEN", s.key), r.cmd("XINFO", "GROUPS", s.key))
	dead, err := in.consumers(t.Context(), s, nil, replies)
	if !slices.Equal(dead, []string{leftBehind}) || err != nil {
		t.Errorf("entries of %q are to be claimed, %v", dead, err)
	}
	if n := in.count.errors.Load(); n != 1 {
		t.Errorf("%d errors are counted, want one", n)
	}
}
