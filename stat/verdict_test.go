package stat

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestDecide(t *testing.T) {
	sure := func(low, high float64) Effect {
		p := 0.5
		if low > 1 || high < 1 {
			p = 0.01
		}
		return Effect{Ratio: (low + high) / 2, Low: low, High: high, P: p, Level: 0.05, Confidence: 0.96}
	}
	tests := []struct {
		name   string
		effect Effect
		margin float64
		kind   Kind
		want   Verdict
	}{
		{"more throughput", sure(1.05, 1.10), 0.02, HigherIsFaster, Faster},
		{"less throughput", sure(0.90, 0.95), 0.02, HigherIsFaster, Slower},
		{"less time", sure(0.90, 0.95), 0.02, LowerIsFaster, Faster},
		{"more time", sure(1.05, 1.10), 0.02, LowerIsFaster, Slower},
		{"more memory", sure(1.05, 1.10), 0.02, Amount, More},
		{"less memory", sure(0.90, 0.95), 0.02, Amount, Less},
		{"significant but partly within the margin", sure(1.01, 1.05), 0.02, HigherIsFaster, Faster},
		{"significant but wholly within the margin", sure(1.01, 1.015), 0.02, HigherIsFaster, Equivalent},
		{"around 1 within the margin", sure(0.99, 1.01), 0.02, LowerIsFaster, Equivalent},
		{"around 1 beyond the margin", sure(0.99, 1.03), 0.02, LowerIsFaster, Inconclusive},
		{"on the margin", sure(1/1.02, 1.02), 0.02, LowerIsFaster, Equivalent},
		{"0.98 is further from 1 than 1.02", sure(0.98, 1.02), 0.02, LowerIsFaster, Inconclusive},
		{"touching 1 is not beyond it", sure(1, 1.05), 0.02, HigherIsFaster, Inconclusive},
		{"no margin", sure(0.999, 1.001), 0, HigherIsFaster, Inconclusive},
		{"no margin and no spread", sure(1, 1), 0, HigherIsFaster, Equivalent},
		{"no interval", Effect{Ratio: 2, P: 0.06, Level: 0.05}, 0.02, HigherIsFaster, Inconclusive},
		{"no interval, wide margin", Effect{Ratio: 1, P: 1, Level: 0.05}, 10, HigherIsFaster, Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Decide(tt.effect, tt.margin, tt.kind); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Swapping the arms swaps the verdict and nothing else; a direction is claimed only
// when the test rejects at the level.
func TestDecideProperties(t *testing.T) {
	opposite := map[Verdict]Verdict{
		Faster: Slower, Slower: Faster, More: Less, Less: More,
		Equivalent: Equivalent, Inconclusive: Inconclusive,
	}
	rapid.Check(t, func(t *rapid.T) {
		logs := drawRounds(t)
		margin := rapid.Float64Range(0, 0.3).Draw(t, "margin")
		kind := rapid.SampledFrom([]Kind{Amount, HigherIsFaster, LowerIsFaster}).Draw(t, "kind")
		swapped := make([]float64, len(logs))
		for i, x := range logs {
			swapped[i] = -x
		}
		e := mustPaired(t, logs, 0.95)
		got, mirrored := Decide(e, margin, kind), Decide(mustPaired(t, swapped, 0.95), margin, kind)
		if nearMargin := closeTo(e.High, 1+margin) || closeTo(e.Low, 1/(1+margin)); mirrored != opposite[got] && !nearMargin {
			t.Fatalf("%s, with the arms swapped %s", got, mirrored)
		}
		if got != Equivalent && got != Inconclusive && e.P > 0.05 {
			t.Fatalf("%s at p = %g", got, e.P)
		}
	})
}

// Eight rounds that agree have p = 2/256, as one of three 6/256. At a level of 0.05/3 =
// 4.3/256 the interval leaves out one mean at either end, 4/256, and three together miss
// in at most 12/256. Three rounds that agree have p = 2/8, 4 times that is 1.
func TestAmong(t *testing.T) {
	agreeing := []float64{0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08}
	alone := mustPaired(t, agreeing, 1-0.05/3)
	e := alone.Among(3)
	if !closeTo(e.P, 6.0/256) || !closeTo(e.Level, 0.05) || !closeTo(e.Confidence, 244.0/256) {
		t.Errorf("p %g at %g, confidence %g", e.P, e.Level, e.Confidence)
	}
	if e.Ratio != alone.Ratio || e.Low != alone.Low || e.High != alone.High {
		t.Errorf("%+v is not the effect of %+v", e, alone)
	}
	if e := mustPaired(t, agreeing[:3], 1-0.05/4).Among(4); e.P != 1 || e.Bounded() {
		t.Errorf("%+v", e)
	}
	if e := mustPaired(t, agreeing, 0.95); !reflect.DeepEqual(e, e.Among(1)) {
		t.Errorf("alone %+v, among one %+v", e, e.Among(1))
	}
}

// Verdict, interval and p never contradict each other, however many effects share the level.
func TestAmongAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawRounds(t)
		n := rapid.IntRange(1, 20).Draw(t, "n")
		level := rapid.Float64Range(0.001, 0.2).Draw(t, "level")
		e := mustPaired(t, logs, 1-level/float64(n)).Among(n)
		excludes := e.Bounded() && (e.Low > 1 || e.High < 1)
		if excludes != (e.P <= e.Level) {
			t.Fatalf("p %g at %g, interval [%g, %g]", e.P, e.Level, e.Low, e.High)
		}
		if told := Decide(e, 0, Amount); excludes != (told == More || told == Less) {
			t.Fatalf("%s at [%g, %g]", told, e.Low, e.High)
		}
		if e.Bounded() && e.Confidence < 1-level-1e-12 {
			t.Fatalf("confidence %g, want at least %g", e.Confidence, 1-level)
		}
	})
}

func TestWhatAVerdictSays(t *testing.T) {
	for v, want := range map[Verdict][2]bool{
		Faster: {true, false}, Slower: {true, true}, More: {true, true}, Less: {true, false}, Equivalent: {}, Inconclusive: {}, Invalid: {}, "": {},
	} {
		if got := [2]bool{v.Differs(), v.Worse()}; got != want {
			t.Errorf("%q: differs and is worse %v, want %v", v, got, want)
		}
	}
}
