package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// series draws n values around 1000 with 2% noise, bent by shape: a factor for each
// position in [0, 1).
func series(r *rand.Rand, n int, shape func(at float64) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1000 * shape(float64(i)/float64(n)) * (1 + 0.02*r.NormFloat64())
	}
	return values
}

func flat(float64) float64 { return 1 }

func ramp(size float64) func(float64) float64 {
	return func(at float64) float64 { return 1 + size*at }
}

func step(size, from float64) func(float64) float64 {
	return func(at float64) float64 {
		if at >= from {
			return 1 + size
		}
		return 1
	}
}

func wave(size, periods float64) func(float64) float64 {
	return func(at float64) float64 { return 1 + size/2*math.Sin(2*math.Pi*periods*at) }
}

// Each shape is distinguished from flat noise and named correctly. Noise is 2%, so
// a ramp of 15% over 30 values and the like are far beyond chance; seeds are
// fixed.
func TestSteadyOnLabelledSeries(t *testing.T) {
	tests := []struct {
		name  string
		shape func(float64) float64
		want  string
	}{
		{"flat", flat, ""},
		{"ramp up", ramp(0.15), "a trend of +1"},
		{"ramp down", ramp(-0.15), "a trend of -1"},
		{"step up", step(0.12, 0.5), "a shift of +1"},
		{"step down", step(-0.12, 0.4), "a shift of -1"},
		{"late slowdown", step(-0.2, 0.8), "a shift of -"},
		{"slow start", step(0.2, 0.2), "a shift of +"},
		{"oscillation", wave(0.15, 5), "an oscillation of"},
		{"fast oscillation", wave(0.15, 11.3), "an oscillation of"},
		{"too small to matter", ramp(0.01), ""},
	}
	right, all := 0, 0
	for seed := range uint64(10) {
		for _, tt := range tests {
			for _, n := range []int{30, 60} {
				got := ""
				if ws := Steady(series(rand.New(rand.NewPCG(seed, 4)), n, tt.shape), 0.05); ws != nil {
					got = ws[0].Text
				}
				all++
				if strings.Contains(got, tt.want) && (got == "") == (tt.want == "") {
					right++
				} else {
					t.Logf("%s, %d values, seed %d: %q", tt.name, n, seed, got)
				}
			}
		}
	}
	if right < all*95/100 {
		t.Errorf("%d of %d series judged right, want 95%%", right, all)
	}
}

// On independent noise each of the three tests may err in 0.5%, all three together in
// 1.5%; no size is too small here. 700 series of each of seven noises at 0.015 have a
// standard deviation of √(0.015·0.985/4900) = 0.0017; three of them are 0.0052, so that
// 2% in all is kept. A single noise may come out at 0.015 + 4·0.0046 = 0.034.
func TestCalibrationOfSteady(t *testing.T) {
	simulated(t)
	const experiments = 700
	for _, n := range []int{10, 30, 61} {
		all := 0
		for seed, noise := range noises {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
			alarms := 0
			values := make([]float64, n)
			for range experiments {
				for i := range values {
					values[i] = math.Exp(noise.draw(r))
				}
				alarms += len(Steady(values, 0))
			}
			if share := float64(alarms) / experiments; share > 0.034 {
				t.Errorf("%d values, %s: false alarms in %.4f, want at most 0.034", n, noise.name, share)
			}
			all += alarms
		}
		if share := float64(all) / float64(experiments*len(noises)); share > 0.02 {
			t.Errorf("%d values: false alarms in %.4f of all series, want at most 0.015", n, share)
		}
	}
}

// Throughput is correlated from second to second. With noise of 2% (lag-one
// correlation 0.7) the tests alone cry wolf; comparing with what such noise explains
// leaves less than 10%, and with a tolerance of 5% at most 1% of the series. Tolerance of
// the test: 1000 series, 4·√(0.01·0.99/1000) = 0.0126.
func TestSteadyOnCorrelatedNoise(t *testing.T) {
	simulated(t)
	r := rand.New(rand.NewPCG(6, 6))
	alarms, careless, blind := 0, 0, 0
	for range 1000 {
		values := moods(r, 60, 0.7)
		for i, x := range values {
			values[i] = 1000 * (1 + 0.02*x)
		}
		alarms += len(Steady(values, 0.05))
		careless += len(Steady(values, 0))
		if movements(values, 0, 0) != nil {
			blind++
		}
	}
	t.Logf("of 1000 correlated series %d called not steady, %d without tolerance, %d by the tests alone", alarms, careless, blind)
	if alarms > 10+12 {
		t.Errorf("%d of 1000 correlated series called not steady, want at most 10", alarms)
	}
	if careless > 100 {
		t.Errorf("%d of 1000 without tolerance, want at most 100", careless)
	}
	if blind < 300 {
		t.Errorf("only %d of 1000 by the tests alone: this test shows nothing", blind)
	}
}

// A planted wave is taken out completely if a whole number of its periods fits, and
// nearly so otherwise.
func TestFitWave(t *testing.T) {
	for _, frequency := range []float64{0.75, 3, 4.625, 14} {
		values := drawn(29, func(i int) float64 {
			return 7 + 2*math.Cos(2*math.Pi*frequency*float64(i)/29+0.5)
		})
		mean, sd := meanSD(values)
		w := fitWave(values, frequency)
		if _, left := meanSD(w.rest); frequency == math.Trunc(frequency) && left > 1e-9 {
			t.Errorf("frequency %g: %g is left of %g", frequency, left, sd)
		}
		all := 0.0
		for _, v := range values {
			all += squared(v - mean)
		}
		if w.power > all*(1+1e-9) || w.power < 0.8*all {
			t.Errorf("frequency %g: explains %g of %g", frequency, w.power, all)
		}
	}
}

