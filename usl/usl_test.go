package usl_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/usl"
	"pgregory.net/rapid"
)

func points(n, x []float64) []usl.Point {
	ps := make([]usl.Point, len(n))
	for i := range n {
		ps[i] = usl.Point{N: n[i], X: x[i]}
	}
	return ps
}

// SPEC SDM91 on a SPARCcenter 2000, the example of R's usl package and of codahale/usl.
func sdm91() []usl.Point {
	return points(
		[]float64{1, 18, 36, 72, 108, 144, 216},
		[]float64{65, 996, 1652, 1853, 1829, 1775, 1702})
}

func fit(t *testing.T, ps []usl.Point) *usl.Result {
	t.Helper()
	r, err := usl.Fit(ps, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func within(t *testing.T, name string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*math.Abs(want)) {
		t.Errorf("%s = %v, want %v ± %v%%", name, got, want, 100*share)
	}
}

func TestSDM91(t *testing.T) {
	r := fit(t, sdm91())
	const share = 0.001
	within(t, "α", r.Alpha.Value, 0.0277299, share)
	within(t, "β", r.Beta.Value, 0.000104343, share)
	within(t, "γ", r.Gamma.Value, 89.9878, share)
	if r.Peak == nil {
		t.Fatalf("no peak: %s", r.NoPeak)
	}
	within(t, "N*", r.Peak.N.Value, 96.53, share)
	within(t, "X(N*)", r.Peak.Throughput.Value, 1883.76, share)
	if r.Peak.Optimum != 96 {
		t.Errorf("optimum %d, want 96", r.Peak.Optimum)
	}
	for n, x := range map[float64]float64{10: 714.779, 50: 1721.001, 100: 1883.279, 150: 1808.482} {
		within(t, "X", r.Model().Throughput(n), x, share)
	}
	// R's usl package prints residuals from -81.7 to 111.1
	within(t, "least residual", r.Residuals[1].Residual, -81.7, 0.01)
	within(t, "greatest residual", r.Residuals[2].Residual, 111.1, 0.01)
	// Σ(X−X̂)² = 27 310 (standard error 82.6 with 4 degrees of freedom), Σ(X−X̄)² = 2 629 000
	within(t, "R²", *r.RSquared, 1-27310.0/2629000, share)
	if len(r.Warnings) != 0 || r.NoPeak != "" {
		t.Errorf("%v, %q", r.Warnings, r.NoPeak)
	}
	// R's standard errors are 0.0091, 0.0000199 and 14.2; with 4 degrees of freedom an
	// interval has 2 · 2.776 of them, and ours must be of that size
	for _, c := range []struct {
		of usl.Estimate
		se float64
	}{{r.Alpha, 0.0091}, {r.Beta, 0.0000199}, {r.Gamma, 14.2}} {
		i := c.of.Interval
		if i.Low > c.of.Value || i.High < c.of.Value || i.High-i.Low < 4*c.se || i.High-i.Low > 8*c.se {
			t.Errorf("%v: interval %v, standard error %v", c.of.Value, *i, c.se)
		}
	}
}

func TestPeakOfAModel(t *testing.T) {
	for _, c := range []struct {
		m    usl.Model
		n    float64
		peak bool
	}{
		{usl.Model{Alpha: 0, Beta: 0.01, Gamma: 1}, 10, true},      // √(1/0.01)
		{usl.Model{Alpha: 0.36, Beta: 0.0001, Gamma: 5}, 80, true}, // √(0.64/0.0001)
		{usl.Model{Alpha: 0.5, Beta: 0, Gamma: 1}, 0, false},       // Amdahl: rises for ever
		{usl.Model{Alpha: 0, Beta: 0, Gamma: 1}, 0, false},         // linear
		{usl.Model{Alpha: 1, Beta: 0, Gamma: 1}, 0, false},         // flat
		{usl.Model{Alpha: 0.5, Beta: 0.5, Gamma: 1}, 0, false},     // √1: falls from one user on
		{usl.Model{Alpha: 2, Beta: 0.5, Gamma: 1}, 0, false},       // no real root
	} {
		n, ok := c.m.Peak()
		if ok != c.peak || ok && math.Abs(n-c.n) > 1e-9 {
			t.Errorf("%+v: peak %v %v, want %v %v", c.m, n, ok, c.n, c.peak)
		}
	}
}

func TestExactPointsGiveTheirModelBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := usl.Model{
			Alpha: rapid.SampledFrom([]float64{0, 0.001, 0.03, 0.3, 0.9}).Draw(t, "α"),
			Beta:  rapid.SampledFrom([]float64{0, 1e-6, 1e-4, 0.01}).Draw(t, "β"),
			Gamma: math.Pow(10, rapid.Float64Range(-3, 9).Draw(t, "log γ")),
		}
		var ps []usl.Point
		for _, n := range []float64{1, 2, 5, 10, 30, 100, 400} {
			ps = append(ps, usl.Point{N: n, X: m.Throughput(n)})
		}
		r, err := usl.Fit(ps, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Model()
		if math.Abs(got.Alpha-m.Alpha) > 1e-6 || math.Abs(got.Beta-m.Beta) > 1e-6*max(m.Beta, 1e-3) ||
			math.Abs(got.Gamma-m.Gamma) > 1e-6*m.Gamma {
			t.Fatalf("got %+v, want %+v", got, m)
		}
	})
}

