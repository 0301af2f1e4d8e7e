package report

import (
	"fmt"
	"math"

	"contend/internal/unit"
	"contend/metric"
	"contend/report/chart"
	"contend/stat"
)

// calibrationPictures are what was learnt of the machine.
func (d *Document) calibrationPictures() []picture {
	var list pictureList
	if c := d.Calibration; c != nil && d.Command == "calibrate" {
		list.add(c.visiblePicture())
		list.add(c.equalsPicture())
		list.add(c.lengthsPicture())
	}
	return list
}

func shareAxis(label string) chart.Axis {
	return chart.Axis{Label: label, Zero: true, Format: func(x float64) string { return unit.Percent(x / 100) }}
}

// visiblePicture has the smallest difference of each metric that comparisons see.
func (c *Calibration) visiblePicture() (picture, bool) {
	rows := chart.Rows{Bars: true, X: shareAxis("smallest difference that is seen"), Alt: "Smallest differences that are seen: "}
	t := table{columns: []string{"metric", "smallest difference"}}
	for _, seen := range c.Visible {
		if seen.Smallest > 0 {
			rows.Rows = append(rows.Rows, chart.Row{Name: seen.Metric.Words(), Value: 100 * seen.Smallest, Text: unit.Percent(seen.Smallest)})
			rows.Alt += seen.Metric.Words() + " " + unit.Percent(seen.Smallest) + ". "
			t.rows = append(t.rows, []string{seen.Metric.Words(), unit.Percent(seen.Smallest)})
		}
	}
	return picture{title: "What comparisons can see", svg: rows.SVG(), table: t,
		how: fmt.Sprintf("A difference of that size is found by %s of %s with a chance of 90%%.", plural(c.PlannedRounds, "round"), c.round())}, len(rows.Rows) > 0
}

// equalsPicture has what each comparison of equal servers saw of the judged metric.
func (c *Calibration) equalsPicture() (picture, bool) {
	axis := ratioAxis{}
	rounds := chart.Series{Name: "a round", Style: chart.Dots, Small: true, Colour: 5}
	all := chart.Series{Name: "all rounds", Style: chart.Dots}
	alarms := chart.Series{Name: "false alarm", Style: chart.Dots, Colour: 1}
	t := table{columns: []string{"comparison", "difference", "verdict"}}
	n := 0
	var m metric.Name
	for _, found := range c.Comparisons {
		if !found.Primary || len(found.RoundLogRatios) == 0 {
			continue
		}
		n, m = n+1, found.Metric
		sum := 0.0
		for _, log := range found.RoundLogRatios {
			sum += log
			rounds.Points = append(rounds.Points, chart.Point{X: float64(n), Y: axis.of(math.Exp(log))})
		}
		ratio := math.Exp(sum / float64(len(found.RoundLogRatios)))
		p := chart.Point{X: float64(n), Y: axis.of(ratio), Note: fmt.Sprintf("%d: %s, %s", n, unit.Change(ratio), found.Verdict)}
		switch found.Verdict {
		case stat.Equivalent, stat.Inconclusive, stat.Invalid:
			all.Points = append(all.Points, p)
		default:
			alarms.Points = append(alarms.Points, p)
		}
		t.rows = append(t.rows, []string{fmt.Sprint(n), unit.Change(ratio), string(found.Verdict)})
	}
	if n == 0 {
		return picture{}, false
	}
	pic := chart.Chart{X: chart.Axis{Label: "comparison of equal servers"}, Y: axis.axis("difference in " + m.ShortWords()), Marks: []chart.Mark{{At: 0}},
		Series: []chart.Series{rounds, all, alarms}, Alt: fmt.Sprintf("What %s of equal servers saw: %s", plural(n, "comparison"), falseAlarms(c.Alarms))}
	return picture{title: "Equal servers", svg: pic.SVG(), legend: chart.Legend(pic.Series), table: t,
		how: "Both sides were equal, so whatever lies off the broken line is noise of this machine."}, true
}

// lengthsPicture has the spread of rounds by the length of their blocks.
func (c *Calibration) lengthsPicture() (picture, bool) {
	rows := chart.Rows{Bars: true, X: shareAxis("spread of a round"), Alt: "Spread of a round by the length of a block: "}
	t := table{columns: []string{"block", "spread of a round", "which"}}
	for _, l := range c.Lengths {
		row := chart.Row{Name: unit.Duration(float64(l.Block)), Value: 100 * l.RoundSpread, Text: unit.Percent(l.RoundSpread)}
		chosen := ""
		if l.Chosen {
			chosen = "chosen"
			row.Name, row.Colour = row.Name+", chosen", 2
		}
		rows.Rows = append(rows.Rows, row)
		rows.Alt += row.Name + " " + row.Text + ". "
		t.rows = append(t.rows, []string{unit.Duration(float64(l.Block)), row.Text, chosen})
	}
	return picture{title: "Length of a block", svg: rows.SVG(), table: t,
		how: "Each was measured for the same time: the shortest is chosen that spreads no wider than the best, as far as so many rounds can tell."}, len(rows.Rows) > 0
}
