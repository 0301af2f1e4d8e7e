package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/pace"
	"contend/trial"
	"contend/trial/trialtest"
)

func design(objectives ...string) Design {
	return Design{Objectives: objectives, Arrivals: "constant", Precision: 0.05, MaxRate: 1e6,
		Attempt: 2 * time.Second, MaxAttempt: 20 * time.Second, Warmup: 500 * time.Millisecond, Seed: 1}
}

// simulated searches with attempts whose outcomes are drawn, and says how many
// were needed. One VU alone comes to so many iterations per second.
func simulated(d Design, alone float64, outcome func(rate float64) Outcome) *Result {
	one := trial.Cell{Result: &load.Result{
		Duration: time.Second, Model: load.ClosedModel,
		Concurrency: 1,
		Counts: load.Counts{
			Completed: int64(alone), Planned: int64(alone),
			Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
	}}
	for _, h := range []*hist.Histogram{one.Response, one.Service} {
		h.RecordN(time.Millisecond, one.Completed)
	}
	s := &Result{Design: d, Alone: &one}
	for {
		next := s.next()
		if next.rate == 0 {
			low, high := bracket(s.tries())
			s.HeldPerSec, s.MissedPerSec, s.Verdict = low.rate, high.rate, s.verdict(low, high)
			return s
		}
		s.Attempts = append(s.Attempts, Attempt{RatePerSec: next.rate, Step: next.step, Outcome: outcome(next.rate)})
	}
}

func upTo(capacity float64, beyond Outcome) func(float64) Outcome {
	return func(rate float64) Outcome {
		if rate <= capacity {
			return Held
		}
		return beyond
	}
}

func TestSearchFindsTheCapacity(t *testing.T) {
	for _, tt := range []struct {
		name            string
		alone, capacity float64
		beyond          Outcome
		objectives      []string
		verdict         Verdict
		most            int // attempts
	}{
		// from 500: 500, 1000, … 8000 are 5 attempts; 4 to halve ln 2 below ln 1.05; 2 and 1 to confirm
		{"found", 1000, 7000, Missed, nil, RateFound, 13},
		{"the generator's limit", 1000, 7000, Doubted, nil, RateAtLeast, 13},
		{"no limit", 1000, math.Inf(1), Missed, nil, RateAtLeast, 16},
		// p99 in 20 s needs 5/s: the lowest rate that can be judged
		{"below the lowest rate", 1000, 2, Missed, []string{"response_p99_ns < 20ms"}, RateInvalid, 6},
		{"below any rate", 1000, 1, Missed, nil, RateMissed, 8},
		{"below what the generator can do", 1000, 1, Doubted, nil, RateInvalid, 8},
		// 100 answers in 20 s: 5/s
		{"slower than one VU alone", 1000, 60, Missed, nil, RateFound, 15},
	} {
		s := simulated(design(tt.objectives...), tt.alone, upTo(tt.capacity, tt.beyond))
		if s.Verdict != tt.verdict || len(s.Attempts) > tt.most {
			t.Errorf("%s: %s after %d attempts (%v to %v)", tt.name, s.Verdict, len(s.Attempts), s.HeldPerSec, s.MissedPerSec)
		}
		if tt.verdict == RateFound && (s.HeldPerSec > tt.capacity || s.MissedPerSec <= tt.capacity || s.MissedPerSec > 1.051*s.HeldPerSec) {
			t.Errorf("%s: found %v to %v", tt.name, s.HeldPerSec, s.MissedPerSec)
		}
		if tt.verdict == RateAtLeast && math.IsInf(tt.capacity, 1) && s.HeldPerSec != 1e6 {
			t.Errorf("%s: %v", tt.name, s.HeldPerSec)
		}
	}
}

// One VU alone comes to 1000/s, so half of that is first; 100 answers in 20 s need 5/s.
func TestNextAttempt(t *testing.T) {
	type triedRate struct {
		rate         float64
		held, missed int
	}
	tests := []struct {
		tried []triedRate
		rate  float64
		step  Step
	}{
		{nil, 500, Widen},
		{[]triedRate{{500, 1, 0}}, 1000, Widen},
		{[]triedRate{{600_000, 1, 0}}, 1e6, Widen}, // the highest
		{[]triedRate{{500, 0, 1}}, 125, Widen},
		{[]triedRate{{12, 0, 1}}, 5, Widen},                                    // the lowest
		{[]triedRate{{8000, 1, 0}, {9000, 0, 1}}, 8485, Narrow},                // √(8000 · 9000) = 8485.3
		{[]triedRate{{1000, 1, 0}, {1051, 0, 1}}, 1025, Narrow},                // √1,051,000 = 1025.2
		{[]triedRate{{1000, 1, 0}, {1050, 0, 1}}, 1000, Confirm},               // 5% apart is near enough
		{[]triedRate{{1000, 2, 0}, {1050, 0, 1}}, 1000, Confirm},               // three are needed
		{[]triedRate{{1000, 3, 0}, {1050, 0, 1}}, 1050, Confirm},               //
		{[]triedRate{{1000, 3, 0}, {1050, 0, 2}}, 0, ""},                       // and two
		{[]triedRate{{1000, 1, 1}, {1050, 0, 1}}, 1000, Confirm},               // contradicts itself
		{[]triedRate{{1000, 1, 0}, {1050, 0, 1}, {1100, 1, 0}}, 1050, Confirm}, // 1100 contradicts 1050
		{[]triedRate{{1e6, 2, 0}}, 1e6, Confirm},
		{[]triedRate{{1e6, 3, 0}}, 0, ""},
		{[]triedRate{{5, 0, 1}}, 5, Confirm},
		{[]triedRate{{5, 0, 2}}, 0, ""},
	}
	for _, tt := range tests {
		s := simulated(design(), 1000, upTo(0, Missed))
		s.Attempts = nil
		for _, at := range tt.tried {
			s.Attempts = append(s.Attempts, slices.Repeat([]Attempt{{RatePerSec: at.rate, Outcome: Held}}, at.held)...)
			s.Attempts = append(s.Attempts, slices.Repeat([]Attempt{{RatePerSec: at.rate, Outcome: Missed}}, at.missed)...)
		}
		if got := s.next(); got.rate != tt.rate || got.step != tt.step {
			t.Errorf("after %v: %v %q, want %v %q", tt.tried, got.rate, got.step, tt.rate, tt.step)
		}
	}
}

// Near the limit outcomes are drawn: the chance to hold falls from 1 to 0 within
// ±10% of the capacity; and one attempt in 20 misses whatever its rate (the
// machine stalled). The rate found must be near, and the search must end.
func TestSearchCopesWithNoise(t *testing.T) {
	const searches = 500
	random := rand.New(rand.NewPCG(1, 1))
	near, settled, attempts := 0, 0, 0
	for range searches {
		capacity := math.Exp(math.Log(50) + 6*random.Float64())
		s := simulated(design(), 1000, func(rate float64) Outcome {
			chance := (1.1 - rate/capacity) / 0.2
			if random.Float64() > chance || random.Float64() < 0.05 {
				return Missed
			}
			return Held
		})
		attempts += len(s.Attempts)
		if s.Verdict == RateFound {
			settled++
		}
		if s.HeldPerSec > 0.85*capacity && s.HeldPerSec < 1.1*capacity {
			near++
		}
	}
	if near < searches*95/100 || settled < searches*98/100 || attempts > 25*searches {
		t.Errorf("%d of %d near the capacity, %d settled, %d attempts", near, searches, settled, attempts)
	}
}

// A server of 4 lanes and 10 ms: 400/s. At 400/s evenly spaced nothing waits;
// above, the queue grows by the difference.
func TestSearchOverAServer(t *testing.T) {
	for _, tt := range []struct {
		name      string
		objective string
		vus       int
		verdict   Verdict
		low, high float64 // the rate found
		reason    string
	}{
		{"times", "response_p90_ns < 50ms", 0, RateFound, 370, 402, finding.ObjectiveMissed.Code},
		{"only the rate", "", 0, RateFound, 370, 425, "incomplete"},
		{"too slow", "response_p50_ns < 5ms", 0, RateMissed, 0, 0, finding.ObjectiveMissed.Code},
		// 2 VUs can do 200/s, whatever the server can.
		{"too few VUs", "response_p90_ns < 50ms", 2, RateAtLeast, 180, 202, "start_lag"},
	} {
		synctest.Test(t, func(t *testing.T) {
			lanes := make(chan struct{}, 4)
			server := trialtest.Arm("s", func(ctx context.Context) (load.Outcome, error) {
				select {
				case lanes <- struct{}{}:
				case <-ctx.Done():
					return load.Outcome{}, ctx.Err()
				}
				time.Sleep(10 * time.Millisecond)
				<-lanes
				return load.Outcome{}, nil
			})
			d := design()
			if tt.objective != "" {
				d = design(tt.objective)
			}
			d.VUs = tt.vus
			s, err := Rate(t.Context(), server, load.Plan{Timer: pace.Runtime, Timeout: time.Second}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Verdict != tt.verdict || s.HeldPerSec < tt.low || s.HeldPerSec > tt.high || s.Reason == nil || s.Reason.Code != tt.reason {
				t.Errorf("%s: %s, %v to %v in %d attempts, %+v", tt.name, s.Verdict, s.HeldPerSec, s.MissedPerSec, len(s.Attempts), s.Reason)
			}
			if tt.verdict == RateFound && (s.Found == nil || s.Found.Round != 0 || s.Found.Completed == 0) {
				t.Errorf("%s: sum %+v", tt.name, s.Found)
			}
		})
	}
}

// A server that errs once in fifty (2%) misses every rate, unless an objective allows as much.
func TestSearchWithErrors(t *testing.T) {
	for _, tt := range []struct {
		objectives []string
		held       bool
	}{
		{nil, false}, {[]string{"errors < 1%"}, false}, {[]string{"errors < 5%"}, true}, {[]string{"errors < 1000000"}, true},
		{[]string{"errors < 5%", "errors < 1%"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
				failed := calls.Add(1)%50 == 0
				time.Sleep(10 * time.Millisecond)
				return load.Outcome{Failed: failed}, nil
			})
			d := design(tt.objectives...)
			d.MaxRate = 200
			s, err := Rate(t.Context(), server, load.Plan{Timer: pace.Runtime}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if held := s.Verdict == RateAtLeast && s.HeldPerSec == 200; held != tt.held {
				t.Errorf("%v: %s, %v held, %+v", tt.objectives, s.Verdict, s.HeldPerSec, s.Reason)
			}
		})
	}
}

// A cancelled search keeps its attempts, and nothing of the one cut short.
func TestInterruptedSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s, err := Rate(ctx, trialtest.Sleeping("s", 10*time.Millisecond), load.Plan{Timer: pace.Runtime}, design(), nil)
		if err == nil || s.Verdict != RateUnsettled || len(s.Attempts) != 3 || s.HeldPerSec != 200 {
			t.Errorf("%v; %s after %d attempts, held %v", err, s.Verdict, len(s.Attempts), s.HeldPerSec)
		}
	})
}