// Without bounds these points would give a negative parameter.
func TestParametersStayWithinBounds(t *testing.T) {
	for name, ps := range map[string][]usl.Point{
		"faster than linear": points([]float64{1, 2, 4, 8}, []float64{10, 25, 60, 140}),
		"no peak":            points([]float64{1, 2, 4, 8, 16}, []float64{10, 18, 30, 55, 110}),
		"a dent":             points([]float64{1, 2, 4, 8, 16}, []float64{10, 5, 30, 5, 100}),
	} {
		r := fit(t, ps)
		if r.Alpha.Value < 0 || r.Beta.Value < 0 || r.Gamma.Value <= 0 {
			t.Errorf("%s: %+v", name, r.Model())
		}
		if r.Alpha.Interval.Low < 0 || r.Beta.Interval.Low < 0 {
			t.Errorf("%s: intervals %v, %v", name, *r.Alpha.Interval, *r.Beta.Interval)
		}
	}
}

func TestNoPeakWithAReason(t *testing.T) {
	noisy := func(m usl.Model, levels ...float64) []usl.Point {
		r := rand.New(rand.NewPCG(1, 2))
		var ps []usl.Point
		for _, n := range levels {
			for range 3 {
				ps = append(ps, usl.Point{N: n, X: m.Throughput(n) * (1 + 0.02*r.NormFloat64())})
			}
		}
		return ps
	}
	peaked := usl.Model{Alpha: 0.03, Beta: 0.0001, Gamma: 100} // N* = 98.5
	for _, c := range []struct {
		why    string
		points []usl.Point
	}{
		{"still rises", noisy(peaked, 1, 2, 5, 10, 20, 50)},
		{"still rises", noisy(usl.Model{Gamma: 7}, 1, 2, 4, 8)},
		{"falls above the lowest level, 150", noisy(peaked, 150, 200, 250, 300, 400)},
		{"falls from the second caller", noisy(usl.Model{Alpha: 3, Beta: 0.1, Gamma: 100}, 1, 2, 4, 8, 16)},
		{"do not show the noise", points([]float64{1, 10, 100}, []float64{1, 9, 5})},
		{"no level above it was slower", noisy(peaked, 1, 2, 5, 10, 20, 50, 90, 105)},
	} {
		r := fit(t, c.points)
		if r.Peak != nil || !strings.Contains(r.NoPeak, c.why) {
			t.Errorf("want %q, got %q, peak %+v", c.why, r.NoPeak, r.Peak)
		}
	}
	if r := fit(t, noisy(peaked, 1, 10, 50, 100, 150, 200)); r.Peak == nil {
		t.Errorf("peak refused: %s", r.NoPeak)
	}
}

