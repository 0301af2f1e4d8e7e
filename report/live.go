package report

import (
	"fmt"
	"slices"

	"contend/report/chart"
	"contend/report/page"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// Listen opens a page that shows a command while it is under way: what UnderWay writes, and in
// the end what HTML does.
func Listen(command string) (*page.Live, error) { return page.Listen(command, chart.CSS) }

// UnderWay returns the pictures of a document that is not complete, for a page that Listen has
// opened, and of a lab what has been answered. They claim no verdict.
func (d *Document) UnderWay() string {
	var b markupWriter
	if d.isLab() && len(d.Experiments) > 0 {
		d.questions(&b)
	}
	soFar := *d
	soFar.Comparisons = nil
	var narrowing []picture
	for _, c := range d.Comparisons {
		if c.Place != (Place{}) || c.Rounds == 0 {
			continue
		}
		c.Verdict, c.Reason = stat.Inconclusive, nil
		soFar.Comparisons = append(soFar.Comparisons, c)
		if p, ok := asRoundsCameIn(c.Comparison); ok && len(narrowing) < mostPictures {
			narrowing = append(narrowing, p)
		}
	}
	pictures := soFar.pictures(Place{})
	if len(soFar.Comparisons) > 0 && len(pictures) > 0 {
		pictures[0].undecided()
	}
	b.pictures(slices.Concat(narrowing, pictures))
	return b.String()
}

// undecided has the picture of differences show that there is no verdict yet.
func (p *picture) undecided() {
	p.title += " so far, not decided"
	verdict := len(p.table.columns) - 1
	p.table.columns = p.table.columns[:verdict]
	for i, row := range p.table.rows {
		p.table.rows[i] = row[:verdict]
	}
}

// asRoundsCameIn shows how the interval narrows, next to the margin.
func asRoundsCameIn(c trial.Comparison) (picture, bool) {
	if !c.Primary || len(c.RoundLogRatios) < 2 || c.ChangedOver != nil {
		return picture{}, false
	}
	axis := ratioAxis{asFactors(c.Effect)}
	s := chart.Series{Style: chart.Dots}
	t := table{columns: []string{"rounds", "difference", "interval"}}
	for n := range c.RoundLogRatios {
		e, err := stat.Weighted(c.RoundLogRatios[:n+1], c.RoundWeights[:min(n+1, len(c.RoundWeights))], 1-c.Level)
		if err != nil {
			continue
		}
		point, within := chart.Point{X: float64(n + 1), Y: axis.of(e.Ratio)}, "-"
		if e.Bounded() {
			point.Low, point.High, within = axis.of(e.Low), axis.of(e.High), ofServers(c.Metric).interval(e)
		}
		s.Points = append(s.Points, point)
		t.rows = append(t.rows, []string{fmt.Sprint(n + 1), ofServers(c.Metric).change(e), within})
	}
	pic := chart.Chart{X: chart.Axis{Label: "rounds so far", Format: atWhole}, Y: axis.axis("difference in " + c.Metric.ShortWords()), Series: []chart.Series{s},
		Bands: []chart.Band{axis.margin(c.Margin)}, Marks: []chart.Mark{{At: axis.of(1)}}, Alt: sentence(c)}
	return picture{title: fmt.Sprintf("%s %s so far, not decided", plain.Line(c.Candidate), atConcurrency(c.Concurrency)), svg: pic.SVG(), table: t,
		how: "What all rounds until then say together, with its interval once there are enough of them; in the grey part a difference does not matter. It is decided at rounds that were fixed before, not here."}, true
}
