package pace

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOver(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		pacer string
		from  time.Duration
		n     int64
		want  time.Duration
	}{
		{"constant:20", 0, 10, 500 * ms},                           // 10 / 20
		{"constant:20", 25 * ms, 10, 525 * ms},                     // wherever it begins
		{"constant:20", 0, 0, 0},                                   //
		{"ramp:0-100/10s", 0, 125, 5 * time.Second},                // 5 t² = 125
		{"ramp:0-100/10s", 5 * time.Second, 475, 11 * time.Second}, // 125 + 475 = 500 + 100
		{"ramp:20-0/2s", 0, 20, 2 * time.Second},                   // 20·2/2
		{"ramp:20-0/2s", 0, 21, 2 * time.Second},                   // there are no more
		{"steps:10/1s,0/3s", 0, 10, time.Second},                   // not when the next one would be
		{"steps:10/1s,0/3s", 0, 11, 4 * time.Second},               // with the stages
		{"steps:10/1s,0/3s", 5 * time.Second, 1, 5 * time.Second},
		{"steps:10/1s,0", 0, 11, time.Second},
		{"steps:0/5s,10", 0, 10, 6 * time.Second},
		{"poisson:10/1s,0/3s", 0, 1000, 4 * time.Second},
	} {
		p, err := Parse(tt.pacer)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Over(1, tt.from, tt.n); got != tt.want {
			t.Errorf("%s from %v: %d arrivals are over at %v, want %v", tt.pacer, tt.from, tt.n, got, tt.want)
		}
	}
}

// As many arrivals are due until then as were asked for.
func TestOverIsBehindThoseArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"steps:", "poisson:"}).Draw(t, "kind")
		p, err := Parse(kind + rapid.SampledFrom([]string{"40", "7.3/9s", "0-90/4s,3", "30/1s,0/2s,50", "90-10/4s", "0.7/3s,1e6"}).Draw(t, "stages"))
		if err != nil {
			t.Fatal(err)
		}
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.Int64Range(1, 500).Draw(t, "n")
		from := time.Duration(rapid.IntRange(0, 5000).Draw(t, "from ms")) * time.Millisecond
		end := p.Over(seed, from, n)
		if got := p.Planned(seed, from, end, 0); got != n {
			t.Errorf("%s: %d arrivals in [%v, %v), want %d", p, got, from, end, n)
		}
	})
}

// Random arrivals have the planned rate on average: of 2000 seeds the mean of 50 ÷ T, whose variance is
// 10² ÷ 49, is 10 ± 4 standard errors.
func TestOverOfRandomArrivals(t *testing.T) {
	p := &Pacer{poisson: true, stages: []stage{{from: 10, to: 10}}}
	sum := 0.0
	for seed := range uint64(2000) {
		sum += 50 / p.Over(seed, 0, 50).Seconds()
	}
	if mean := sum / 2000; math.Abs(mean-10) > 4*10/math.Sqrt(49*2000) {
		t.Errorf("%v/s on average, want 10", mean)
	}
}
