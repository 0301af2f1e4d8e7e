package count

import (
	"testing"

	"contend/finding"
	"contend/load"
	"contend/trial"
)

// Servers that answer otherwise do not do the same work, unless that is allowed, or it is not known what one answered.
func TestAnswersDiffer(t *testing.T) {
	answered := func(status int) trial.Cell {
		counts := load.NewCounts()
		counts.Answers = &load.Answers{Kinds: []load.AnswerKind{{Status: status, Count: 100}}, Bodies: []load.Bodies{{Count: 100, Bytes: 1000}}}
		return trial.Cell{Result: &load.Result{Counts: counts}}
	}
	for _, tt := range []struct {
		name      string
		candidate *trial.Cell
		may       bool
		want      bool
	}{
		{"the same", new(answered(200)), false, false},
		{"another status", new(answered(201)), false, true},
		{"another status, which may be", new(answered(201)), true, false},
		{"not known", nil, false, false},
	} {
		c := &counter{Options: Options{AnswersMayDiffer: tt.may}, answered: map[string]trial.Cell{"A": answered(200)}}
		if tt.candidate != nil {
			c.answered["B"] = *tt.candidate
		}
		if got := c.answersDiffer("A", "B"); got.Is(finding.AnswersDiffer) != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
