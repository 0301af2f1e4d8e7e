package report

import (
	"fmt"
	"math"
	"slices"

	"contend/internal/unit"
	"contend/report/chart"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// A ratioAxis shows ratios in per cent, or as factors where one of them is.
type ratioAxis struct{ factors bool }

func (a ratioAxis) axis(label string) chart.Axis {
	if a.factors {
		return chart.Axis{Label: label, Scale: chart.Log, Format: func(x float64) string { return "×" + withoutZeros(unit.Digits(x)) }}
	}
	return chart.Axis{Label: label, Format: func(x float64) string {
		if x == 0 {
			return "0%"
		}
		return fmt.Sprintf("%+.4g%%", x)
	}}
}

// of is the position of a ratio.
func (a ratioAxis) of(ratio float64) float64 {
	if a.factors {
		return ratio
	}
	return 100 * (ratio - 1)
}

// margin is the part of the axis in which a difference does not matter.
func (a ratioAxis) margin(m float64) chart.Band {
	return chart.Band{From: a.of(1 - m), To: a.of(1 + m)}
}

// mostDifferences are the rows of a picture of differences.
const mostDifferences = 14

// differences are those of a part with their intervals, the judged metric first.
func differences(list []trial.Comparison) (picture, bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(c trial.Comparison) bool { return c.Rounds == 0 && c.Verdict != stat.Invalid })
	slices.SortStableFunc(list, func(a, b trial.Comparison) int { return either01(b.Primary) - either01(a.Primary) })
	if len(list) == 0 || !list[0].Primary || !slices.ContainsFunc(list, func(c trial.Comparison) bool { return c.Verdict != stat.Invalid }) {
		return picture{}, false
	}
	rest := max(0, len(list)-mostDifferences)
	list = list[:len(list)-rest]
	axis := ratioAxis{slices.ContainsFunc(list, func(c trial.Comparison) bool { return c.Verdict != stat.Invalid && asFactors(c.Effect) })}
	several := func(of func(trial.Comparison) string) bool {
		return slices.ContainsFunc(list, func(c trial.Comparison) bool { return of(c) != of(list[0]) })
	}
	candidates := several(func(c trial.Comparison) string { return c.Candidate })
	levels := several(func(c trial.Comparison) string { return at(c) })
	first := list[0]
	rows := chart.Rows{X: axis.axis("difference from " + plain.Line(first.Baseline)), Mark: []chart.Mark{{AlongX: true, At: axis.of(1)}}, Band: axis.margin(first.Margin)}
	t := table{columns: []string{"metric", "baseline", "candidate", "difference", "interval", "verdict"}}
	for _, c := range list {
		name := c.Metric.Words()
		if candidates {
			name = plain.Line(c.Candidate) + ": " + name
		}
		if levels {
			name += " " + at(c)
		}
		row := chart.Row{Name: name, Value: math.NaN(), Colour: verdictColour(c), Faint: !c.Primary}
		said, within := "-", "-"
		if c.Verdict == stat.Invalid {
			row.Text = string(c.Verdict)
			if c.Reason != nil {
				row.Text += " " + c.Reason.Code
			}
		} else {
			row.Value, said, within = axis.of(c.Ratio), ofServers(c.Metric).change(c.Effect), ofServers(c.Metric).interval(c.Effect)
			row.Text, row.Note = said, within
			if c.Bounded() {
				row.Low, row.High = axis.of(c.Low), axis.of(c.High)
			}
		}
		if c.Primary {
			rows.Alt += sentence(c) + ". "
		}
		rows.Rows = append(rows.Rows, row)
		t.rows = append(t.rows, []string{name, measured(c, c.BaselineValue), measured(c, c.CandidateValue), said, within, string(c.Verdict)})
	}
	p := picture{title: "What differs", svg: rows.SVG(), table: t,
		how: fmt.Sprintf("A dot is the difference, its line the interval that holds the true one; in the grey part, ±%s, %s does not matter. What is pale was not asked for.", unit.Percent(first.Margin), first.Metric.Words())}
	if rest > 0 {
		p.how += fmt.Sprintf(" %s more are under all figures.", unit.Count(rest))
	}
	return p, true
}

