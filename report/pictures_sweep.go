package report

import (
	"fmt"
	"slices"

	"contend/internal/unit"
	"contend/metric"
	"contend/report/chart"
	"contend/report/plain"
	"contend/sweep"
	"contend/usl"
)

// throughputCurve is the throughput of an arm over concurrency, with the fitted law.
func throughputCurve(c Curve) (picture, bool) {
	if len(c.Results) < 2 {
		return picture{}, false
	}
	visits := chart.Series{Name: "measured, once", Style: chart.Dots, Small: true, Colour: 5}
	for _, v := range c.Visits {
		if v.Doubt() == nil {
			visits.Points = append(visits.Points, chart.Point{X: float64(v.Concurrency), Y: v.ThroughputPerSec})
		}
	}
	levels := chart.Series{Name: "all of a level", Style: chart.Dots}
	t := table{columns: []string{"concurrency", "throughput", "p50", "p99"}}
	for _, r := range c.Results {
		levels.Points = append(levels.Points, chart.Point{X: float64(r.Concurrency), Y: r.ThroughputPerSec, Note: fmt.Sprintf("%d: %s", r.Concurrency, unit.Rate(r.ThroughputPerSec))})
		t.rows = append(t.rows, []string{unit.Count(r.Concurrency), unit.Rate(r.ThroughputPerSec), unit.Duration(float64(r.Response.Quantile(0.5))), unit.Duration(float64(r.Response.Quantile(0.99)))})
	}
	pic := chart.Chart{X: chart.Axis{Label: "concurrency (log scale)", Scale: chart.Log, Format: short}, Y: chart.Axis{Label: "throughput, 1/s", Zero: true, Format: short},
		Series: []chart.Series{visits, levels}}
	if c.Fit != nil {
		pic.Series = append(pic.Series, fitted(c.Curve))
		if c.Fit.Peak != nil && c.Fit.Peak.N.Interval != nil && c.Bound == nil {
			i := c.Fit.Peak.N.Interval
			pic.Bands = append(pic.Bands, chart.Band{AlongX: true, From: i.Low, To: i.High})
		}
	}
	if within := c.Design.Within; c.Best != nil && within > 0 {
		pic.Marks = append(pic.Marks, chart.Mark{At: c.Best.Throughput * (1 - within), Text: unit.Percent(within) + " below the best"})
	}
	refused := refusedLevels(c.Curve)
	first, _ := recommended(c.Curve)
	how := "Large dots are levels."
	if use := c.Recommended(); use != nil && len(refused) == 0 && c.Done() {
		pic.Marks = append(pic.Marks, useMark(use))
		how = "Beyond the upright line more callers gain little."
	}
	if c.Fit != nil {
		how += " The curve is the Universal Scalability Law"
		if len(pic.Bands) > 0 {
			how += ", and the grey part the interval of its peak"
		}
		how += "."
	}
	pic.Alt = "Throughput by concurrency. " + first
	title := "Throughput over concurrency"
	if c.Arm != "" {
		title += ": " + plain.Line(c.Arm)
	}
	return picture{title: title, svg: pic.SVG(), legend: chart.Legend(pic.Series), table: t, how: how}, true
}

func useMark(use *usl.Knee) chart.Mark {
	return chart.Mark{AlongX: true, At: use.N.Value, Text: "use " + unit.Number(use.N.Value)}
}

// fitted is the law between the lowest and the highest level.
func fitted(c sweep.Curve) chart.Series {
	s := chart.Series{Name: "fitted law", Colour: 1}
	low, high := max(1, float64(c.Results[0].Concurrency)), float64(c.Results[len(c.Results)-1].Concurrency)
	model := c.Fit.Model()
	for n := low; ; n = min(high, n*1.1) {
		if s.Points = append(s.Points, chart.Point{X: n, Y: model.Throughput(n)}); n >= high {
			return s
		}
	}
}

