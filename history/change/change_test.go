package change

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// points have these values, and no standard error.
func points(values ...float64) []Point {
	var list []Point
	for _, v := range values {
		list = append(list, Point{Value: v})
	}
	return list
}

// noisy is a series whose level rises by a size from each of some positions on.
func noisy(random *rand.Rand, n int, se, build, size float64, at ...int) []Point {
	list := make([]Point, n)
	level := 0.0
	for i := range list {
		if slices.Contains(at, i) {
			level += size
		}
		list[i] = Point{Value: level + math.Hypot(se, build)*random.NormFloat64(), SE: se, Rounds: 60}
	}
	return list
}

func TestFind(t *testing.T) {
	o := Options{Alpha: 0.01, Build: 0.001, Least: 0.002}
	for _, tt := range []struct {
		name   string
		series []Point
		want   []int // At
	}{
		{"nothing", nil, nil},
		{"one point", points(1), nil},
		{"all alike", points(1, 1, 1, 1), nil},
		{"the last", points(0, 0, 0, 0.05), []int{3}},
		{"the first", points(0.05, 0, 0, 0), []int{1}},
		{"up and down", points(0, 0, 0, 0.05, 0.05, 0.05, 0, 0, 0), []int{3, 6}},
		{"two up", points(0, 0, 0, 0.05, 0.05, 0.05, 0.1, 0.1), []int{3, 6}},
		// The threshold of 3 positions is the normal quantile of 1 − 0.01/2/3, 2.94. The differences 0, 0, d say
		// nothing of builds, so the deviation is √(10 ÷ 13) · 0.001 = 0.000877, and that of a step √(4/3) times as
		// much: 2.94 · 0.001013 = 0.00298.
		{"below the threshold", points(0, 0, 0, 0.0027), nil},
		{"above the threshold", points(0, 0, 0, 0.0033), []int{3}},
		{"smaller than Least", append(points(0.0019, 0.0019, 0.0019, 0.0019), points(make([]float64, 400)...)...), nil},
		{"larger than Least", append(points(0.0021, 0.0021, 0.0021, 0.0021), points(make([]float64, 400)...)...), []int{4}},
		{"far from 0", points(1e6, 1e6, 1e6, 1e6+0.05), []int{3}},
	} {
		var got []int
		for _, s := range Find(tt.series, o) {
			got = append(got, s.At)
			if s.From < 1 || s.From > s.At || s.At > s.To || s.To > s.Last || s.First >= s.From || s.P > o.Alpha || s.Low > s.Size || s.High < s.Size {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Differences of 0 leave √(10 ÷ 13) · 0.0005 of the assumed deviation for 3 of them, and 8 times that is 0.00351. Of
// 21 with two others they leave √(10 ÷ 31), and 16 times that is 0.00454.
func TestLoneBuilds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		most   float64
		series []Point
		found  bool
	}{
		{"the last, below", 1, points(0, 0, 0, 0.0034), false},
		{"the last, above", 1, points(0, 0, 0, 0.0037), true},
		{"the first, below", 1, points(0.0034, 0, 0, 0), false},
		{"two of the same", 1, points(0, 0, 0.0034, 0.0034), true},
		{"back at once, below", 1, append(points(0, 0, 0, 0.0045), points(make([]float64, 18)...)...), false},
		{"back at once, above", 1, append(points(0, 0, 0, 0.0047), points(make([]float64, 18)...)...), true},
		{"higher at once", 1, points(0, 0, 0, 0.004, 0.008, 0.008, 0.008), true},
		{"no more than MostLone", 0.0033, points(0, 0, 0, 0.0034), true},
		{"no less than Least", 0.001, points(0, 0, 0, 0.0029), false},
	} {
		o := Options{Alpha: 0.01, Build: 0.0005, Least: 0.003, Lone: 8, MostLone: tt.most}
		if got := len(Find(tt.series, o)) > 0; got != tt.found {
			t.Errorf("%s: found %v", tt.name, got)
		}
	}
}

// 3 points at 0 and 2 at 0.05, whose deviation is d: the step's standard error is d · √(1/3 + 1/2).
func TestStep(t *testing.T) {
	steps := Find(points(0, 0, 0, 0.05, 0.05), Options{Alpha: 0.01, Build: 0.001})
	if len(steps) != 1 {
		t.Fatal(steps)
	}
	s := steps[0]
	half := 1.96 * s.Build * math.Sqrt(5./6)
	if math.Abs(s.Size-0.05) > 1e-12 || math.Abs(s.High-0.05-half) > 1e-6 || math.Abs(0.05-s.Low-half) > 1e-6 || s.First != 0 || s.Last != 4 || s.From != 3 || s.To != 3 {
		t.Errorf("%+v, want 0.05 ± %v", s, half)
	}
}

// What is left out as a start of levels was never needed.
func TestOptimal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		l := newLevels(noisy(random, 40, 0.002, 0.003, 0.01, 9, 20, 22), Times())
		const penalty = 9
		n := len(l.weights) - 1
		least := make([]float64, n+1)
		least[0] = -penalty
		for to := 1; to <= n; to++ {
			least[to] = math.Inf(1)
			for from := range to {
				least[to] = min(least[to], least[from]+l.cost(from, to)+penalty)
			}
		}
		starts := append(l.optimal(penalty), n)
		total := -float64(penalty)
		for i, to := range starts[1:] {
			total += l.cost(starts[i], to) + penalty
		}
		if math.Abs(total-least[n]) > 1e-9 {
			t.Fatalf("levels from %v come to %v, the best to %v", starts, total, least[n])
		}
	}
}

