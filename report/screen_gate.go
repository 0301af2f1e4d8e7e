package report

import (
	"fmt"

	"contend/internal/unit"
)

// gateDoes is how often a gate is wrong, and what it finds.
func (c *Calibration) gateDoes() string {
	return fmt.Sprintf("A gate here accuses %s of unchanged commits, and finds %s", c.accuses(1), slowdowns(c.Gate.Finds))
}

// accuses is the share of unchanged commits that so many comparisons accuse.
func (c *Calibration) accuses(comparisons int) string {
	if c.Gate.Accused == 0 {
		return "fewer than " + unit.Percent(1/float64(max(1, c.Gate.Replays)))
	}
	return unit.Percent(c.Gate.Accuses(comparisons))
}

// slowdowns says which are found.
func slowdowns(slowdown float64) string {
	if slowdown == 0 {
		return "no slowdown reliably"
	}
	return "9 of 10 slowdowns of " + unit.Percent(slowdown)
}

// gateTable has a gate that compares once, and one that compares again before it accuses.
func (c *Calibration) gateTable() table {
	t := table{columns: []string{"", "accuses unchanged commits", "finds"}}
	for i, finds := range []float64{c.Gate.Finds, c.Gate.FindsTwice} {
		name := []string{"one comparison", "a second must agree"}[i]
		t.rows = append(t.rows, []string{name, c.accuses(i + 1), slowdowns(finds)})
	}
	return t
}

// gateInWords says how a gate was judged.
func (c *Calibration) gateInWords() string {
	return fmt.Sprintf("A gate was replayed %s with whole comparisons of equal servers, at most %s together, each ending as contend compare does: %d were SLOWER.",
		plural(c.Gate.Replays, "time"), plural(c.Gate.Rounds, "round"), c.Gate.Accused)
}