func TestSearchMistakesAllAtOnce(t *testing.T) {
	err := Design{VUs: -1, Warmup: -1, Objectives: []string{"speed < 3", "throughput_per_s > 3", "a.errors < 3", "nonsense"}}.Validate()
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 10 {
		t.Errorf("%d mistakes, want 10: four objectives, arrivals, vus, precision, max_rate, max_attempt, warmup\n%v", len(lines), err)
	}
	if err := design("response_p99_ns <= 20ms", "errors == 0").Validate(); err != nil {
		t.Error(err)
	}
}

// One answer above p99 is 100 in all: 10 s at 10/s.
func TestAttemptsAreLongEnough(t *testing.T) {
	s := simulated(design("response_p99_ns < 1s"), 100, upTo(0, Missed))
	for rate, want := range map[float64]time.Duration{500: 2 * time.Second, 1e6: 2 * time.Second, 10: 10 * time.Second, 1: 20 * time.Second} {
		if got := s.length(rate); got != want {
			t.Errorf("at %v/s: %v, want %v", rate, got, want)
		}
	}
	if got := s.lowest(); got != 5 {
		t.Errorf("lowest rate %v", got)
	}
}

// A server that takes 2 ms holds no p99 < 1 ms at any rate. If one caller saw no faster response, that says so, also where
// responses of 5 s leave no time for a rate; if it saw some, one attempt shows it, and no time is spent on lower rates.
func TestNoRateHoldsWhatOneCallerMisses(t *testing.T) {
	for _, tt := range []struct {
		typical, fastest time.Duration
		attempts         int
	}{{2 * time.Millisecond, 2 * time.Millisecond, 0}, {5 * time.Second, 5 * time.Second, 0}, {2 * time.Millisecond, time.Millisecond / 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			d := design("response_p99_ns < 1ms")
			d.Duration, d.MaxAttempt = time.Minute, time.Minute
			var served atomic.Int64
			server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
				if served.Add(1)%10 == 0 {
					time.Sleep(tt.fastest)
				} else {
					time.Sleep(tt.typical)
				}
				return load.Outcome{}, nil
			})
			s, err := Rate(t.Context(), server, load.Plan{Timer: pace.Runtime, Timeout: time.Minute}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Verdict != RateMissed || s.TimeUp != nil || len(s.Attempts) != tt.attempts || !s.Reason.Is(finding.ObjectiveMissed) ||
				tt.attempts > 0 && s.MissedPerSec != s.Attempts[0].RatePerSec {
				t.Errorf("%v: %s at %v/s after %d attempts, %+v, time up %+v", tt.typical, s.Verdict, s.MissedPerSec, len(s.Attempts), s.Reason, s.TimeUp)
			}
		})
	}
}

// What callers of a pilot wait for each other, one request at a time does not, and a first response may be slow.
func TestOneCallerIsKnown(t *testing.T) {
	pilot := &load.Result{Duration: time.Second, Model: load.ClosedModel, Concurrency: 16, Counts: load.NewCounts()}
	pilot.Completed, pilot.Planned = 10, 10
	pilot.Response.RecordN(5*time.Millisecond, 10)
	s := &Result{Design: design("response_p99_ns < 1ms"), Alone: &trial.Cell{Result: pilot}}
	if s.Derive(); s.Verdict != RateUnsettled {
		t.Errorf("all that is known is a pilot: %s, %+v", s.Verdict, s.Reason)
	}
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
			if served.Add(1) == 1 {
				time.Sleep(5 * time.Second)
			}
			time.Sleep(time.Millisecond)
			return load.Outcome{}, nil
		})
		d := design("response_p90_ns < 20ms")
		d.MaxRate = 100
		s, err := Rate(t.Context(), server, load.Plan{Timer: pace.Runtime, Timeout: time.Minute}, d, nil)
		if err != nil || s.Verdict != RateAtLeast {
			t.Errorf("a first response of 5 s: %s, %+v, %v", s.Verdict, s.Reason, err)
		}
	})
}
