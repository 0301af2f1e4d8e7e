package search

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/pace"
	"contend/trial"
	"contend/trial/trialtest"
)

// poolOf answers as many requests at once as the pool has places, after d each.
func poolOf(places int, d time.Duration) trial.Arm {
	pool := make(chan struct{}, places)
	return trialtest.Arm("s", func(ctx context.Context) (load.Outcome, error) {
		select {
		case pool <- struct{}{}:
		case <-ctx.Done():
			return load.Outcome{}, ctx.Err()
		}
		defer func() { <-pool }()
		select {
		case <-time.After(d):
			return load.Outcome{}, nil
		case <-ctx.Done():
			return load.Outcome{}, ctx.Err()
		}
	})
}

// slowDesign is that of a search as users have it.
func slowDesign(most time.Duration) Design {
	return Design{Arrivals: "constant", Precision: 0.03, MaxRate: 1e6, MaxAttempt: time.Minute, Warmup: 300 * time.Millisecond, Seed: 1, Pilot: true, Duration: most}
}

var slowPlan = load.Plan{Timer: pace.Runtime, Timeout: time.Minute}

// A pool of 16 takes 5 s for a response: 3.2/s. The first responses show that 30 s are too short, and the time that they
// ask for is enough.
func TestSearchOverASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, d, begun := poolOf(16, 5*time.Second), slowDesign(30*time.Second), time.Now()
		s, err := Rate(t.Context(), server, slowPlan, d, nil)
		if err != nil || s.Verdict != RateUnsettled || s.TimeUp == nil || !strings.HasPrefix(s.TimeUp.Lacks, "responses take 5.00 s") || s.Alone == nil || s.Alone.Completed == 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if took := time.Since(begun); took > d.Duration/2 {
			t.Errorf("it takes %v to say so", took)
		}
		d.Duration, begun = s.TimeUp.Needs, time.Now()
		s, err = Rate(t.Context(), server, slowPlan, d, nil)
		if err != nil || s.Verdict != RateFound || s.HeldPerSec < 3 || s.HeldPerSec > 3.6 {
			t.Errorf("%s at %v/s in %v of %v, %v, %+v", s.Verdict, s.HeldPerSec, time.Since(begun), d.Duration, err, s.TimeUp)
		}
	})
}

// The callers of the pilot wait for each other at a pool: that of one place, which takes 25 ms, has 16 of them wait for 400
// ms, and a search over that would take 20 × 400 ms for an attempt. Responses of 12 s outlast the longest grace of others.
func TestSearchTakesResponsesOfOneCaller(t *testing.T) {
	for _, tt := range []struct {
		places           int
		response, within time.Duration
	}{{1, 25 * time.Millisecond, time.Minute}, {16, 12 * time.Second, 20 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			s, err := Rate(t.Context(), poolOf(tt.places, tt.response), slowPlan, slowDesign(tt.within), nil)
			capacity := float64(tt.places) / tt.response.Seconds()
			if err != nil || s.Verdict != RateFound || s.HeldPerSec < 0.9*capacity || s.HeldPerSec > 1.15*capacity || s.LimitFrom > s.HeldPerSec {
				t.Errorf("pool of %d, %v: %s at %v/s (from %v), time up %+v, reason %+v, alone %+v, %v", tt.places, tt.response, s.Verdict, s.HeldPerSec, s.LimitFrom, s.TimeUp, s.Reason, s.Alone, err)
			}
		})
	}
}

// A server that serves one connection leaves the others without a response at any rate, and the page says so.
func TestSearchOverAServerOfOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := design()
		d.Pilot, d.Duration = true, time.Minute
		s, err := Rate(t.Context(), trialtest.Connections("s", 1, 5*time.Millisecond), load.Plan{Timer: pace.Runtime, Timeout: 10 * time.Second}, d, nil)
		if err != nil || s.Verdict != RateInvalid || !s.Reason.Is(finding.Starved) || len(s.Attempts) > 0 || s.TimeUp != nil {
			t.Errorf("%s after %d attempts, %+v, %v", s.Verdict, len(s.Attempts), s.Reason, err)
		}
	})
}
