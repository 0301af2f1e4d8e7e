package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"contend/pace"
)

// Arrivals that are due within the tolerance of one that is waited for start with
// the last of them: in groups of n, and the i-th of a group is (n−1−i) periods
// late.
func TestArrivalsStartTogether(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		name      string
		lag       pace.Tolerance
		perSec    float64
		service   time.Duration
		max, mean time.Duration
	}{
		{"none", pace.None, 5000, 10 * ms, 0, 0},
		{"shorter than the period", pace.Tolerance(199 * us), 5000, 10 * ms, 0, 0},
		{"as long as the period: pairs", pace.Tolerance(200 * us), 5000, 10 * ms, 200 * us, 100 * us},
		{"five periods: six", pace.Tolerance(ms), 5000, 10 * ms, ms, 500 * us},                  // (0+200+…+1000)/6
		{"auto: 200 µs of 10 ms: pairs", pace.Auto, 5000, 10 * ms, 200 * us, 100 * us},          //
		{"auto: 1 ms of 80 ms: six", pace.Auto, 5000, 80 * ms, ms, 500 * us},                    // 2% were 1.6 ms
		{"auto: 20 µs of 1 ms", pace.Auto, 5000, ms, 0, 0},                                      //
		{"auto: 20 µs of 1 ms: threes", pace.Auto, 100_000, ms, 20 * us, 10 * us},               // due 0, 10, 20 µs
		{"auto, seldom", pace.Auto, 100, 80 * ms, 0, 0},                                         // nobody to start with
		{"more than a group holds", pace.Tolerance(10 * ms), 200_000, ms, 5120 * us, 2560 * us}, // 1025 of 5 µs
	} {
		r := inBubble(t, sleeper(tt.service), Plan{VUs: 1500, Pacer: pace.Constant(tt.perSec), StartLag: tt.lag,
			Warmup: 100 * ms, Duration: 120 * ms})
		checkSum(t, r)
		if r.Dropped > 0 {
			t.Errorf("%s: %d dropped", tt.name, r.Dropped)
		}
		within(t, tt.name+": longest start lag", r.StartLag.Max(), tt.max, 0.001)
		within(t, tt.name+": mean start lag", r.StartLag.Mean(), tt.mean, 0.1) // groups are cut at the window's edges
		if r.StartLagAllowed < tt.max {
			t.Errorf("%s: %v late, allowed %v", tt.name, tt.max, r.StartLagAllowed)
		}
	}
}

// The running median of exponential times is near ln 2 of their mean, whatever it
// began with.
func TestTypicalServiceTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var seen tolerance
	seen.saw(time.Hour)
	sum := 0.0
	for i := range 20_000 {
		seen.saw(time.Duration(r.ExpFloat64() * float64(10*time.Millisecond)))
		if i >= 10_000 {
			sum += math.Log(float64(seen.typical))
		}
	}
	within(t, "typical", time.Duration(math.Exp(sum/10_000)), 6931*time.Microsecond, 0.1)
}

// A late start is what goes beyond the start lag that was asked for.
func TestLagThatWasAskedFor(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		asked pace.Tolerance
		lag   time.Duration
		late  bool
	}{
		{pace.None, 2 * ms, true},
		{pace.Auto, 2 * ms, true},
		{pace.Tolerance(2 * ms), 2 * ms, false},
		{pace.Tolerance(2 * ms), 2*ms + 90*us, false}, // as clocks are
		{pace.Tolerance(2 * ms), 5 * ms, true},
	} {
		r := &Result{Counts: NewCounts(), Model: OpenModel}
		r.Completed, r.Plan.StartLag = 1000, tt.asked
		r.StartLag.RecordN(tt.lag, 1000)
		r.Response.RecordN(tt.lag+200*us, 1000)
		if got := r.startedLate(); (got != nil) != tt.late {
			t.Errorf("%v late, %d asked for: %v", tt.lag, tt.asked, got)
		}
	}
}
