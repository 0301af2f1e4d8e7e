package load

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/pace"
)

func pacer(t *testing.T, text string) *pace.Pacer {
	t.Helper()
	p, err := pace.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// quick are targets that keep up, driven in both ways.
var quick = map[string]Target{
	"goroutines": sleeper(300 * time.Microsecond),
	"loops":      loopTarget{loops: 2, service: 300 * time.Microsecond},
}

// The window of planned arrivals is the plan's, however early the last response is.
func TestWindowIsThePlans(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		pacer      string
		iterations int64
		warmup     time.Duration
		duration   time.Duration
		planned    int64
		window     time.Duration
	}{
		{"constant:20", 10, 0, 0, 10, 500 * ms},                             // 10 ÷ 20/s
		{"constant:20", 10, 25 * ms, 0, 10, 500 * ms},                       // due from 50 ms on, over at 525 ms
		{"constant:20", 10, 0, 10 * time.Second, 10, 500 * ms},              // the iterations end it
		{"constant:20", 10, 0, 400 * ms, 8, 400 * ms},                       // the time does
		{"constant:0.3", 3, time.Second, 0, 3, 10 * time.Second},            // 3 ÷ 0.3/s
		{"steps:10/1s,0/3s", 0, 0, 4 * time.Second, 10, 4000 * ms},          // silence is planned
		{"steps:10/1s,0/3s", 0, 2000 * ms, 2000 * ms, 0, 2000 * ms},         // and is all there is
		{"steps:10/1s,0/3s", 10, 0, 0, 10, 1000 * ms},                       // the tenth is over after 1 s
		{"steps:10/1s,0/3s", 99, 0, 0, 10, 4000 * ms},                       // there are no more
		{"steps:10/1s,0", 99, 0, 0, 10, 1000 * ms},                          //
		{"steps:10/1s,0/1h,10/1s", 10, 300 * ms, 0, 10, 3601 * time.Second}, // 7 in the first second, 3 in the last
		{"ramp:20-0/2s", 0, 0, 2 * time.Second, 20, 2 * time.Second},        // 20·2/2
		{"ramp:20-0/2s", 20, 0, 0, 20, 2 * time.Second},                     //
		{"ramp:0-100/10s", 125, 0, 0, 125, 5 * time.Second},                 // 5 t² = 125
	} {
		for name, target := range quick {
			r := inBubble(t, target, Plan{VUs: 4, Pacer: pacer(t, tt.pacer), Iterations: tt.iterations, Warmup: tt.warmup, Duration: tt.duration, Grace: DefaultGrace})
			if r.Planned != tt.planned || r.Completed != tt.planned || r.Duration != tt.window {
				t.Errorf("%s, %d iterations, %v after %v, by %s: planned %d, completed %d in %v; want %d in %v",
					tt.pacer, tt.iterations, tt.duration, tt.warmup, name, r.Planned, r.Completed, r.Duration, tt.planned, tt.window)
			}
		}
	}
}

// If a server keeps up, the throughput is what was planned by the time that was planned, of the whole load and
// of each worker's share.
func TestThroughputIsThePlans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"constant:40", "constant:7.3", "poisson:60", "ramp:0-90/4s", "ramp:90-0/4s",
			"steps:30/1s,0/2s,50/1s", "steps:30/1s,10-60/2s,0/1s", "poisson:30/1s,0/2s,20/1s"}).Draw(rt, "pacer")
		plan := Plan{VUs: 20, Pacer: pacer(t, text), Grace: DefaultGrace, Timer: pace.Runtime,
			Seed: rapid.Uint64().Draw(rt, "seed"), Warmup: time.Duration(rapid.IntRange(0, 1500).Draw(rt, "warmup ms")) * time.Millisecond}
		if rapid.Bool().Draw(rt, "by iterations") {
			plan.Iterations = rapid.Int64Range(1, 60).Draw(rt, "iterations")
		} else {
			plan.Duration = time.Duration(rapid.IntRange(1, 5000).Draw(rt, "ms")) * time.Millisecond
		}
		planned, window := planOf(plan)
		weights := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4).Draw(rt, "weights")
		for name, target := range quick {
			whole, parts := alongParts(t, target, plan, weights)
			for who, r := range map[string]*Result{"one": whole, "together": Together(plan, "", parts)} {
				if r.Planned != planned || r.Completed != planned || r.Duration != window || r.ThroughputPerSec != float64(planned)/window.Seconds() {
					rt.Errorf("%s, %s: planned %d, completed %d in %v; want %d in %v", name, who, r.Planned, r.Completed, r.Duration, planned, window)
				}
			}
			for _, p := range parts {
				if p.Duration != window {
					rt.Errorf("%s, share %v: the window is %v, want that of the plan, %v", name, p.Plan.Share, p.Duration, window)
				}
			}
		}
	})
}

