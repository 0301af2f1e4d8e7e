package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
	"contend/trial"
)

// comparisons writes the verdicts. Warnings that results already show are not
// repeated.
func comparisons(v *view, list []trial.Comparison, cells []trial.Cell) {
	interval, together := "interval", ""
	known, found := ofCells(cells), new(findings)
	t := table{}
	for _, c := range list {
		if c.Bounded() && (c.Primary || interval == "interval") {
			interval = ci(c.Level)
		}
		if !c.Primary {
			together = "; intervals and p of all metrics but the first are simultaneous"
		}
		t.rows = append(t.rows, comparisonRow(c))
		list := c.Warnings
		if c.Reason != nil {
			list = append([]finding.Warning{*c.Reason}, list...)
		}
		for _, w := range list {
			where := named(cmp.Or(w.Arm, c.Candidate), c.Concurrency)
			if w.Arm = ""; !known.knows(w, where) {
				found.add(w, where)
			}
		}
	}
	t.columns = []string{"variant", "concurrency", "metric", "value", "baseline", "difference", interval, "p", "verdict"}
	how := fmt.Sprintf("in interleaved blocks, round by round (%s)", plural(rounds(list), "round"))
	if finding.NotInterleaved.In(list[0].Warnings) {
		how = "NOT interleaved: each side was measured separately"
	}
	v.say("Compared with the baseline %s %s; value is the baseline's, changed by the difference%s; differences up to %s count as equal%s:",
		list[0].Baseline, how, asMeasured(list), margins(list), together)
	v.table(t)
	found.write(v)
	factors(v, list)
}

// asMeasured says which values are not the baseline's, changed by the difference, if there are any.
func asMeasured(list []trial.Comparison) string {
	if slices.ContainsFunc(list, func(c trial.Comparison) bool { return c.Verdict == stat.Invalid }) {
		return " (if INVALID, as measured)"
	}
	return ""
}

// margins says what counts as the same: ±2%, of some metrics ±0.5%.
func margins(list []trial.Comparison) string {
	var parts []string
	for i, alike := range byMargin(list) {
		text := "±" + unit.Percent(alike[0].Margin)
		if i > 0 {
			text = "of " + enumerated(distinct(alike, func(c trial.Comparison) string { return c.Metric.Words() })) + " " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func rounds(list []trial.Comparison) int {
	most := 0
	for _, c := range list {
		most = max(most, len(c.RoundLogRatios))
	}
	return most
}

func comparisonRow(c trial.Comparison) []string {
	verdict := string(c.Verdict)
	if c.Reason != nil {
		verdict += " " + c.Reason.Code
	}
	if c.Verdict == stat.Inconclusive && c.RoundsNeeded > 0 {
		verdict += fmt.Sprintf(" (about %s)", more(c))
	}
	difference, interval, p := "-", "-", "-"
	if c.Rounds > 0 {
		difference, p = signedAs(c.Effect)(c.Ratio), chance(c.P)
	}
	if c.Bounded() {
		interval = signedAs(c.Effect)(c.Low) + " … " + signedAs(c.Effect)(c.High)
	}
	return []string{c.Candidate, unit.Count(c.Concurrency), c.Metric.Words(),
		measured(c, c.CandidateValue), measured(c, c.BaselineValue), difference, interval, p, verdict}
}

// measured shows no value where an arm has none: then it is 0 and the verdict
// is refused.
func measured(c trial.Comparison, value float64) string {
	if value == 0 && c.Reason != nil {
		return "-"
	}
	return c.Metric.Format(value)
}

// chance writes a p value.
func chance(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// more says how much longer a comparison should go on.
func more(c trial.Comparison) string {
	if c.TimeNeeded == 0 {
		return plural(c.RoundsNeeded, "more round")
	}
	return roughly(c.TimeNeeded) + " more"
}

// beyond says that what a comparison needs cannot be run.
func beyond(c trial.Comparison) string {
	if !c.OutOfReach() {
		return ""
	}
	return fmt.Sprintf(", beyond the limit of %s rounds", unit.Count(trial.MostRounds))
}

// roughly is a time in whole seconds, minutes, hours or days.
func roughly(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", math.Ceil(d.Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	case d < 72*time.Hour:
		return fmt.Sprintf("%.0f h", math.Ceil(d.Hours()))
	}
	return fmt.Sprintf("%s days", unit.Count(int64(math.Ceil(d.Hours()/24))))
}
