package experiment

import (
	"math"
	"slices"
	"testing"

	"contend/metric"
)

// Under every profile but the quick one, which is for a first look, the rounds decide all
// metrics: n rounds have a p of at least 2^(1−n), and m metrics after the first are
// decided at a level of 0.05 ÷ m each. Errors are compared only if there are any.
func TestEmbeddedRoundsDecideAllMetrics(t *testing.T) {
	for _, f := range Embedded() {
		for _, profile := range Profiles()[1:] {
			for _, p := range f.Experiment(profile).Parts {
				if p.Swept || len(p.Arms) < 2 {
					continue
				}
				m := len(slices.DeleteFunc(slices.Clone(p.Design.Metrics), func(m metric.Name) bool { return m == metric.Errors })) - 1
				if least := math.Ldexp(1, 1-p.Design.Rounds); least*float64(max(1, m)) > 1-p.Design.Confidence {
					t.Errorf("%s, part %q, profile %s: %d rounds do not decide %d metrics beside the first", f.ID, p.Name, profile, p.Design.Rounds, m)
				}
			}
		}
	}
}