// planOf counts what the plan has due, one after another, and says how long that is.
func planOf(p Plan) (planned int64, window time.Duration) {
	s := p.Pacer.Schedule(p.Seed)
	due := s.Next()
	for ; due < p.Warmup; due = s.Next() {
	}
	end := p.Warmup + p.Duration
	if p.Duration == 0 {
		end = pace.Never
	}
	for ; due < end && (p.Iterations == 0 || planned < p.Iterations); due = s.Next() {
		planned++
	}
	if p.Duration > 0 {
		return planned, p.Duration
	}
	return planned, p.Pacer.Over(p.Seed, p.Warmup, p.Iterations) - p.Warmup
}

// alongParts drives the whole load, and then its shares side by side.
func alongParts(t *testing.T, target Target, plan Plan, weights []int) (whole *Result, parts []Part) {
	plans, err := plan.Split(weights)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range append([]Plan{plan}, plans...) {
		if plan.Iterations > 0 && p.Iterations == 0 {
			continue // nothing falls to it
		}
		r := inBubble(t, target, p)
		if i == 0 {
			whole = r
		} else {
			parts = append(parts, Part{Generator{Name: fmt.Sprint(len(parts))}, r})
		}
	}
	return whole, parts
}

// A server that does not keep up has a longer window where the iterations end it: with 1 VU and 200 ms a
// response the eleventh could begin after 2 s.
func TestWindowOfLateArrivals(t *testing.T) {
	for name, target := range map[string]Target{"goroutines": sleeper(200 * time.Millisecond), "loop": loopTarget{loops: 1, service: 200 * time.Millisecond}} {
		r := inBubble(t, target, Plan{VUs: 1, Pacer: pace.Constant(20), Iterations: 10})
		if r.Completed != 10 || r.Duration != 2*time.Second || r.Stopped != StoppedByIterations {
			t.Errorf("%s: %d in %v, stopped by %s; want 10 in 2s", name, r.Completed, r.Duration, r.Stopped)
		}
	}
	// Each keeps up: the last begins at 450 ms, and anything later is outside the window.
	r := inBubble(t, sleeper(3*time.Second), Plan{VUs: 10, Pacer: pace.Constant(20), Iterations: 10})
	if r.Completed != 10 || r.Duration != 500*time.Millisecond {
		t.Errorf("%d in %v, want 10 in 500ms", r.Completed, r.Duration)
	}
}

// Callers that go before the end leave the window as it was planned.
func TestWindowOfCallers(t *testing.T) {
	r := inBubble(t, sleeper(100*time.Millisecond), Plan{VUs: 2, Callers: callers(t, "2/1s,0/3s"), Duration: 4 * time.Second, Grace: DefaultGrace})
	if r.Completed != 20 || r.Duration != 4*time.Second || math.Abs(r.ThroughputPerSec-5) > 1e-9 || r.Stopped != StoppedByDuration {
		t.Errorf("%d in %v, %v/s, stopped by %s; want 20 in 4s", r.Completed, r.Duration, r.ThroughputPerSec, r.Stopped)
	}
	// Iterations end it as soon as they are done, whenever their callers come.
	r = inBubble(t, sleeper(100*time.Millisecond), Plan{VUs: 2, Callers: callers(t, "0/1s,2/1h"), Iterations: 4, Duration: time.Hour, Grace: DefaultGrace})
	if r.Completed != 4 || r.Duration != 1200*time.Millisecond || r.Stopped != StoppedByIterations {
		t.Errorf("%d in %v, stopped by %s; want 4 in 1.2s", r.Completed, r.Duration, r.Stopped)
	}
}

// Arrivals that are due in the window of 1 s, and noticed 0.5 s after it, begin as often as VUs were free at its end.
func TestArrivalsNoticedLate(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		ends []time.Duration // of iterations that began within the window
		late int             // of two that are due then and noticed after it
	}{
		"all free":                      {nil, 2},
		"one is busy":                   {[]time.Duration{2000 * ms}, 1},
		"it ends before the late ones":  {[]time.Duration{1200 * ms}, 1},
		"it ended within the window":    {[]time.Duration{900 * ms}, 2},
		"both are busy":                 {[]time.Duration{1200 * ms, 1300 * ms}, 0},
		"the same one, again and again": {[]time.Duration{200 * ms, 400 * ms, 600 * ms, 1100 * ms}, 1},
	} {
		r := newRun(t.Context(), Plan{VUs: 2, Pacer: pacer(t, "constant:100"), Duration: time.Second, Grace: time.Second}, 1)
		s := r.shards[0]
		s.arrivals, r.outage = nil, new(Session).outage(r) // the test hands arrivals out
		begin := func(due, now time.Duration) bool {
			it := Iteration{Due: due, counted: true}
			return s.Begin(&it, now)
		}
		for _, end := range tt.ends {
			if !begin(100*ms, 100*ms) {
				t.Fatalf("%s: nothing begins within the window", name)
			}
			if end < 1400*ms {
				s.Finish(&Iteration{Due: 100 * ms, Start: 100 * ms, counted: true}, end, &Outcome{}, nil)
			}
		}
		late := 0
		for range 2 {
			if begin(999*ms, 1500*ms) {
				late++
			}
		}
		if late != tt.late || begin(time.Second, 1500*ms) {
			t.Errorf("%s: %d begin late, want %d, and none that is due when the window is over", name, late, tt.late)
		}
	}
}
