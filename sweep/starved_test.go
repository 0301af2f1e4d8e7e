package sweep

import (
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
	"contend/trial"
	"contend/trial/trialtest"
)

// A server that serves some connections leaves the others without a response: the levels up to these count, whatever the
// pilot drove, and the curve has the lowest that was found to starve. Where each does, that is the result; more time would
// show the same.
func TestSweepOfAServerOfFewConnections(t *testing.T) {
	for _, tt := range []struct {
		connections      int
		levels           []int
		highest, starves int // of the results; 0: no level is left
	}{
		{1, nil, 1, 2}, {1, []int{4, 1, 2}, 1, 2}, {1, []int{2, 4}, 0, 0}, {1, []int{16}, 0, 0},
		{8, nil, 8, 16}, {50, []int{1, 10, 100}, 10, 100}, {50, nil, 32, 64},
	} {
		for _, pilot := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				begun, d := time.Now(), Design{Duration: 30 * time.Second, Warmup: 100 * time.Millisecond, Seed: 1, Pilot: pilot, Levels: tt.levels}
				if !pilot {
					d.Duration = 2 * time.Minute // levels that starve come in any order
				}
				curve, err := Run(t.Context(), trialtest.Connections("s", tt.connections, 5*time.Millisecond), load.Plan{Timeout: 10 * time.Second}, d, nil)
				if err != nil || curve.TimeUp != nil || len(curve.Results) == 0 {
					t.Fatalf("%+v: %+v, time up %+v, %v", tt, curve.Results, curve.TimeUp, err)
				}
				if took := time.Since(begun); took > d.Duration {
					t.Errorf("%+v: after %v", tt, took)
				}
				starved, highest := curve.Starved(), curve.Results[len(curve.Results)-1]
				if tt.highest == 0 {
					if starved != nil || !curve.Results[0].Refusal(stat.HigherIsFaster).Is(finding.Starved) {
						t.Errorf("%+v: %+v", tt, curve.Results)
					}
					return
				}
				if starved == nil || starved.Concurrency != tt.starves || highest.Concurrency != tt.highest || curve.Knee == nil || curve.LeftOut != "" || curve.Ceiling == "" {
					t.Errorf("%+v with a pilot: %v: starved %+v, results up to %d, knee %+v, left out %q, ceiling %q", tt, pilot, starved, highest.Concurrency, curve.Knee, curve.LeftOut, curve.Ceiling)
				}
			})
		}
	}
}

// A pilot that starves ends with its first stretch: each would last as long as its grace of 10 s.
func TestPilotEndsIfItStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, pilot := time.Now(), trial.Pilot{Plan: load.Plan{VUs: 100, Timeout: 10 * time.Second}, Most: 20 * time.Second}
		warmed, err := pilot.Warm(t.Context(), trialtest.Connections("s", 50, 5*time.Millisecond))
		if took := time.Since(begun); err != nil || warmed.Last.Starved != 50 || took > 15*time.Second {
			t.Errorf("after %v: %+v, %v", took, warmed, err)
		}
	})
}
