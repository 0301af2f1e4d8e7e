package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"contend/calibrate"
	"contend/internal/unit"
	"contend/stat"
)

// calibration writes all of a calibration where it is what was asked for, and
// otherwise what it says about the verdicts.
func (d *Document) calibration(v *view) {
	switch c := d.Calibration; {
	case c == nil:
	case d.Command == "calibrate":
		c.write(v)
	case len(d.Comparisons) > 0:
		v.say("%s", c.inWords(d.Comparisons))
	}
}

// inWords says how verdicts of this machine are to be read.
func (c *Calibration) inWords(list []Comparison) string {
	var rounds, below int
	for _, found := range list {
		rounds = max(rounds, found.Rounds)
	}
	var differences []string
	for _, seen := range c.Visible {
		compared, smallest := false, seen.In(rounds, c.Design.Confidence)
		for _, found := range list {
			if found.Metric != seen.Metric {
				continue
			}
			compared = true
			if found.Verdict == stat.Inconclusive && found.Rounds > 0 && math.Abs(math.Log(found.Ratio)) < math.Log1p(smallest) {
				below++
			}
		}
		if compared && !math.IsInf(smallest, 1) {
			differences = append(differences, fmt.Sprintf("%s and above in %s", unit.Percent(smallest), seen.Metric.Words()))
		}
	}
	text := fmt.Sprintf("This machine, calibrated %s: %s", c.Environment.Started.UTC().Format("2006-01-02"), falseAlarms(c.Alarms))
	if len(differences) > 0 {
		text += fmt.Sprintf("; %s of %s detect differences of %s", plural(rounds, "round"), c.round(), strings.Join(differences, ", "))
		if below > 0 {
			text += "; " + plural(below, "INCONCLUSIVE difference") + either(below == 1, " is", " are") + " smaller than that"
		}
	}
	return text + "."
}

// round says how long a round of the calibration was: 8 pairs of 50 ms.
func (c *Calibration) round() string {
	return plural(c.Design.Pairs, "pair") + " of " + unit.Duration(float64(c.Design.Block))
}

// falseAlarms says how often equal arms got a verdict that they differ.
func falseAlarms(a calibrate.Alarms) string {
	if a.Comparisons == 0 {
		return "none of its A/A comparisons came to a verdict"
	}
	return fmt.Sprintf("%s in %s (%s)", plural(a.Alarms, "false alarm"), plural(a.Comparisons, "A/A comparison"),
		unit.Percent(a.Low)+" to "+unit.Percent(a.High))
}

// write shows the study, the outcome of the A/A comparisons, and the spread of each metric in them.
func (c *Calibration) write(v *view) {
	a := c.Alarms
	c.lengths(v)
	if a.Comparisons+a.Invalid == 0 {
		return
	}
	v.say("Equal servers were compared in %s of %s, at %s confidence: %s, %d INCONCLUSIVE, %d EQUIVALENT, %d INVALID%s. From all rounds, for each metric, the spread, and the smallest difference that %s detect with a chance of 90%%:",
		plural(c.Design.Rounds, "round"), c.round(), unit.Percent(c.Design.Confidence), plural(a.Alarms, "false alarm"), a.Inconclusive,
		a.Comparisons-a.Alarms-a.Inconclusive, a.Invalid, c.refusals(), plural(c.PlannedRounds, "round"))
	t := table{columns: []string{"metric", "rounds", "spread of a round", "smallest difference", "alarms"}}
	for _, seen := range c.Visible {
		smallest := "-"
		if seen.Smallest > 0 {
			smallest = unit.Percent(seen.Smallest)
		}
		t.rows = append(t.rows, []string{seen.Metric.Words(), unit.Count(seen.Rounds), unit.Percent(seen.Spread), smallest, unit.Count(seen.Alarms)})
	}
	v.table(t)
	if c.Gate != nil {
		v.say("%s", c.gateInWords())
	}
	if m := c.Machine; m != nil {
		v.say("The machine during that time (%s): exchange between two cores %s, wake-up %s, arithmetic %s.", plural(m.Probes, "probe"),
			durations(m.RoundTrip), durations(m.Wakeup), durations(m.Loop))
	}
}

// refusals lists why comparisons were INVALID.
func (c *Calibration) refusals() string {
	codes := map[string]bool{}
	for _, found := range c.Comparisons {
		if found.Primary && found.Verdict == stat.Invalid && found.Reason != nil {
			codes[found.Reason.Code] = true
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(codes)), ", ") + ")"
}

func durations(r calibrate.DurationRange) string {
	return unit.Duration(float64(r.Low)) + " … " + unit.Duration(float64(r.High))
}

// lengths shows what the study of block lengths found.
func (c *Calibration) lengths(v *view) {
	t := table{columns: []string{"block", "pairs", "spread of a pair", "spread of a round", ""}}
	rounds := 0
	for _, l := range c.Lengths {
		rounds = max(rounds, len(l.RoundLogRatios))
		pair, chosen := "-", ""
		if l.PairSpread > 0 {
			pair = unit.Percent(l.PairSpread)
		}
		if l.Chosen {
			chosen = "chosen"
		}
		t.rows = append(t.rows, []string{unit.Duration(float64(l.Block)), unit.Count(l.Pairs), pair, unit.Percent(l.RoundSpread), chosen})
	}
	if rounds > 0 {
		v.say("Lengths of a block, each in %s with the same measured time; the shortest is chosen whose spread of a round is no wider than the best one's, as far as so many rounds can tell:",
			plural(rounds, "round"))
		v.table(t)
	}
}
