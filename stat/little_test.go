package stat

import (
	"math"
	"testing"
	"time"

	"contend/internal/testenv"
)

// The published counter over gRPC (k6, 10 to 1000 virtual users). Calls in flight is rate ×
// mean RPC time, e.g. 4532.29/s · 0.71994 ms = 3.263; share outside is 1 − RPC ÷
// iteration, e.g. 1 − 0.71994/2.19 = 0.671; the residual compares the rate with VUs ÷
// iteration, e.g. 1 − 4532.29·0.00219/10 = 0.0074.
func TestLittleOnPublishedFigures(t *testing.T) {
	const us = time.Microsecond
	tests := []struct {
		design                    string
		vus, rate                 float64
		rpc, iteration            time.Duration
		inFlight, share, residual float64
		codes                     string
	}{
		{"inputQ", 10, 4532.286646, 719940, 2190 * us, 3.3, 0.67, 0.0074, "generator_saturated"},
		{"inputQ", 100, 10664.646039, 1630 * us, 9350 * us, 17.4, 0.83, 0.0029, "generator_saturated"},
		{"inputQ", 200, 10398.382496, 1880 * us, 18420 * us, 19.5, 0.90, 0.0423, "generator_saturated"},
		{"inputQ", 300, 10109.286962, 1920 * us, 27030 * us, 19.4, 0.93, 0.0892, "generator_saturated little_mismatch"},
		{"inputQ", 500, 10160.735101, 1880 * us, 46170 * us, 19.1, 0.96, 0.0618, "generator_saturated little_mismatch"},
		{"inputQ", 1000, 8924.532635, 2310 * us, 91980 * us, 20.6, 0.97, 0.1791, "generator_saturated little_mismatch"},
		{"mutex", 10, 4800.542003, 712010, 2070 * us, 3.4, 0.66, 0.0063, "generator_saturated"},
		{"mutex", 1000, 9430.541952, 2270 * us, 93120 * us, 21.4, 0.98, 0.1218, "generator_saturated little_mismatch"},
	}
	for _, tt := range tests {
		o, err := Little(tt.vus, tt.rate, tt.rpc, tt.iteration)
		testenv.Must(t, err)
		within := func(got, want, rounding float64) bool { return math.Abs(got-want) <= rounding }
		if !within(o.CallsInFlight, tt.inFlight, 0.05) || !within(o.ShareOutside, tt.share, 0.005) ||
			!within(o.Residual, tt.residual, 0.0001) || codes(o.Warnings) != tt.codes {
			t.Errorf("%s, %g VUs: got %+v", tt.design, tt.vus, o)
		}
	}
}

func TestLittleWithoutIterationTime(t *testing.T) {
	tests := []struct {
		name            string
		vus, rate       float64
		service         time.Duration
		inFlight, share float64
		codes           string
	}{
		// 10 VUs, 950/s · 10 ms = 9.5 in flight
		{"a lean generator", 10, 950, 10 * time.Millisecond, 9.5, 0.05, ""},
		{"a noticeable one", 10, 800, 10 * time.Millisecond, 8, 0.2, "generator_share"},
		{"a saturated one", 10, 500, 10 * time.Millisecond, 5, 0.5, "generator_saturated"},
		// edges of the window: a little over N is not a mismatch, and not a negative share
		{"just over", 10, 1020, 10 * time.Millisecond, 10.2, 0, ""},
		{"impossible", 10, 2000, 10 * time.Millisecond, 20, 0, "little_mismatch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := Little(tt.vus, tt.rate, tt.service, 0)
			testenv.Must(t, err)
			if !closeTo(o.CallsInFlight, tt.inFlight) || !closeTo(o.ShareOutside, tt.share) || codes(o.Warnings) != tt.codes {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestLittleRefuses(t *testing.T) {
	for _, bad := range []struct {
		vus, rate          float64
		service, iteration time.Duration
	}{
		{0, 1, 1, 1}, {-1, 1, 1, 1}, {math.NaN(), 1, 1, 1}, {math.Inf(1), 1, 1, 1},
		{1, 0, 1, 1}, {1, -1, 1, 1}, {1, math.NaN(), 1, 1}, {1, math.Inf(1), 1, 1},
		{1, 1, 0, 1}, {1, 1, -1, 1}, {1, 1, 1, -1},
	} {
		if _, err := Little(bad.vus, bad.rate, bad.service, bad.iteration); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