// The deviation between builds is found in noise of rounds, and neither a few steps nor builds that are mostly alike hide it.
func TestBetween(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := func(series []Point) float64 { return between(series, variances(series), 0.001) }
	if got := found(noisy(random, 1000, 0.003, 0.004, 0.05, 100, 300, 500)); got < 0.0035 || got > 0.0046 {
		t.Errorf("found %v, want 0.004", got)
	}
	if got := found(noisy(random, 1000, 0.003, 0, 0)); got > 0.0012 {
		t.Errorf("found %v where there is none", got)
	}
	few := noisy(random, 1000, 0, 0, 0)
	for i := range few {
		if i%8 == 0 {
			few[i].Value = 0.003 * random.NormFloat64()
		}
	}
	if got := found(few); got < 0.0005 {
		t.Errorf("found %v where every eighth build differs", got)
	}
	if got := found(points(0, 0, 0)); math.Abs(got-0.001*math.Sqrt(10./12)) > 1e-12 {
		t.Errorf("found %v in 2 differences", got)
	}
}

// 9 of 19 parts of the variance are of the point's own 10 rounds, 10 of the usual ones: 0.04 ÷ 10 = 0.004.
func TestVariances(t *testing.T) {
	usual := Point{SE: math.Sqrt(0.004), Rounds: 10}
	got := variances([]Point{usual, {SE: 0, Rounds: 10}, usual, {SE: 0.5}})
	for i, want := range []float64{0.004, 0.004 * 10 / 19, 0.004, 0.25} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
}

// Of series without a step at most Alpha have any: of 600, but for three standard errors, 0.05 ± 0.027. Positions and sizes of a
// step are held by intervals of 95%, ± 0.027.
func TestKnownError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	o := Options{Alpha: 0.05, Build: 0.003}
	const series = 600
	var none, found, placed, sized float64
	for range series {
		if len(Find(noisy(random, 60, 0.002, 0.003, 0), o)) > 0 {
			none++
		}
		for _, s := range Find(noisy(random, 60, 0.002, 0.003, 0.008, 35), o) {
			if s.First == 0 && s.Last == 59 {
				found++
				placed += holds(s.From <= 35 && 35 <= s.To)
				sized += holds(s.Low <= 0.008 && 0.008 <= s.High)
			}
		}
	}
	t.Logf("%v of %d without a step have one; of %v found %.1f%% have their position, %.1f%% their size", none, series, found, 100*placed/found, 100*sized/found)
	if none/series > 0.077 || found < 0.9*series || placed/found < 0.92 || sized/found < 0.92 {
		t.Errorf("%v have a step; of %v, %v have their position and %v their size", none, found, placed, sized)
	}
}

func holds(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
