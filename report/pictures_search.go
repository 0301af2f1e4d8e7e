package report

import (
	"fmt"

	"contend/expect"
	"contend/internal/unit"
	"contend/metric"
	"contend/report/chart"
	"contend/search"
)

// attempts are the metric of the first objective over the rates that were tried, by their outcome.
func attempts(s search.Result) (picture, bool) {
	m := append(s.Metrics(), metric.ResponseP99)[0]
	t := table{columns: []string{"attempt", "rate", "outcome", m.ShortWords()}}
	var series []chart.Series
	for i, outcome := range []search.Outcome{search.Held, search.Missed, search.Doubted} {
		came := chart.Series{Name: string(outcome), Style: chart.Dots, Colour: []int{2, 1, 5}[i]}
		for n, a := range s.Attempts {
			if value, known := m.Beside(a.Result); known && value > 0 && a.Outcome == outcome {
				came.Points = append(came.Points, chart.Point{X: a.RatePerSec, Y: value, Note: fmt.Sprintf("attempt %d: %s, %s", n+1, unit.Rate(a.RatePerSec), m.Format(value))})
			}
		}
		if len(came.Points) > 0 {
			series = append(series, came)
		}
	}
	for n, a := range s.Attempts {
		said := "-"
		if value, known := m.Beside(a.Result); known {
			said = m.Format(value)
		}
		t.rows = append(t.rows, []string{fmt.Sprint(n + 1), unit.Rate(a.RatePerSec), string(a.Outcome), said})
	}
	if len(t.rows) < 2 || len(series) == 0 {
		return picture{}, false
	}
	pic := chart.Chart{Alt: upper(m.Words()) + " by arrival rate", Series: series, X: chart.Axis{Label: "arrivals, 1/s (log scale)", Scale: chart.Log, Format: short},
		Y: chart.Axis{Label: m.ShortWords(), Scale: chart.Log, Format: tickOf(m)}}
	if s.HeldPerSec > 0 {
		pic.Alt += "; held: " + unit.Rate(s.HeldPerSec)
		pic.Marks = append(pic.Marks, chart.Mark{AlongX: true, At: s.HeldPerSec, Text: "held: " + unit.Rate(s.HeldPerSec)})
	}
	for _, text := range s.Design.Objectives {
		if b, err := expect.ParseBound(text); err == nil && b.Metric == m {
			pic.Marks = append(pic.Marks, chart.Mark{At: b.Value, Text: "objective: " + m.Format(b.Value)})
		}
	}
	return picture{title: "Attempts", svg: pic.SVG(), legend: chart.Legend(series), table: t,
		how: "Each dot is an attempt in a fresh process. Left of the upright line the rate holds; where dots rise, arrivals wait for those before them."}, true
}