func either01(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// verdictColour is red for what is worse, green for what is better.
func verdictColour(c trial.Comparison) int {
	switch c.Verdict {
	case stat.Slower, stat.More:
		return 1
	case stat.Faster, stat.Less, stat.Equivalent:
		return 2
	}
	return 5
}

// roundPicture has the differences of each round, and of each pair of blocks in it.
func (d *Document) roundPicture(at Place, c trial.Comparison) (picture, bool) {
	if len(c.RoundLogRatios) < 2 || c.ChangedOver != nil {
		return picture{}, false
	}
	axis := ratioAxis{asFactors(c.Effect)}
	each := chart.Series{Name: "a round", Style: chart.Dots}
	pairs := chart.Series{Name: "a pair of blocks in it", Style: chart.Dots, Small: true, Colour: 5}
	t := table{columns: []string{"round", "difference", "pairs", "from", "to"}}
	ofPairs := d.pairsOf(at, c)
	lowest, highest := slices.Min(c.RoundLogRatios), slices.Max(c.RoundLogRatios)
	room := max(highest-lowest, 2*math.Log1p(c.Margin))
	for i, log := range c.RoundLogRatios {
		round := i + 1
		logs := ofPairs[round]
		for n, pair := range logs {
			if len(logs) == 1 {
				break // it is the round
			}
			pairs.Points = append(pairs.Points, chart.Point{X: float64(round) + 0.6*(float64(n)+0.5)/float64(len(logs)) - 0.3, Y: axis.of(math.Exp(min(highest+room, max(lowest-room, pair))))})
		}
		each.Points = append(each.Points, chart.Point{X: float64(round), Y: axis.of(math.Exp(log)), Note: fmt.Sprintf("round %d: %s", round, unit.Change(math.Exp(log)))})
		row := []string{fmt.Sprint(round), unit.Change(math.Exp(log)), fmt.Sprint(len(logs)), "-", "-"}
		if len(logs) > 0 {
			row[3], row[4] = unit.Change(math.Exp(slices.Min(logs))), unit.Change(math.Exp(slices.Max(logs)))
		}
		t.rows = append(t.rows, row)
	}
	picked := chart.Chart{X: chart.Axis{Label: "round (fresh servers in each)", Format: atWhole}, Y: axis.axis("difference in " + c.Metric.ShortWords()),
		Bands:  []chart.Band{axis.margin(c.Margin)},
		Marks:  []chart.Mark{{At: axis.of(1)}},
		Series: []chart.Series{pairs, each},
		Alt:    fmt.Sprintf("%s of %s next to %s in %s: from %s to %s", upper(c.Metric.Words()), plain.Line(c.Candidate), plain.Line(c.Baseline), plural(len(c.RoundLogRatios), "round"), unit.Change(math.Exp(lowest)), unit.Change(math.Exp(highest)))}
	if len(pairs.Points) == 0 {
		picked.Series = picked.Series[1:]
	}
	return picture{title: fmt.Sprintf("Every round: %s %s", plain.Line(c.Candidate), atConcurrency(c.Concurrency)), svg: picked.SVG(), legend: chart.Legend(picked.Series), table: t,
		how: "If the large dots lie on both sides of the broken line, luck may explain the difference; a drift from left to right means that the machine or the servers changed. Pairs far outside lie at the edge."}, true
}

func (d *Document) pairsOf(at Place, c trial.Comparison) map[int][]float64 {
	for _, t := range d.Trials {
		if t.Place == at && len(t.Arms) > 0 && t.Arms[0] == c.Baseline && slices.Contains(t.Arms, c.Candidate) {
			return t.PairLogRatios(c.Metric, c.Candidate, c.Concurrency)
		}
	}
	return nil
}

// blocksOverTime are the throughputs of the blocks of a comparison, in the order in which they were.
func (d *Document) blocksOverTime(at Place, level int) (picture, bool) {
	for _, t := range d.Trials {
		if t.Place != at || !slices.ContainsFunc(t.Blocks, func(b trial.Cell) bool { return b.Concurrency == level && b.Start > 0 }) {
			continue
		}
		pic := chart.Chart{X: chart.Axis{Label: "seconds of the comparison"}, Y: chart.Axis{Label: "throughput, 1/s", Zero: true, Format: short}, Alt: "Throughput of each block: "}
		rows := table{columns: []string{"variant", "blocks", "throughput from", "to"}}
		for i, arm := range t.Arms[:min(len(t.Arms), chart.Colours)] {
			s := chart.Series{Name: plain.Line(arm), Style: chart.Dots, Small: true, Colour: i}
			least, most := math.Inf(1), 0.0
			for _, b := range t.Blocks {
				if b.Arm != arm || b.Concurrency != level || b.Start == 0 {
					continue
				}
				s.Points = append(s.Points, chart.Point{X: b.Start.Seconds(), Y: b.ThroughputPerSec})
				least, most = min(least, b.ThroughputPerSec), max(most, b.ThroughputPerSec)
			}
			if len(s.Points) > 0 {
				pic.Series = append(pic.Series, s)
				pic.Alt += fmt.Sprintf("%s from %s to %s. ", plain.Line(arm), unit.Rate(least), unit.Rate(most))
				rows.rows = append(rows.rows, []string{arm, unit.Count(len(s.Points)), unit.Rate(least), unit.Rate(most)})
			}
		}
		return picture{title: "Throughput over time " + atConcurrency(level), svg: pic.SVG(), legend: chart.Legend(pic.Series), table: rows,
			how: "Each dot is a block; they took turns. What both do together is the machine, what one does is the server."}, len(pic.Series) > 1
	}
	return picture{}, false
}
