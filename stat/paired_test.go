package stat

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/finding"
	"contend/internal/testenv"
)

func mustPaired(t testenv.T, logRatios []float64, confidence float64) Effect {
	e, err := Paired(logRatios, confidence)
	testenv.Must(t, err)
	return e
}

// closeTo compares to ten digits.
func closeTo(got, want float64) bool {
	return math.Abs(got-want) <= 1e-10*max(1, math.Abs(want))
}

func codes(ws []finding.Warning) string {
	var cs []string
	for _, w := range ws {
		cs = append(cs, w.Code)
	}
	return strings.Join(cs, " ")
}

// The depression scale of nine patients before and after tranquilizer (Hollander,
// Wolfe and Chicken, examples 3.1, 3.3 and 3.4; also R's example for wilcox.test):
// W = 5, two-sided p = 20/512, estimate −0.46, interval (−0.786, −0.010) at 96.1%.
func TestPairedAgreesWithHollanderWolfe(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	diffs := make([]float64, len(before))
	for i := range before {
		diffs[i] = after[i] - before[i]
	}
	e := mustPaired(t, diffs, 0.95)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"p", e.P, 20.0 / 512},
		{"estimate", math.Log(e.Ratio), -0.46},
		{"low", math.Log(e.Low), -0.786},
		{"high", math.Log(e.High), -0.010},
		{"confidence", e.Confidence, 1 - 20.0/512},
	} {
		if !closeTo(c.got, c.want) {
			t.Errorf("%s = %g, want %g", c.name, c.got, c.want)
		}
	}
}

func TestPaired(t *testing.T) {
	tests := []struct {
		name   string
		ratios []float64
		want   Effect
		codes  string
	}{
		{
			// W− = 0: p = 2·1/64, interval from least to greatest at 1 − 2/64. The 21
			// Walsh averages in log₂: the 11th of them is 3.5.
			name:   "six rounds all above",
			ratios: []float64{2, 4, 8, 16, 32, 64},
			want: Effect{Ratio: math.Pow(2, 3.5), Low: 2, High: 64, P: 0.03125,
				Confidence: 0.96875, Rounds: 6},
		},
		{
			// The least p with five rounds is 2/32 > 0.05: a p, but no interval.
			name:   "five rounds",
			ratios: []float64{2, 4, 8, 16, 32},
			want:   Effect{Ratio: 8, P: 0.0625, Rounds: 5},
			codes:  "too_few_rounds",
		},
		{
			// One round is above or below 1 by chance: p = 2·½.
			name:   "one round",
			ratios: []float64{2},
			want:   Effect{Ratio: 2, P: 1, Rounds: 1},
			codes:  "too_few_rounds",
		},
		{
			// Two Walsh averages of three, 1/2 and 1·(tie), are not above 1: p = 1.
			name:   "two rounds that cancel",
			ratios: []float64{0.5, 2},
			want:   Effect{Ratio: 1, P: 1, Rounds: 2},
			codes:  "too_few_rounds",
		},
		{
			name:   "identical, no difference",
			ratios: []float64{1, 1, 1, 1, 1, 1},
			want:   Effect{Ratio: 1, Low: 1, High: 1, P: 1, Confidence: 0.96875, Rounds: 6},
			codes:  "identical_values",
		},
		{
			name:   "identical, a difference",
			ratios: []float64{2, 2, 2, 2, 2, 2},
			want:   Effect{Ratio: 2, Low: 2, High: 2, P: 0.03125, Confidence: 0.96875, Rounds: 6},
			codes:  "identical_values",
		},
		{
			// The 6 Walsh averages of the three ones count against a difference: P(W ≤ 6) =
			// 14/512. P(W ≤ 5) = 10/512, so the interval's depth is 6: 1 is in it. 6 of the
			// 45 Walsh averages are 1, 18 are √2 and 21 are 2: the 23rd is √2.
			name:   "three rounds at exactly 1",
			ratios: []float64{1, 1, 1, 2, 2, 2, 2, 2, 2},
			want: Effect{Ratio: math.Sqrt2, Low: 1, High: 2, P: 28.0 / 512,
				Confidence: 1 - 20.0/512, Rounds: 9},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			logs := make([]float64, len(tt.ratios))
			for i, r := range tt.ratios {
				logs[i] = math.Log(r)
			}
			e := mustPaired(t, logs, 0.95)
			if got := codes(e.Warnings); got != tt.codes {
				t.Errorf("warnings %q, want %q", got, tt.codes)
			}
			if !sameEffect(e, tt.want) || e.Rounds != tt.want.Rounds {
				t.Errorf("got %+v\nwant %+v", e, tt.want)
			}
		})
	}
}

