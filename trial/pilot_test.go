package trial

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
)

// quickening answers in 1 ms once it is so old, and until then in a time that falls from 5 ms.
func quickening(name string, warm time.Duration, starts *int) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		if starts != nil {
			*starts++
		}
		began := time.Now()
		return &Live{Address: name, Subject: &mortal{}, Target: load.Func(func(context.Context) (load.Outcome, error) {
			cold := max(0, 1-float64(time.Since(began))/float64(max(1, warm)))
			time.Sleep(time.Millisecond + time.Duration(cold*float64(4*time.Millisecond)))
			return load.Outcome{}, nil
		})}, nil
	}}
}

func piloted() Design {
	d := design()
	d.Rounds, d.Block, d.Warmup, d.Pilot = 6, 50*time.Millisecond, 100*time.Millisecond, true
	return d
}

// A server that is level at once keeps the warm-up and the pairs of the design. One that takes 2 s makes all
// arms warm up for about that long in every round, and has more pairs: by the square root of what a start costs more.
func TestPilot(t *testing.T) {
	for _, tt := range []struct {
		warm, least, most time.Duration
		long              bool
	}{
		{0, 100 * time.Millisecond, 100 * time.Millisecond, false},
		{2 * time.Second, 1500 * time.Millisecond, 4 * time.Second, true},
	} {
		d := piloted()
		starts := 0
		trials := compareInBubble(t, d, quickening("a", 0, &starts), quickening("b", tt.warm, nil))
		ran := trials.Design
		if ran.Warmup < tt.least || ran.Warmup > tt.most || (ran.Pairs > d.Pairs) != tt.long || starts != 1+d.Rounds {
			t.Errorf("level after %v: warm-up %v, %d pairs (of %d), %d starts", tt.warm, ran.Warmup, ran.Pairs, d.Pairs, starts)
		}
		for _, w := range trials.Warmups {
			if w.Round > 0 && w.Duration < ran.Warmup {
				t.Errorf("warmed up for %v in round %d, want %v", w.Duration, w.Round, ran.Warmup)
			}
		}
		found := trials.Comparisons[0].Warnings
		if finding.LongWarmup.In(found) != tt.long || finding.StillWarming.In(found) {
			t.Errorf("level after %v: %v", tt.warm, found)
		}
	}
}

// Where only rounds are limited, half of the usual minute is for warm-ups: of 40 rounds of two arms 375 ms each. An arm
// that took longer in the pilot, be it only because something else ran then, has a caveat that says so.
func TestPilotOfManyRounds(t *testing.T) {
	d := piloted()
	d.Rounds = 40
	trials := compareInBubble(t, d, quickening("a", 0, nil), quickening("b", 2*time.Second, nil))
	if got := trials.Design.Warmup; got != time.Minute/80/2 || !finding.StillWarming.In(trials.Comparisons[0].Warnings) {
		t.Errorf("warm-up %v, %v", got, trials.Comparisons[0].Warnings)
	}
}

// An arm that never becomes level is driven for a quarter of the time, two arms an eighth each, and a note says so;
// all of it ends in time.
func TestPilotEnds(t *testing.T) {
	d := piloted()
	d.Rounds, d.Duration = 0, 80*time.Second
	trials := compareInBubble(t, d, quickening("a", 0, nil), quickening("b", time.Hour, nil))
	warmup := trials.Warmups[slices.IndexFunc(trials.Warmups, func(w Warmup) bool { return w.Arm == "b" })]
	if !warmup.Steady || warmup.Round != 0 { // by 4 ms an hour, which no stretch shows
		t.Errorf("%+v", warmup)
	}
	growing := Arm{Name: "b", Start: func(context.Context, Setup) (*Live, error) {
		time.Sleep(time.Second) // as a virtual machine takes
		var took atomic.Int64
		took.Store(int64(time.Millisecond))
		return &Live{Address: "b", Subject: &mortal{}, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(time.Duration(took.Add(took.Load() / 500))) // as long as it has lived, half as long again
			return load.Outcome{}, nil
		})}, nil
	}}
	trials = compareInBubble(t, d, quickening("a", 0, nil), growing)
	if !finding.StillWarming.In(trials.Comparisons[0].Warnings) || trials.Elapsed > d.Duration*11/10 {
		t.Errorf("%v after %v", trials.Comparisons[0].Warnings, trials.Elapsed)
	}
}

