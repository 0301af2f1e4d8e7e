package sweep

import (
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/trial/trialtest"
)

// A server that answers in 1 ms once it is 2 s old: no run of a level sees it younger, and the curve says how long it took. In
// 10 s the pilot may take 10 s × ¼ ÷ 2½ = 1 s, which is too short.
func TestSweepOfAWarmServer(t *testing.T) {
	for _, tt := range []struct {
		most time.Duration
		says finding.Kind
	}{{0, finding.LongWarmup}, {10 * time.Second, finding.StillWarming}} {
		synctest.Test(t, func(t *testing.T) {
			d := Design{Levels: []int{1, 2}, Visits: 3, Block: 200 * time.Millisecond, Warmup: 100 * time.Millisecond, Seed: 1, Pilot: true, Duration: tt.most}
			curve, err := Run(t.Context(), trialtest.Quickening("s", 2*time.Second), load.Plan{Timeout: time.Minute}, d, nil)
			if err != nil || len(curve.Results) != 2 || curve.Warmup == nil {
				t.Fatalf("%+v, %v", curve, err)
			}
			for _, v := range curve.Visits {
				if p50 := v.Response.Quantile(0.5); p50 > 1500*time.Microsecond && tt.most == 0 {
					t.Errorf("the median of a run is %v", p50)
				}
			}
			for _, cell := range curve.Results {
				if !tt.says.In(cell.Warnings) {
					t.Errorf("within %v: %v", tt.most, cell.Warnings)
				}
			}
		})
	}
}
