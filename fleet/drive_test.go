package fleet

import (
	"testing"
	"time"

	"contend/load"
)

// A worker whose last responses take as long as the run is not lost.
func TestLongestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plan load.Plan
		want time.Duration // after which nothing is in flight
	}{
		{load.Plan{Duration: time.Minute, Grace: time.Second}, 126 * time.Second},
		{load.Plan{Duration: time.Minute, Grace: 30 * time.Second, FixedGrace: true}, 90 * time.Second},
	} {
		if got := longestRun(tt.plan); got <= tt.want || got > tt.want+2*silence {
			t.Errorf("%+v: %v, want some seconds more than %v", tt.plan, got, tt.want)
		}
	}
}
