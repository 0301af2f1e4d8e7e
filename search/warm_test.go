package search

import (
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/pace"
	"contend/trial/trialtest"
)

// A server that answers in 1 ms once it is 2 s old is as old in every attempt, so that the objective holds at the rates of
// a warm one: two callers come to 2000/s.
func TestSearchOverAWarmServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := design("response_p90_ns < 2ms")
		d.VUs, d.Duration, d.Pilot = 2, 0, true
		s, err := Rate(t.Context(), trialtest.Quickening("s", 2*time.Second), load.Plan{Timer: pace.Runtime, Timeout: time.Second}, d, nil)
		if err != nil || s.Warmup == nil || s.HeldPerSec < 1800 || s.Found == nil || !finding.LongWarmup.In(s.Found.Warnings) {
			t.Fatalf("held %v/s, warm-up %+v, %v", s.HeldPerSec, s.Warmup, err)
		}
	})
}
