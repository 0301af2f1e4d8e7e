package stat

import (
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
	corrected := sure(1.05, 1.10)
	corrected.P = 0.06
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
		{"not significant among several", corrected, 0.02, HigherIsFaster, Inconclusive},
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
