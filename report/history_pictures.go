package report

import (
	"encoding/json"
	"math"

	"contend/history"
	"contend/metric"
	"contend/report/chart"
	"contend/report/plain"
)

// pictures are those of the first line: differences from the anchor, and how the machine changed meanwhile; or values as
// measured where there is no anchor.
func (h *History) pictures() []picture {
	l := h.Lines[0]
	m := metric.Name(l.Metric)
	if l.Last() == nil {
		return []picture{h.picture(l, m.Words()+" as measured", "Values as measured: the machine may have changed between two of them.", chart.Axis{Label: m.ShortWords(), Format: tickOf(m)}, false,
			func(p history.Point) (y, low, high float64) { return p.Value.Value, 0, 0 })}
	}
	var effects []Comparison
	for _, p := range l.Points {
		if p.Linked {
			effects = append(effects, Comparison{Comparison: againstAnchor(l, p)})
		}
	}
	var axis ratioAxis
	for _, c := range effects {
		axis.factors = axis.factors || asFactors(c.Effect)
	}
	return []picture{
		h.picture(l, m.Words()+" against the anchor "+shortHash(l.Anchor), "A dot is the difference from the anchor, which was measured in turns with it; the line is its interval. Machines have no part in it.",
			axis.axis("difference"), !axis.factors, func(p history.Point) (y, low, high float64) {
				if !p.Linked {
					return math.NaN(), 0, 0
				}
				c := againstAnchor(l, p)
				if c.Bounded() {
					low, high = axis.of(c.Low), axis.of(c.High)
				}
				return axis.of(c.Ratio), low, high
			}),
		h.picture(l, "the anchor itself: "+m.Words(), "The same build, measured each time: where it moves, the machine has changed and not the program.", chart.Axis{Label: m.ShortWords(), Format: tickOf(m)}, false,
			func(p history.Point) (y, low, high float64) {
				if p.Anchor != l.Anchor || !p.Value.Compared() {
					return math.NaN(), 0, 0
				}
				return p.Value.Baseline, 0, 0
			}),
	}
}

// picture draws a value of each point over commits, with the events of the machine.
func (h *History) picture(l history.Line, title, how string, y chart.Axis, percent bool, of func(history.Point) (y, low, high float64)) picture {
	c := chart.Chart{Alt: upper(title) + " over commits", Y: y, X: chart.Axis{Label: "commit", Format: func(x float64) string {
		if i := int(x); float64(i) == x && i >= 0 && i < len(l.Points) {
			return commitOf(l.Points[i])
		}
		return ""
	}}}
	s := chart.Series{Style: chart.Dots}
	t := table{columns: []string{"commit", "", ""}}
	plot := historyPlot{Percent: percent, Series: []plotSeries{{Name: plain.Line(title)}}}
	if percent {
		plot.Series = append(plot.Series, plotSeries{Name: "low"}, plotSeries{Name: "high"})
	}
	for i, p := range l.Points {
		value, low, high := of(p)
		note := titledPoint(p) + ": " + y.Format(value)
		s.Points = append(s.Points, chart.Point{X: float64(i), Y: value, Low: low, High: high, Note: plain.Line(note)})
		if event := eventOf(p); event != "" {
			c.Marks = append(c.Marks, chart.Mark{AlongX: true, At: float64(i) - 0.5})
			t.rows = append(t.rows, []string{"", "", "machine: " + event})
		}
		if value == value {
			t.rows = append(t.rows, []string{commitOf(p), y.Format(value), p.Subject})
		}
		plot.add(float64(i), plain.Line(titledPoint(p)), value, low, high)
	}
	c.Series = []chart.Series{s}
	if percent {
		c.Marks = append(c.Marks, chart.Mark{At: 0})
	}
	pic := picture{title: upper(title), how: how, svg: c.SVG(), table: t, wide: true}
	plot.Times = metric.Name(l.Metric).Kind() == metric.Time || metric.Name(l.Metric).Kind() == metric.Cost
	if percent || plot.Times || metric.Name(l.Metric).Kind() == metric.Rate { // others have units that report.js does not know
		text, _ := json.Marshal(plot) // of finite numbers
		pic.plot = string(text)
	}
	return pic
}

func commitOf(p history.Point) string {
	if p.Commit == "" {
		return p.Time.UTC().Format("01-02")
	}
	return shortHash(p.Commit)
}

// A historyPlot is what report.js draws again to be looked at closely.
type historyPlot struct {
	X       []float64    `json:"x"`
	Labels  []string     `json:"labels"` // of X
	Series  []plotSeries `json:"series"`
	Percent bool         `json:"percent"`
	Times   bool         `json:"times"` // values are nanoseconds
}

type plotSeries struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
}

func (h *historyPlot) add(x float64, label string, value, low, high float64) {
	h.X, h.Labels = append(h.X, x), append(h.Labels, label)
	for i := range h.Series {
		var known *float64
		if y := []float64{value, low, high}[i]; !math.IsNaN(y) && (i == 0 || low != high) {
			known = &y
		}
		h.Series[i].Values = append(h.Series[i].Values, known)
	}
}