// responseCurve is the response time of an arm over concurrency.
func responseCurve(c Curve) (picture, bool) {
	if len(c.Results) < 2 {
		return picture{}, false
	}
	pic := chart.Chart{X: chart.Axis{Label: "concurrency (log scale)", Scale: chart.Log, Format: short}, Y: chart.Axis{Label: "response time", Scale: chart.Log, Format: tickTime},
		Alt: "Response time by concurrency"}
	t := table{columns: []string{"concurrency", "p50", "p90", "p99"}}
	for i, q := range []float64{0.5, 0.9, 0.99} {
		s := chart.Series{Name: fmt.Sprintf("p%g", 100*q), Colour: i}
		for _, r := range c.Results {
			if r.Response.Count() > 0 {
				value := float64(r.Response.Quantile(q))
				s.Points = append(s.Points, chart.Point{X: float64(r.Concurrency), Y: value, Note: fmt.Sprintf("%d: %s", r.Concurrency, unit.Duration(value))})
			}
		}
		pic.Series = append(pic.Series, s)
	}
	for _, r := range c.Results {
		row := []string{unit.Count(r.Concurrency)}
		for _, q := range []float64{0.5, 0.9, 0.99} {
			row = append(row, unit.Duration(float64(r.Response.Quantile(q))))
		}
		t.rows = append(t.rows, row)
	}
	if use := c.Recommended(); use != nil && len(refusedLevels(c.Curve)) == 0 && c.Done() {
		pic.Marks = append(pic.Marks, useMark(use))
	}
	return picture{title: "Response time over concurrency", svg: pic.SVG(), legend: chart.Legend(pic.Series), table: t,
		how: "What each answer pays for more callers: beyond the level to use, all of them wait longer."}, true
}

// picturesNextToPublished draws the published figures of a part and ours over concurrency.
func (d *Document) picturesNextToPublished(at Place) []picture {
	var list []picture
	for _, e := range d.Experiments {
		if e.ID != at.Experiment {
			continue
		}
		for _, p := range e.Published {
			if p.Part == at.Part {
				list = append(list, d.publishedPictures(p)...)
			}
		}
	}
	return list
}

func (d *Document) publishedPictures(p Published) []picture {
	var list []picture
	for _, m := range distinct(p.Rows, func(f PublishedFigure) metric.Name { return f.Metric }) {
		if may, _ := p.comparable(m); may != "yes" {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(p.Rows), func(f PublishedFigure) bool { return f.Metric != m || f.Concurrency == 0 || f.Theirs <= 0 })
		c := chart.Chart{X: chart.Axis{Label: "concurrency (log scale)", Scale: chart.Log, Format: short},
			Y: chart.Axis{Label: m.Words(), Scale: chart.Log, Format: tickOf(m)}, Alt: upper(m.Words()) + " by concurrency, published and ours"}
		t := table{columns: []string{"concurrency", "variant", "ours", "theirs", "ratio"}}
		points := 0
		for i, arm := range distinct(of, func(f PublishedFigure) string { return f.Arm }) {
			theirs := chart.Series{Name: plain.Line(arm) + ": published", Style: chart.Dots, Small: true, Colour: i}
			ours := chart.Series{Name: plain.Line(arm) + ": ours", Style: chart.Dots, Colour: i}
			for _, f := range of {
				if f.Arm != arm {
					continue
				}
				theirs.Points = append(theirs.Points, chart.Point{X: float64(f.Concurrency), Y: f.Theirs, Note: fmt.Sprintf("%s at %d: %s", plain.Line(arm), f.Concurrency, m.Format(f.Theirs))})
				if f.Ours != nil {
					points++
					ours.Points = append(ours.Points, chart.Point{X: float64(f.Concurrency), Y: *f.Ours, Note: fmt.Sprintf("%s at %d: %s", plain.Line(arm), f.Concurrency, m.Format(*f.Ours))})
				}
				t.rows = append(t.rows, append([]string{vus(f.Concurrency), arm}, f.cells()...))
			}
			c.Series = append(c.Series, theirs, ours)
		}
		pic := picture{title: upper(m.Words()) + ": published and ours", svg: c.SVG(), legend: chart.Legend(c.Series), table: t,
			how: "Small dots are theirs, large ones ours: look at the shape and at which one is above, since their machine was another one."}
		if levels := distinct(of, func(f PublishedFigure) int { return f.Concurrency }); len(levels) == 1 {
			rows := belowEachOther(m, c)
			pic.svg, pic.legend, pic.how = rows.SVG(), "", "What is pale is theirs: look at which one is ahead, since their machine was another one."
		}
		if points > 1 {
			list = append(list, pic)
		}
	}
	return list
}

// belowEachOther are series of a point each, in rows.
func belowEachOther(m metric.Name, c chart.Chart) chart.Rows {
	rows := chart.Rows{Alt: c.Alt, X: c.Y}
	for _, s := range c.Series {
		for _, p := range s.Points {
			rows.Rows = append(rows.Rows, chart.Row{Name: s.Name, Value: p.Y, Text: m.Format(p.Y), Colour: s.Colour, Faint: s.Small})
		}
	}
	return rows
}
