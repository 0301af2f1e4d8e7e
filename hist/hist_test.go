package hist_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"contend/hist"
	"pgregory.net/rapid"
)

func record(values ...time.Duration) *hist.Histogram {
	h := hist.New()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestEmptyHistogramAnswersZero(t *testing.T) {
	h := hist.New()
	for name, got := range map[string]time.Duration{
		"Mean": h.Mean(), "Min": h.Min(), "Max": h.Max(),
		"Quantile(0)": h.Quantile(0), "Quantile(0.5)": h.Quantile(0.5), "Quantile(1)": h.Quantile(1),
		"Count": time.Duration(h.Count()), "Saturated": time.Duration(h.Saturated()),
		"CountsUpTo": time.Duration(h.CountsUpTo(time.Hour)[0]),
	} {
		if got != 0 {
			t.Errorf("%s = %d, want 0", name, got)
		}
	}
}

func TestRounded(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"0s", "0s"},
		{"999ns", "999ns"},
		{"2.172927ms", "2.17ms"},
		{"-2.172927ms", "-2.17ms"},
		{"15.4449s", "15.4s"},
		{"999.6ms", "1s"}, // 9996 units of 100 µs
	} {
		d, err := time.ParseDuration(tt.give)
		if got := hist.Rounded(d).String(); err != nil || got != tt.want {
			t.Errorf("%s became %s, want %s", tt.give, got, tt.want)
		}
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	ten := record(10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
	for _, c := range []struct {
		h    *hist.Histogram
		q    float64
		want time.Duration
	}{
		{ten, 0, 10},                      // the minimum
		{ten, 0.1, 10},                    // ⌈1⌉ = 1st; 0.1·10 must not round up to the 2nd
		{ten, 0.11, 20},                   // ⌈1.1⌉ = 2nd
		{ten, 0.5, 50},                    // ⌈5⌉ = 5th
		{ten, 0.7, 70},                    // ⌈7⌉ = 7th, though 0.7·10 is 7.000…01 nowhere
		{ten, 0.9, 90},                    // ⌈9⌉ = 9th
		{ten, 0.99, 100},                  // ⌈9.9⌉ = 10th
		{ten, 1, 100},                     // the maximum
		{ten, -1, 10},                     // clamped
		{ten, 2, 100},                     // clamped
		{ten, math.NaN(), 10},             // counts as 0
		{record(7), 0.5, 7},               // one value is every quantile
		{record(5_000_123), 0.5, 5000123}, // clamped to the exact minimum and maximum
		{record(1, 2, 3), 0.1, 1},         // ⌈0.3⌉ = 1st
		{record(1, 2, 3), 1.0 / 3, 1},     // ⌈1⌉ = 1st
	} {
		if got := c.h.Quantile(c.q); got != c.want {
			t.Errorf("Quantile(%v) of %d = %d, want %d", c.q, c.h.Count(), got, c.want)
		}
	}
}

func TestValuesOutOfRangeSaturate(t *testing.T) {
	h := record(-5, 0, 1, time.Hour, time.Hour+1, math.MaxInt64)
	h.RecordN(-1, 3)
	if got := h.Saturated(); got != 6 { // -5, hour+1, max, 3 × -1
		t.Errorf("Saturated = %d, want 6", got)
	}
	if h.Count() != 9 || h.Min() != 0 || h.Max() != time.Hour || h.Quantile(0.999) != time.Hour {
		t.Errorf("count %d, min %v, max %v, p999 %v", h.Count(), h.Min(), h.Max(), h.Quantile(0.999))
	}
	if got, want := h.Mean(), (3*time.Hour+1)/9; got-want > 1 {
		t.Errorf("Mean = %v, want %v", got, want)
	}
}

func TestCountSaturates(t *testing.T) {
	h := record(1)
	h.RecordN(3, math.MaxInt64) // one too many
	h.RecordN(3, 1)
	h.RecordN(3, 0)
	h.RecordN(3, -1)
	if h.Count() != math.MaxInt64 || h.Mean() != 3 {
		t.Errorf("count %d, mean %d; want %d, 3", h.Count(), h.Mean(), math.MaxInt64)
	}
	h.Merge(h.Clone())
	if h.Count() != math.MaxInt64 || h.Mean() != 3 || h.Quantile(0.5) != 3 {
		t.Errorf("after Merge: count %d, mean %d, p50 %d", h.Count(), h.Mean(), h.Quantile(0.5))
	}
}

func TestMeanIsExactBeyond64Bits(t *testing.T) {
	h := hist.New()
	h.RecordN(time.Hour, 1e10) // a sum of 3.6e22 ns; 64 bits end at 1.8e19
	h.RecordN(time.Hour-2, 1e10)
	if got := h.Mean(); got != time.Hour-1 {
		t.Errorf("Mean = %v, want %v", got, time.Hour-1)
	}
}

func TestCountsUpTo(t *testing.T) {
	h := record(-1, 10, 20, 30, time.Second)
	limits := []time.Duration{-1, 0, 9, 10, 29, 30, time.Millisecond, time.Second, time.Hour, math.MaxInt64}
	want := []int64{0, 1, 1, 2, 3, 4, 4, 5, 5, 5}
	if got := h.CountsUpTo(limits...); !slices.Equal(got, want) {
		t.Errorf("up to %v are %d, want %d", limits, got, want)
	}
}

func TestResetAndClone(t *testing.T) {
	h := record(-1, 5, time.Minute)
	c := h.Clone()
	h.Reset()
	check(t, h, hist.New())
	check(t, c, record(-1, 5, time.Minute))
	c.Merge(c)
	check(t, c, record(-1, 5, time.Minute, -1, 5, time.Minute))
}

// check compares everything that a Histogram can tell.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want *hist.Histogram) {
	t.Helper()
	g, err := got.MarshalJSON()
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	w, err := want.MarshalJSON()
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	if string(g) != string(w) {
		t.Fatalf("got  %s\nwant %s", g, w)
	}
}