// The law cannot bend as sharply as a queue that fills up: most such plateaus must
// not be called peaks, and those that are carry a warning.
func TestPlateauIsNoPeak(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const sweeps = 30
	peaks := 0
	for range sweeps {
		var ps []usl.Point
		for _, n := range []float64{1, 2, 4, 8, 16, 32, 64, 128} {
			for range 3 {
				ps = append(ps, usl.Point{N: n, X: min(100*n, 1000) * (1 + 0.02*r.NormFloat64())})
			}
		}
		result := fit(t, ps)
		if result.Peak != nil {
			peaks++
		}
		if !hasWarning(result, "misfit") {
			t.Errorf("no warning: %v", result.Warnings)
		}
	}
	if peaks > sweeps/4 {
		t.Errorf("%d peaks in %d plateaus", peaks, sweeps)
	}
}

// At 95% at least 88 of 100 intervals must hold the truth: 95 − 2.5 · √(95 · 5 ÷ 60)
// of 60 sweeps. bench/sweeps has the coverage over a thousand.
func TestIntervalsCoverTheTruth(t *testing.T) {
	sweeps := 60
	if testing.Short() || testenv.Race {
		sweeps = 20
	}
	m := usl.Model{Alpha: 0.03, Beta: 0.0001, Gamma: 100}
	peak, _ := m.Peak()
	r := rand.New(rand.NewPCG(1, 1))
	var n, x, alpha int
	for seed := range sweeps {
		var ps []usl.Point
		for _, level := range []float64{1, 8, 16, 32, 64, 96, 128, 192, 256} {
			for range 3 {
				ps = append(ps, usl.Point{N: level, X: m.Throughput(level) * (1 + 0.02*r.NormFloat64())})
			}
		}
		result, err := usl.Fit(ps, uint64(seed))
		if err != nil || result.Peak == nil {
			t.Fatalf("%v, %+v", err, result)
		}
		n += covers(result.Peak.N, peak)
		x += covers(result.Peak.Throughput, m.Throughput(peak))
		alpha += covers(result.Alpha, m.Alpha)
	}
	if least := sweeps * 88 / 100; n < least || x < least || alpha < least {
		t.Errorf("N* %d, X(N*) %d, α %d of %d", n, x, alpha, sweeps)
	}
}

func covers(e usl.Estimate, truth float64) int {
	if e.Interval.Low <= truth && truth <= e.Interval.High {
		return 1
	}
	return 0
}

func hasWarning(r *usl.Result, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		code   string
		points []usl.Point
	}{
		{"few_levels", sdm91()[:5]},
		{"single_user_not_measured", sdm91()[1:]},
		{"no_interval", sdm91()[:3]},
		{"poor_fit", points([]float64{1, 2, 3, 4, 5, 6}, []float64{9, 1, 9, 1, 9, 1})},
		{"alpha_above_one", points([]float64{1, 2, 4, 8, 16, 32}, []float64{100, 40, 35, 33, 32, 31})},
	} {
		if r := fit(t, c.points); !hasWarning(r, c.code) {
			t.Errorf("want %s, got %v", c.code, r.Warnings)
		}
	}
}