func TestSteadyText(t *testing.T) {
	linear := make([]float64, 21)
	for i := range linear {
		linear[i] = float64(100 + i) // 100 … 120: +20 of a median of 110
	}
	ws := Steady(linear, 0.05)
	if len(ws) != 1 || ws[0].Code != "not_steady" || !strings.Contains(ws[0].Text, "a trend of +18.2% from start to end") {
		t.Errorf("got %v", ws)
	}
	square := make([]float64, 40)
	for i := range square {
		square[i] = 90 + 20*float64(i/20) // 90 … 90, 110 … 110: +20 of a median of 100
	}
	ws = Steady(square, 0.05)
	if len(ws) != 1 || !strings.Contains(ws[0].Text, "a shift of +20.0% after 50% of the time") {
		t.Errorf("got %v", ws)
	}
	sine := make([]float64, 41)
	for i := range sine { // about 4 periods in 41 values, ±5 around 100
		sine[i] = 100 + 5*math.Sin(2*math.Pi*4*float64(i)/41)
	}
	ws = Steady(sine, 0.05)
	if len(ws) != 1 || !strings.Contains(ws[0].Text, "an oscillation of 10.0% from trough to peak every 10.2 values") {
		t.Errorf("got %v", ws)
	}
	alternating := make([]float64, 30)
	for i := range alternating {
		alternating[i] = 100 + 10*float64(i%2)
	}
	if ws = Steady(alternating, 0.05); len(ws) != 1 || !strings.Contains(ws[0].Text, "an oscillation") {
		t.Errorf("alternating values: got %v", ws)
	}
}

func TestSteadyCannotJudge(t *testing.T) {
	for name, values := range map[string][]float64{
		"too short":    make([]float64, 9),
		"empty":        nil,
		"NaN":          append(slices.Repeat([]float64{1}, 20), math.NaN()),
		"infinite":     append(slices.Repeat([]float64{1}, 20), math.Inf(1)),
		"nothing done": make([]float64, 20),
	} {
		if got := codes(Steady(values, 0.05)); got != "steadiness_unknown" {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
	if ws := Steady(slices.Repeat([]float64{7}, 50), 0); ws != nil {
		t.Errorf("constant: %v", ws)
	}
}

// An hour of seconds with a slow leak and with a wave of ten seconds.
func TestSteadyOnLongSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	if ws := Steady(series(r, 3601, flat), 0.02); ws != nil {
		t.Errorf("flat: %v", ws)
	}
	if got := Steady(series(r, 3601, ramp(-0.1)), 0.05); len(got) != 1 || !strings.Contains(got[0].Text, "a trend of -1") {
		t.Errorf("leak: %v", got)
	}
	if got := Steady(series(r, 3601, wave(0.1, 360)), 0.05); len(got) != 1 || !strings.Contains(got[0].Text, "every 10.0 values") {
		t.Errorf("wave: %v", got)
	}
}

// The unit does not matter, a larger tolerance never sees more, and the input stays.
func TestSteadyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1, 100), 0, 80).Draw(t, "values")
		slices.Sort(values[:len(values)/2])
		given := slices.Clone(values)
		strict, loose := Steady(values, 0.01), Steady(values, 0.3)
		if !slices.Equal(values, given) {
			t.Fatal("the input was changed")
		}
		if len(strict) > 1 || strict == nil && loose != nil {
			t.Fatalf("tolerance 0.01: %v; 0.3: %v", strict, loose)
		}
		for i := range values {
			values[i] *= 1024
		}
		if scaled := Steady(values, 0.01); !slices.Equal(scaled, strict) {
			t.Fatalf("%v in another unit is %v", strict, scaled)
		}
	})
}

func TestMidranks(t *testing.T) {
	ranks, ties := midranks([]float64{30, 10, 20, 10, 30, 30})
	if want := []float64{5, 1.5, 3, 1.5, 5, 5}; !slices.Equal(ranks, want) {
		t.Errorf("ranks %v, want %v", ranks, want)
	}
	if want := []float64{2, 1, 3}; !slices.Equal(ties, want) {
		t.Errorf("ties %v, want %v", ties, want)
	}
}

// Of a trend and a shift that both would do the one remains that explains more; a wave that does not repeat is the shape of the
// other. What cannot be judged does not move.
func TestMovements(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		shape func(at float64) float64
		want  string
	}{
		{"flat", 60, flat, ""},
		{"up", 200, ramp(1), "from 1000 to 2000"},
		{"down", 60, ramp(-0.5), "from 1000 to 500"},
		{"a step", 60, step(0.3, 0.5), "from 1000 to 1300 at 0.5"},
		{"a step on a slope", 60, func(at float64) float64 { return ramp(0.2)(at) * step(0.2, 0.5)(at) }, "from 1100 to 1400 at 0.5"},
		{"levels off", 200, func(at float64) float64 { return 1 - 0.4*math.Exp(-5*at) }, "from 800 to 1000 at 0.2"},
		{"a wave", 60, wave(0.4, 5), "from 800 to 1200 every 12"},
		{"too few", 9, ramp(1), ""},
	} {
		var got []string
		for _, m := range Movements(series(rand.New(rand.NewPCG(1, 2)), tt.n, tt.shape), 0.05) {
			text := fmt.Sprintf("from %g to %g", math.Round(m.From/100)*100, math.Round(m.To/100)*100)
			if m.At != 0 {
				text += fmt.Sprintf(" at %.2g", m.At)
			}
			if m.Period != 0 {
				text += fmt.Sprintf(" every %.2g", m.Period)
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, "; "); joined != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, joined, tt.want)
		}
	}
}