func TestCheckSeesADifference(t *testing.T) {
	var differences spy
	check(&differences, record(1, 2), record(1, 3))
	check(&differences, record(0), record(-1))
	if differences != 2 {
		t.Errorf("check saw %d differences, want 2", differences)
	}
}

type spy int

func (*spy) Helper()                 {}
func (s *spy) Fatalf(string, ...any) { *s++ }

// durations draws values of every magnitude, also out of range.
func durations() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Uint64(), func(u uint64) time.Duration { return time.Duration(u >> (u % 64)) })
}

func histograms() *rapid.Generator[*hist.Histogram] {
	return rapid.Map(rapid.SliceOfN(durations(), 0, 50), func(ds []time.Duration) *hist.Histogram { return record(ds...) })
}

func TestRecordNEqualsNTimesRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once, often := hist.New(), hist.New()
		for range rapid.IntRange(1, 5).Draw(t, "values") {
			d, n := durations().Draw(t, "d"), rapid.Int64Range(-1, 100).Draw(t, "n")
			once.RecordN(d, n)
			for range n {
				often.Record(d)
			}
		}
		check(t, once, often)
	})
}

func TestMergeIsCommutativeAndAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := histograms().Draw(t, "a"), histograms().Draw(t, "b"), histograms().Draw(t, "c")
		merge := func(x, y *hist.Histogram) *hist.Histogram {
			sum := x.Clone()
			sum.Merge(y)
			return sum
		}
		check(t, merge(a, b), merge(b, a))
		check(t, merge(merge(a, b), c), merge(a, merge(b, c)))
		check(t, merge(a, hist.New()), a)
	})
}

func TestMergeEqualsRecordingTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(durations()).Draw(t, "x")
		y := rapid.SliceOf(durations()).Draw(t, "y")
		merged := record(x...)
		merged.Merge(record(y...))
		check(t, merged, record(append(slices.Clone(x), y...)...))
	})
}

func TestQuantilesDoNotDecrease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histograms().Draw(t, "h")
		p, q := rapid.Float64Range(0, 1).Draw(t, "p"), rapid.Float64Range(0, 1).Draw(t, "q")
		if p > q {
			p, q = q, p
		}
		if h.Quantile(p) > h.Quantile(q) || h.Quantile(q) > h.Max() || h.Quantile(p) < h.Min() {
			t.Fatalf("q%v = %d, q%v = %d, min %d, max %d", p, h.Quantile(p), q, h.Quantile(q), h.Min(), h.Max())
		}
	})
}

// The oracle: an exact sort. 10⁶ samples of a server's typical mixture, a tenth
// of that of other shapes.
func TestQuantileErrorAgainstExactSort(t *testing.T) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		n    int
		draw func() float64 // ns
	}{
		{"log-normal body, Pareto tail", n, func() float64 {
			if r.IntN(100) == 0 {
				return 1e7 * math.Pow(1-r.Float64(), -1/1.2)
			}
			return 2e5 * math.Exp(0.4*r.NormFloat64())
		}},
		{"exponential", n / 10, func() float64 { return 1e6 * r.ExpFloat64() }},
		{"uniform in magnitude", n / 10, func() float64 { return math.Pow(10, 12.5*r.Float64()) }},
		{"two points", n / 10, func() float64 { return 2047 + 3e9*float64(r.IntN(2)) }},
		{"nanoseconds", n / 10, func() float64 { return 20 + 3000*r.Float64() }},
	} {
		t.Run(c.name, func(t *testing.T) { compareWithSort(t, c.n, c.draw) })
	}
}

func compareWithSort(t *testing.T, n int, draw func() float64) {
	h := hist.New()
	exact := make([]int64, n)
	var sum float64
	for i := range exact {
		exact[i] = min(int64(draw()), int64(time.Hour))
		sum += float64(exact[i])
		h.Record(time.Duration(exact[i]))
	}
	slices.Sort(exact)
	for _, perMyriad := range []int{1, 100, 2500, 5000, 9000, 9500, 9900, 9990, 9999} {
		want := exact[(n*perMyriad+9999)/10000-1] // rank ⌈q·n⌉ in integers
		got := int64(h.Quantile(float64(perMyriad) / 10000))
		if got < want || float64(got-want) > 0.001*float64(want) {
			t.Errorf("q %d/10000 = %d, exact %d", perMyriad, got, want)
		}
	}
	if h.Min() != time.Duration(exact[0]) || h.Max() != time.Duration(exact[n-1]) {
		t.Errorf("min %d, max %d; exact %d, %d", h.Min(), h.Max(), exact[0], exact[n-1])
	}
	if mean := sum / float64(n); math.Abs(float64(h.Mean())-mean) > 1 {
		t.Errorf("mean %d, exact %v", h.Mean(), mean)
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	h := hist.New()
	d := time.Duration(1)
	if allocs := testing.AllocsPerRun(1000, func() {
		h.Record(d)
		h.RecordN(-d, 3)
		d *= 3
	}); allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]time.Duration, 1<<12)
	for i := range values {
		values[i] = time.Duration(2e5 * math.Exp(0.4*r.NormFloat64()))
	}
	h := hist.New()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Record(values[i%len(values)])
	}
}

func BenchmarkMerge(b *testing.B) {
	h, o := hist.New(), hist.New()
	for i := range 10_000 {
		o.Record(time.Duration(i) * time.Microsecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Merge(o)
	}
}

func BenchmarkQuantile(b *testing.B) {
	h := hist.New()
	for i := range 10_000 {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Quantile(0.99)
	}
}