func TestBadPointsAreErrors(t *testing.T) {
	for want, ps := range map[string][]usl.Point{
		"no throughput above 0 in 0 points":        nil,
		"no throughput above 0 in 3 points":        points([]float64{1, 2, 3}, []float64{0, 0, 0}),
		"point 1: n is 0.5":                        points([]float64{1, 0.5, 3}, []float64{1, 1, 1}),
		"point 0: n is NaN":                        points([]float64{math.NaN(), 2, 3}, []float64{1, 1, 1}),
		"point 2: n is +Inf":                       points([]float64{1, 2, math.Inf(1)}, []float64{1, 1, 1}),
		"point 0: throughput is -1":                points([]float64{1, 2, 3}, []float64{-1, 1, 1}),
		"point 1: throughput is NaN":               points([]float64{1, 2, 3}, []float64{1, math.NaN(), 1}),
		"point 1: throughput is 1e+19":             points([]float64{1, 2, 3}, []float64{1, 1e19, 1}),
		"need at least 3 different levels, have 2": points([]float64{1, 2, 2}, []float64{1, 2, 2}),
	} {
		if r, err := usl.Fit(ps, 1); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestResultIsDeterministic(t *testing.T) {
	ps := append(sdm91(), sdm91()[3:]...)
	ps[8].X += 20
	first := fit(t, ps)
	reversed := slices.Clone(ps)
	slices.Reverse(reversed)
	if marshal(t, first) != marshal(t, fit(t, reversed)) {
		t.Error("the order of the points matters")
	}
	other, err := usl.Fit(ps, 2)
	if err != nil || marshal(t, first) == marshal(t, other) {
		t.Errorf("the seed does not matter, or %v", err)
	}
}

func marshal(t interface {
	Helper()
	Fatalf(string, ...any)
}, r *usl.Result) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(data)
}

func TestJSONForm(t *testing.T) {
	got := marshal(t, fit(t, points([]float64{1, 2, 4}, []float64{1, 1, 1})))
	for _, want := range []string{
		`{"alpha":{"value":1},"beta":{"value":0},"gamma_per_s":{"value":1},"no_peak":"throughput `,
		`"residuals":[{"n":1,"throughput_per_s":1,"fitted_per_s":1,"residual_per_s":0},`,
		`"warnings":[{"code":"few_levels","text":"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\ndoes not contain %s", got, want)
		}
	}
	got = marshal(t, fit(t, sdm91()))
	for _, want := range []string{`"peak":{"n":{"value":96.5`, `"interval":{"low":`, `"optimum":96,"throughput_per_s":{"value":188`, `"warnings":[]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\ndoes not contain %s", got, want)
		}
	}
}

// encoding/json refuses NaN and infinities, so marshalling proves their absence.
func TestNoNaNLeavesThePackage(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) float64 {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]float64{0, 1e-18, 1e18, 1, 1e-9}).Draw(t, "end")
		case 1:
			return math.Pow(10, rapid.Float64Range(-18, 18).Draw(t, "log"))
		}
		return rapid.Float64Range(1, 1000).Draw(t, "plain")
	})
	level := rapid.OneOf(rapid.Float64Range(1, 1e9), rapid.Map(rapid.IntRange(1, 12), func(n int) float64 { return float64(n) }))
	rapid.Check(t, func(t *rapid.T) {
		var ps []usl.Point
		for range rapid.IntRange(0, 9).Draw(t, "points") {
			ps = append(ps, usl.Point{N: level.Draw(t, "n"), X: value.Draw(t, "x")})
		}
		r, err := usl.Fit(ps, 1)
		if err != nil {
			return
		}
		marshal(t, r)
		if r.Gamma.Value <= 0 || r.Alpha.Value < 0 || r.Beta.Value < 0 || (r.Peak == nil) == (r.NoPeak == "") {
			t.Fatalf("%+v", r)
		}
	})
}

func TestWithinOfBest(t *testing.T) {
	for _, c := range []struct {
		points []usl.Point
		share  float64
		want   usl.Point
	}{
		{sdm91(), 0.05, usl.Point{N: 72, X: 1853}},  // 0.95·1853 = 1760 > 1652
		{sdm91(), 0.11, usl.Point{N: 36, X: 1652}},  // 0.89·1853 = 1649
		{sdm91(), 0, usl.Point{N: 72, X: 1853}},     // the best itself
		{sdm91(), 1, usl.Point{N: 1, X: 65}},        // anything
		{sdm91()[:1], 0.05, usl.Point{N: 1, X: 65}}, // one level is enough
		// means of visits: level 2 has 95, level 4 has 100
		{points([]float64{4, 2, 4, 2}, []float64{90, 120, 110, 70}), 0.05, usl.Point{N: 2, X: 95}},
	} {
		knee, err := usl.WithinOfBest(c.points, c.share, 1)
		got := usl.Point{N: knee.N.Value, X: knee.Throughput}
		if err != nil || got != c.want {
			t.Errorf("share %v: %v, %v; want %v", c.share, got, err, c.want)
		}
	}
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := usl.WithinOfBest(sdm91(), share, 1); err == nil {
			t.Errorf("share %v: no error", share)
		}
	}
	if _, err := usl.WithinOfBest(nil, 0.05, 1); err == nil {
		t.Error("no points: no error")
	}
}

