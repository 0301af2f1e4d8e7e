package cli

import (
	"strings"
	"testing"

	"contend/metric"
	"contend/report"
)

// The largest possible effect is shown next to the smallest that the machine detects.
func TestWhetherAComparisonIsWorthRunning(t *testing.T) {
	fine, coarse := found(5), found(5)
	fine.Visible[0].Spread, coarse.Visible[0].Spread = 0.002, 0.02
	if s := coarse.Visible[0].In(8, 0.95); s < 0.02 || s > 0.04 {
		t.Fatalf("8 rounds that scatter by 2%% see %g", s)
	}
	for _, tt := range []struct {
		effect float64
		metric metric.Name
		known  *report.Calibration
		want   string
	}{
		{0.01, metric.Throughput, nil, "less than the margin of 2% which counts as equal: a comparison is not worth running"},
		{0.03, metric.Throughput, nil, "is not known"},
		{0.01, metric.Throughput, coarse, "in 40 rounds: a comparison cannot show it"},
		{0.05, metric.Throughput, coarse, "in 40 rounds: a comparison can show it."},
		{0.01, metric.Throughput, fine, "a comparison can show it, but it is less than the margin of 2%"},
		{0.03, "response_p50_ns", fine, "is not known"}, // was not calibrated
	} {
		if got := worthwhile(tt.effect, tt.metric, tt.known); !strings.Contains(got, tt.want) {
			t.Errorf("an effect of %g on %s: %q, want %q", tt.effect, tt.metric, got, tt.want)
		}
	}
}