// The load generator gets more CPUs as long as it is the limit, and then all arms begin anew.
func TestPilotWidens(t *testing.T) {
	d := piloted()
	widened := 0
	d.Widen = func() bool { widened++; return widened < 3 }
	starts := 0
	limited := asked{service: 100 * time.Microsecond, own: 900 * time.Microsecond}
	arm := func(name string) Arm {
		arm := limited.arm(name)
		start := arm.Start
		arm.Start = func(ctx context.Context, s Setup) (*Live, error) { starts++; return start(ctx, s) }
		return arm
	}
	trials := compareInBubble(t, d, arm("a"), arm("b"))
	if want := 3*2 + 2*trials.roundsDone(); widened != 4 || starts != want { // three pilots; the last asks for both
		t.Errorf("asked for more %d times, %d starts, want 4 and %d", widened, starts, want)
	}
}

func TestCourseOfAPilot(t *testing.T) {
	of := func(costs ...float64) (c course) {
		for _, cost := range costs {
			c = append(c, stretch{length: 100 * time.Millisecond, cost: cost})
		}
		return c
	}
	for _, tt := range []struct {
		c      course
		level  bool
		warmed time.Duration
	}{
		{of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), true, 0},
		{of(9, 5, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), true, 300 * time.Millisecond},
		// 1% from stretch to stretch are 4% from the third quarter to the last, and a trend.
		{of(1.15, 1.14, 1.13, 1.12, 1.11, 1.1, 1.09, 1.08, 1.07, 1.06, 1.05, 1.04, 1.03, 1.02, 1.01, 1), false, 600 * time.Millisecond},
		{of(1, 1.02, 0.98, 1.03, 0.97, 1, 1.02, 0.99, 1.01, 0.98, 1, 1.02, 0.97, 1.03, 1, 1), true, 0},
	} {
		if level, warmed := tt.c.level(), tt.c.warmed(); level != tt.level || warmed != tt.warmed {
			t.Errorf("%v: level %v, warmed after %v; want %v, %v", tt.c, level, warmed, tt.level, tt.warmed)
		}
	}
}

// A server that becomes slower for a moment while its first answers come, as one that loads classes does, has a pilot
// all the same: 8 callers get an answer each of those begun in the first 25 ms, and as many of those begun in the 60
// ms (two of the first) for which they are then driven. Nor is it too slow after a first answer that took 0.4 s,
// although 16 times 0.8 s are more than the 10 s that it may take. One that needs 10 s for an answer has no pilot.
func TestPilotOfASlowBeginning(t *testing.T) {
	loading := func(age time.Duration) time.Duration {
		switch {
		case age < 25*time.Millisecond:
			return 30 * time.Millisecond
		case age < 110*time.Millisecond:
			return 70 * time.Millisecond
		}
		return 5 * time.Millisecond
	}
	first := func(age time.Duration) time.Duration { return max(5*time.Millisecond, 400*time.Millisecond-age) }
	slow := func(time.Duration) time.Duration { return 10 * time.Second }
	for _, tt := range []struct {
		takes   func(age time.Duration) time.Duration
		piloted bool
	}{{loading, true}, {first, true}, {slow, false}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			live := &Live{Address: "a", Subject: &mortal{}, Target: load.Func(func(context.Context) (load.Outcome, error) {
				time.Sleep(tt.takes(time.Since(began)))
				return load.Outcome{}, nil
			})}
			c, _, err := live.pilot(t.Context(), load.Plan{VUs: 8, Timeout: time.Minute}, 10*time.Second)
			if err != nil || (len(c) > 0) != tt.piloted {
				t.Errorf("%d stretches, %v, want some: %v", len(c), err, tt.piloted)
			}
		})
	}
}
