package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/stat"
	"contend/trial"
)

// factors says for each candidate and level what its CPU time per op is made of.
func factors(v *view, list []trial.Comparison) {
	for _, c := range list {
		if c.Factors != nil {
			v.bullet("%s", inFactors(c))
		}
	}
}

// inFactors says what the CPU time of an operation is made of, what moved first.
func inFactors(c trial.Comparison) string {
	var moved, others []string
	for _, f := range []struct {
		what   string
		effect stat.Effect
	}{
		{"instructions", c.Factors.Instructions}, {"cycles per instruction", c.Factors.CyclesPerInstruction},
		{"time per cycle", c.Factors.TimePerCycle},
	} {
		if f.effect.P <= f.effect.Level {
			moved = append(moved, fmt.Sprintf("%s %s (%s … %s)", f.what, signedAs(f.effect)(f.effect.Ratio), signedAs(f.effect)(f.effect.Low), signedAs(f.effect)(f.effect.High)))
		} else {
			others = append(others, f.what)
		}
	}
	text := fmt.Sprintf("%s against %s %s: CPU per op %s", c.Candidate, c.Baseline, atConcurrency(c.Concurrency), unit.Change(c.Ratio))
	if len(moved) > 0 {
		text += " = " + strings.Join(moved, " × ")
	}
	if len(others) > 0 {
		text += "; " + enumerated(others) + " inconclusive"
	}
	return text
}

// byMargin groups comparisons by what counts as the same, in the order of their
// first.
func byMargin(list []trial.Comparison) [][]trial.Comparison {
	var groups [][]trial.Comparison
	for _, c := range list {
		i := slices.IndexFunc(groups, func(g []trial.Comparison) bool { return g[0].Margin == c.Margin })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// enumerated joins words: a, b and c.
func enumerated(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