func sameEffect(a, b Effect) bool {
	return closeTo(a.Ratio, b.Ratio) && closeTo(a.Low, b.Low) && closeTo(a.High, b.High) &&
		closeTo(a.P, b.P) && closeTo(a.Confidence, b.Confidence)
}

// The comparator above must see each difference.
func TestSameEffectSeesDifferences(t *testing.T) {
	base := Effect{Ratio: 1, Low: 1, High: 1, P: 1, Confidence: 1}
	for i, other := range []Effect{
		{Ratio: 2, Low: 1, High: 1, P: 1, Confidence: 1},
		{Ratio: 1, Low: 2, High: 1, P: 1, Confidence: 1},
		{Ratio: 1, Low: 1, High: 2, P: 1, Confidence: 1},
		{Ratio: 1, Low: 1, High: 1, P: 2, Confidence: 1},
		{Ratio: 1, Low: 1, High: 1, P: 1, Confidence: 2},
	} {
		if sameEffect(base, other) {
			t.Errorf("difference %d is not seen", i)
		}
	}
}

func TestPairedRefuses(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	tests := []struct {
		name       string
		logRatios  []float64
		confidence float64
		want       string
	}{
		{"no rounds", nil, 0.95, "have 0 rounds"},
		{"too many", make([]float64, 2001), 0.95, "have 2001 rounds"},
		{"NaN", []float64{0, math.NaN()}, 0.95, "round 2 is NaN"},
		{"infinite", []float64{math.Inf(-1)}, 0.95, "round 1 is -Inf"},
		{"not a logarithm", []float64{1e6}, 0.95, "round 1 is 1e+06"},
		{"per cent", six, 95, "confidence is 95"},
		{"certainty", six, 1, "confidence is 1"},
		{"nothing", six, 0, "confidence is 0"},
		{"NaN confidence", six, math.NaN(), "confidence is NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Paired(tt.logRatios, tt.confidence)
			if err == nil || !strings.HasPrefix(err.Error(), "stat: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestEffectJSON(t *testing.T) {
	for _, logs := range [][]float64{{0.1}, {0.1, 0.2, 0.3, 0.1, 0.2, 0.25}} {
		e := mustPaired(t, logs, 0.95)
		text, err := json.Marshal(e)
		testenv.Must(t, err)
		if has := strings.Contains(string(text), `"ratio_low"`); has != e.Bounded() {
			t.Errorf("bounded %v, but %s", e.Bounded(), text)
		}
		var back Effect
		testenv.Must(t, json.Unmarshal(text, &back))
		if !sameEffect(back, e) || back.Bounded() != e.Bounded() || back.Level != e.Level ||
			!slices.Equal(back.Warnings, e.Warnings) {
			t.Errorf("%+v came back as %+v", e, back)
		}
	}
}

// drawRounds draws log-ratios that are continuous or lie on a coarse grid, where
// zeros, equal rounds and ties of |log-ratio| abound.
func drawRounds(t *rapid.T) []float64 {
	if rapid.Bool().Draw(t, "coarse") {
		steps := rapid.SliceOfN(rapid.IntRange(-5, 9), 1, 30).Draw(t, "steps")
		logs := make([]float64, len(steps))
		for i, s := range steps {
			logs[i] = float64(s) / 128
		}
		return logs
	}
	logs := rapid.SliceOfN(rapid.Float64Range(-0.3, 0.5), 1, 30).Draw(t, "logs")
	for i := range logs {
		logs[i] = math.Round(logs[i]*(1<<30)) / (1 << 30) // eˣ is 1 for tiny x
	}
	return logs
}

func drawConfidence(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{0.8, 0.9, 0.95, 0.96875, 0.99, 0.999}).Draw(t, "confidence")
}

func TestPairedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs, confidence := drawRounds(t), drawConfidence(t)
		given := slices.Clone(logs)
		e := mustPaired(t, logs, confidence)
		if !slices.Equal(given, logs) {
			t.Fatal("the input was changed")
		}
		if e.P <= 0 || e.P > 1 {
			t.Fatalf("p = %g", e.P)
		}
		if e.Bounded() != (e.Rounds >= FewestRounds(e.Level)) {
			t.Fatalf("%d rounds at %g: bounded is %v", e.Rounds, confidence, e.Bounded())
		}
		outside := e.Bounded() && (e.Low > 1 || e.High < 1)
		if significant := e.P <= e.Level; significant != outside {
			t.Fatalf("test and interval contradict each other: %+v", e)
		}
		if e.Bounded() && (e.Confidence < confidence || e.Low > e.Ratio || e.Ratio > e.High) {
			t.Fatalf("want confidence ≥ %g and low ≤ ratio ≤ high: %+v", confidence, e)
		}
	})
}

