package hist_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"contend/hist"
)

// Of 1 to 100 µs the 99% are at 100.333 · 0.99 + 0.333 = 99.663 and the median at 50.5. √(100 · 0.99 · 0.01) = 0.995 around
// the one are 98.668 and 100, the last; √(100 · ½ · ½) = 5 around the other 45.5 and 55.5. The standard errors are half of
// what these are apart, in logarithms.
func TestEstimate(t *testing.T) {
	h := hist.New()
	for i := range 100 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	for _, tt := range []struct{ q, micros, low, high float64 }{
		{0.99, 99.663, 98.668, 100},
		{0.5, 50.5, 45.5, 55.5},
		{0.01, 1.263, 1, 2.288}, // at 1.337: 2^0.337; from 1, the first, to 2.332: 2 · 1.5^0.332
	} {
		log, err := h.Estimate(tt.q)
		if got := math.Exp(log) / 1000; math.Abs(got/tt.micros-1) > 0.001 {
			t.Errorf("%g: %g µs, want %g", tt.q, got, tt.micros)
		}
		if want := math.Log(tt.high/tt.low) / 2; math.Abs(err-want) > 0.001 {
			t.Errorf("%g: standard error %g, want %g", tt.q, err, want)
		}
	}
}

// Where all durations are in one bucket nothing is known better than that: at most 1/1024 wide, ÷ √12.
func TestEstimateOfOneBucket(t *testing.T) {
	h := hist.New()
	h.RecordN(10*time.Millisecond, 1000)
	if log, err := h.Estimate(0.5); math.Abs(log-math.Log(1e7)) > 0.001 || math.Abs(err-0.00028) > 0.00001 {
		t.Errorf("%g ± %g, want ln 10⁷ ± 0.00028", log, err)
	}
	h.Reset()
	h.RecordN(0, 10)
	if log, err := h.Estimate(0.9); log < math.Log(0.5) || log > 0 || err <= 0 {
		t.Errorf("of 0 ns: %g ± %g, want from ln 0.5 to 0, and something", log, err)
	}
	if log, err := new(hist.Histogram).Estimate(0.5); log != 0 || err != 0 {
		t.Errorf("empty: %g, %g", log, err)
	}
}

// In half of all samples the estimate is too short, and in half too long, however few durations there are.
func TestEstimateIsAsOftenTooShortAsTooLong(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const samples = 4000
	h := hist.New()
	for _, n := range []int{150, 520, 2330} {
		short := 0
		for range samples {
			h.Reset()
			for range n {
				h.Record(time.Duration(1e6 * r.ExpFloat64()))
			}
			if log, _ := h.Estimate(0.99); log < math.Log(1e6*math.Log(100)) {
				short++
			}
		}
		if share := float64(short) / samples; math.Abs(share-0.5) > 0.025 { // a standard deviation is 0.008
			t.Errorf("of %d: too short in %.3f", n, share)
		}
	}
}
