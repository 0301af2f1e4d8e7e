package hist_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"contend/hist"
	"contend/internal/testenv"
)

func TestSketchOfFew(t *testing.T) {
	var s hist.Sketch
	for _, x := range []float64{30, 10, 20, math.NaN(), math.Inf(1)} {
		s.Record(x)
	}
	if s.Count() != 3 || s.Sum() != 60 || s.Min() != 10 || s.Max() != 30 || s.Mean() != 20 {
		t.Errorf("got %d numbers, sum %v, %v to %v, mean %v", s.Count(), s.Sum(), s.Min(), s.Max(), s.Mean())
	}
	for _, test := range []struct{ q, want float64 }{
		{0, 10}, {0.5, 20}, {1, 30},
		{0.9, 28},  // rank 1.8: 20 + 0.8·(30 − 20)
		{0.25, 15}, // rank 0.5
	} {
		if got := s.Quantile(test.q); got != test.want {
			t.Errorf("quantile %v: got %v, want %v", test.q, got, test.want)
		}
	}
}

func numbers(t *rapid.T, label string) []float64 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Just(0.0), rapid.Map(rapid.IntRange(-50, 50), func(i int) float64 { return float64(i) })), 0, 300).Draw(t, label)
}

func sketchOf(all ...[]float64) *hist.Sketch {
	s := new(hist.Sketch)
	for _, x := range slices.Concat(all...) {
		s.Record(x)
	}
	return s
}

// Quantiles are those of the sorted numbers within the error, and parts add up to the whole in any order.
func TestSketchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers(t, "a"), numbers(t, "b")
		whole := sketchOf(a, b)
		ab, ba := sketchOf(a), sketchOf(b)
		ab.Merge(sketchOf(b))
		ba.Merge(sketchOf(a))
		sorted := slices.Sorted(slices.Values(slices.Concat(a, b)))
		for _, q := range []float64{0, 0.1, 0.5, 0.95, 1} {
			want := 0.0
			if n := len(sorted); n > 0 {
				rank := q * float64(n-1)
				below := int(rank)
				want = sorted[below]
				if rest := rank - float64(below); rest > 0 {
					want += rest * (sorted[below+1] - sorted[below])
				}
			}
			got := whole.Quantile(q)
			// Each of the two neighbours may be off by its own error.
			allowed := hist.SketchError * math.Max(math.Abs(want), neighbours(sorted, q))
			if math.Abs(got-want) > allowed+1e-9*math.Abs(want)+1e-300 {
				t.Fatalf("quantile %v of %d: got %v, want %v ± %v", q, len(sorted), got, want, allowed)
			}
			if ab.Quantile(q) != got || ba.Quantile(q) != got {
				t.Fatalf("quantile %v: merged %v and %v, whole %v", q, ab.Quantile(q), ba.Quantile(q), got)
			}
		}
		text, err := json.Marshal(whole)
		testenv.Must(t, err)
		var read hist.Sketch
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, _ := json.Marshal(&read)
		if string(again) != string(text) {
			t.Fatalf("%s was read as %s", text, again)
		}
	})
}

// neighbours is the larger size of the numbers on either side of a rank.
func neighbours(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	below := int(q * float64(len(sorted)-1))
	return math.Max(math.Abs(sorted[below]), math.Abs(sorted[min(below+1, len(sorted)-1)]))
}

func FuzzSketch(f *testing.F) {
	for _, s := range []*hist.Sketch{sketchOf(), sketchOf([]float64{1, 2, 2}), sketchOf(func() (all []float64) {
		for i := range 200 {
			all = append(all, float64(i)-100)
		}
		return all
	}())} {
		text, _ := json.Marshal(s)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s hist.Sketch
		if json.Unmarshal(text, &s) != nil {
			return
		}
		for _, q := range []float64{0, 0.5, 1} {
			if x := s.Quantile(q); math.IsNaN(x) {
				t.Fatalf("%s: quantile %v is %v", text, q, x)
			}
		}
		if _, err := json.Marshal(&s); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

func BenchmarkSketchRecord(b *testing.B) {
	var s hist.Sketch
	b.ReportAllocs()
	for i := range b.N {
		s.Record(float64(i&1023) / 7)
	}
}