// Levels 1, 2 and 4 with four visits each. The visits of level 2 lie from 88 to
// 100 around 94, those of level 4 around 100 from 98 to 102: 94 is just below 95
// of 100, so 4 is the knee, and 2 is in its interval. Level 1 has 50.
func TestTheKneesInterval(t *testing.T) {
	list := points([]float64{1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4}, []float64{50, 51, 49, 50, 88, 92, 96, 100, 98, 99, 101, 102})
	knee, err := usl.WithinOfBest(list, 0.05, 1)
	if err != nil || knee.N.Value != 4 || knee.N.Interval == nil || *knee.N.Interval != (usl.Interval{Low: 2, High: 4}) {
		t.Errorf("%+v (%v), %v; want 4 in [2, 4]", knee, knee.N.Interval, err)
	}
	again, _ := usl.WithinOfBest(list, 0.05, 1)
	if *again.N.Interval != *knee.N.Interval {
		t.Errorf("another interval from the same seed: %v", again.N.Interval)
	}
	once, err := usl.WithinOfBest(list[:5], 0.05, 1)
	if err != nil || once.N.Interval != nil {
		t.Errorf("%+v, %v: an interval, although level 2 was visited once", once, err)
	}
}

func BenchmarkFit(b *testing.B) {
	for b.Loop() {
		if _, err := usl.Fit(sdm91(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

// Power is X² ÷ N. By its derivative it is highest at (1 − α) ÷ α where β = 0, and at √(1 ÷ 3β) where α = 0 (nearly); of a pool of 8
// at 8, where it rises and then falls as N does.
func TestMostPower(t *testing.T) {
	pool := func(n float64) float64 { return min(n, 8) }
	law := func(alpha, beta float64) func(float64) float64 {
		return usl.Model{Alpha: alpha, Beta: beta, Gamma: 100}.Throughput
	}
	grid := []float64{1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32}
	for _, c := range []struct {
		name      string
		at        func(float64) float64
		levels    []float64
		low, high float64
	}{
		{"pool of 8", pool, grid, 8, 8},
		{"one at a time", law(1, 0), grid, 1, 1},              // X = 100 at any N
		{"α = 0.1", law(0.1, 0), grid, 8, 10},                 // N = (1 − α) ÷ α = 9
		{"β = 0.0033", law(0, 0.0033), grid, 10, 10},          // N = √(1 ÷ 3β) = 10.05
		{"grows", law(0, 0), grid, 32, 32},                    // the highest
		{"two levels", pool, []float64{4, 8}, 8, 8},           //
		{"a level alone", pool, []float64{5}, 5, 5},           //
		{"peak between levels", pool, []float64{6, 11}, 6, 6}, // 36 ÷ 6 > 64 ÷ 11
	} {
		var list []usl.Point
		for _, n := range c.levels {
			list = append(list, usl.Point{N: n, X: c.at(n)}, usl.Point{N: n, X: c.at(n)})
		}
		knee, err := usl.MostPower(list, 0, 1)
		if err != nil || knee.N.Value < c.low || knee.N.Value > c.high || knee.Throughput != c.at(knee.N.Value) {
			t.Errorf("%s: %+v, %v; want %v to %v", c.name, knee, err, c.low, c.high)
		} else if i := knee.N.Interval; i.Low > knee.N.Value || i.High < knee.N.Value || i.High > i.Low+2 {
			t.Errorf("%s: interval %+v around %v", c.name, i, knee.N.Value)
		}
	}
	if _, err := usl.MostPower(nil, 0, 1); err == nil {
		t.Error("no points: no error")
	}
}

// Of 10 callers who think for a second 5 wait where 5 operations a second are done: 5² ÷ 5. Noise cannot have more of
// them think than there are.
func TestPower(t *testing.T) {
	for _, tt := range []struct{ n, x, think, want float64 }{
		{10, 5, 0, 2.5},
		{10, 5, 1, 5},
		{10, 11, 1, 121 / 0.01},
	} {
		if got := usl.Power(usl.Point{N: tt.n, X: tt.x}, tt.think); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