// Shifting every log-ratio by c moves the estimate and the interval by the factor eᶜ;
// so for any ratio, not only for 1, the test rejects exactly what the interval omits.
func TestPairedIntervalInvertsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawRounds(t)
		c := float64(rapid.IntRange(-64, 64).Draw(t, "c")) / 256
		e := mustPaired(t, logs, 0.95)
		moved := make([]float64, len(logs))
		for i, x := range logs {
			moved[i] = x - c
		}
		m := mustPaired(t, moved, 0.95)
		if !closeTo(m.Ratio*math.Exp(c), e.Ratio) || !closeTo(m.Low*math.Exp(c), e.Low) || !closeTo(m.High*math.Exp(c), e.High) {
			t.Fatalf("moved by %g: %+v became %+v", c, e, m)
		}
		if nearEnd := closeTo(m.Low, 1) || closeTo(m.High, 1); nearEnd || !e.Bounded() {
			return // on the very end, rounding of x − c decides
		}
		if (m.P <= m.Level) != (e.Low > math.Exp(c) || e.High < math.Exp(c)) {
			t.Fatalf("p of ratio %g is %g, interval [%g, %g]", math.Exp(c), m.P, e.Low, e.High)
		}
	})
}

// Swapping the arms inverts the ratio and the interval, and leaves p alone; the order
// of the rounds does not matter.
func TestPairedSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawRounds(t)
		e := mustPaired(t, logs, 0.95)
		swapped := make([]float64, len(logs))
		for i, x := range logs {
			swapped[len(logs)-1-i] = -x
		}
		s := mustPaired(t, swapped, 0.95)
		want := Effect{Ratio: 1 / e.Ratio, P: e.P, Confidence: e.Confidence}
		if e.Bounded() {
			want.Low, want.High = 1/e.High, 1/e.Low
		}
		if !sameEffect(s, want) {
			t.Fatalf("got %+v\nwant %+v", s, want)
		}
	})
}

// P is the textbook p for any way to break ties and zeros, or more: here they are
// broken by small steps that keep every other order.
func TestPairedResolvesTiesAgainstADifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(-3, 5), 2, 14).Draw(t, "steps")
		tied, broken := make([]float64, len(steps)), make([]float64, len(steps))
		for i, s := range steps {
			tied[i] = float64(s) / 128
			broken[i] = tied[i] + rapid.Float64Range(-1e-6, 1e-6).Draw(t, "nudge")
		}
		if p, q := mustPaired(t, tied, 0.95).P, mustPaired(t, broken, 0.95).P; p < q {
			t.Fatalf("p = %g with ties, %g with ties broken", p, q)
		}
	})
}

// Without ties p is the share of the 2ⁿ sign patterns whose statistic is at least as
// far from its middle as the observed one: the definition, by brute force.
func TestPairedAgreesWithSignFlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(1, 1000), 1, 10, rapid.ID).Draw(t, "sizes")
		signs := rapid.UintRange(0, 1<<len(sizes)-1).Draw(t, "signs")
		ranks, _ := midranks(toFloats(sizes))
		logs := make([]float64, len(sizes))
		for i, s := range sizes {
			logs[i] = float64(s) / 1000
			if signs>>i&1 == 0 {
				logs[i] = -logs[i]
			}
		}
		observed := math.Abs(signedRanks(ranks, signs))
		extreme := 0
		for flips := range uint(1) << len(sizes) {
			if math.Abs(signedRanks(ranks, flips)) >= observed {
				extreme++
			}
		}
		want := float64(extreme) / float64(uint(1)<<len(sizes))
		if got := mustPaired(t, logs, 0.95).P; got != want {
			t.Fatalf("p = %g, want %g", got, want)
		}
	})
}

func signedRanks(ranks []float64, signs uint) (sum float64) {
	for i, r := range ranks {
		sum += r * (2*float64(signs>>i&1) - 1)
	}
	return sum
}

func toFloats(ints []int) []float64 {
	fs := make([]float64, len(ints))
	for i, n := range ints {
		fs[i] = float64(n)
	}
	return fs
}
