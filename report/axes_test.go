package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
	"contend/trial"
)

func TestRatioAxis(t *testing.T) {
	for _, tt := range []struct {
		axis        ratioAxis
		ratio, want float64
	}{
		{ratioAxis{}, 1.05, 5}, {ratioAxis{}, 1, 0}, {ratioAxis{}, 0.9, -10}, {ratioAxis{factors: true}, 3, 3},
	} {
		if got := tt.axis.of(tt.ratio); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", tt.ratio, got, tt.want)
		}
	}
	if band := (ratioAxis{}).margin(0.02); math.Abs(band.From+2) > 1e-9 || math.Abs(band.To-2) > 1e-9 {
		t.Errorf("a margin of 2%% is %+v", band)
	}
}

// Percentiles are drawn as far as at least one response of those that were recorded is beyond them.
func TestPercentilePicture(t *testing.T) {
	for n, want := range map[int][2]string{1000: {"99.9%: ", "99.99%: "}, 100: {"99%: ", "99.9%: "}, 1: {"", "%: "}} {
		response := hist.New()
		for i := range n {
			response.Record(time.Duration(i+1) * time.Millisecond)
		}
		r := &load.Result{Concurrency: 1, Counts: load.Counts{Response: response}}
		p, ok := percentilePicture([]trial.Cell{{Arm: "A", Result: r}}, 1)
		if ok != (n > 1) || !strings.Contains(p.svg, want[0]) || strings.Contains(p.svg, want[1]) {
			t.Errorf("a picture of %d responses: %v, want %q in it, and not %q\n%s", n, ok, want[0], want[1], p.svg)
		}
	}
}
