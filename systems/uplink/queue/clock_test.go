package queue

import (
	"context"
	"strconv"
	"testing"
	"time"

	"contend/systems/uplink/message"
)

// An entry arrived when its ID says, by the clock of Redis, as ours has it. In a customer's stream it says so itself, of
// no later time than that: another instance passed it on. In a partition nobody may say so.
func TestWhenAnEntryArrived(t *testing.T) {
	t.Parallel()
	const id = 1_700_000_000_000
	for _, tt := range []struct {
		index       int
		said        uint64
		ahead, want time.Duration // of ID
	}{
		{0, 0, 0, 0},
		{0, 0, -3 * time.Second, -3 * time.Second},
		{0, id - 5000, 0, 0},
		{-1, 0, 0, 0},
		{-1, id - 5000, 0, -5 * time.Second},
		{-1, id - 5000, time.Second, -4 * time.Second},
		{-1, id + 5000, 0, 0},
	} {
		s := newSource("s", tt.index)
		s.ahead.Store(int64(tt.ahead))
		if got := s.arrived(entryID{id, 0}, tt.said, time.Now()).Sub(time.UnixMilli(id)); got != tt.want {
			t.Errorf("%+v: %v after its ID", tt, got)
		}
	}
}

// An uplink that another instance passes on says when it came to the intake, and the clocks of Redis and of an
// instance on the same machine agree.
func TestForwardedUplinksKeepTheirArrival(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		a, _ := startIntake(t, r, quick("a"), false)
		u := frames(0, 1)[0]
		u.Origin.Millis = uint64(time.Now().Add(-time.Minute).UnixMilli())
		forward(t, a.in, "c", []*message.Uplink{u})
		got := make(chan time.Time, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go a.in.Receive(ctx, "c", func(uplinks []*message.Uplink) { got <- uplinks[0].Arrived })
		if at := <-got; at.Sub(time.UnixMilli(int64(u.Origin.Millis))).Abs() > clockTolerance {
			t.Errorf("it came %v, want %v", at, u.Origin.Millis)
		}
		if r.Embedded() {
			return
		}
		until(t, "the clocks were compared", func() bool { return a.in.Stats().ClockAhead != 0 })
		if ahead := a.in.Stats().ClockAhead; ahead.Abs() > clockTolerance {
			t.Errorf("%v apart", ahead)
		}
		seconds := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
		s := newSource("s", 0)
		s.compare(time.Now(), r.do(t.Context(), "EVAL", "return {'"+seconds+"', '0'}", "1", "s"))
		if ahead := time.Duration(s.ahead.Load()); ahead != 0 && (ahead-time.Hour).Abs() > clockTolerance {
			t.Errorf("%v ahead of a clock that is an hour slow", ahead)
		}
	})
}
