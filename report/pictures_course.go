package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/internal/unit"
	"contend/load"
	"contend/report/chart"
	"contend/report/plain"
	"contend/trial"
)

// overTime are the pictures of how a single run went.
func overTime(cell trial.Cell) []picture {
	c := cell.OverTime()
	if c == nil {
		return nil
	}
	full := *c
	full.Intervals = c.Intervals[:min(len(c.Intervals), c.Warmup+int(cell.Duration/c.Width))] // a part of an interval has no rate
	if c = &full; len(c.Intervals) < 2 {
		return nil
	}
	list := pictureList{answersOverTime(cell.Result, c)}
	list.add(responseOverTime(c))
	list.add(heatmap(c))
	list.add(errorsOverTime(c))
	if cell.Model == load.OpenModel {
		list.add(startLagOverTime(c))
	}
	list.add(cpuOverTime(c))
	return list
}

// A timeline is what pictures over time have in common: the x axis in seconds from the opening
// of the measured window, and the warm-up before it.
type timeline struct{ *load.Course }

func (t timeline) axis() chart.Axis { return chart.Axis{Label: "seconds of the run"} }

// at is the middle of an interval.
func (t timeline) at(i int) float64 {
	return (time.Duration(i-t.Warmup)*t.Width + t.Width/2).Seconds()
}

func (t timeline) warmup() []chart.Band {
	if t.Warmup == 0 {
		return nil
	}
	return []chart.Band{{AlongX: true, From: t.at(0) - t.Width.Seconds()/2, Text: "warm-up"}}
}

// seconds is when an interval begins, as in tables.
func (t timeline) seconds(i int) string {
	return unit.Exactly((time.Duration(i-t.Warmup) * t.Width).Seconds())
}

// perSec is a count of an interval as a rate.
func (t timeline) perSec(n int64) float64 { return float64(n) / t.Width.Seconds() }

// answersOverTime is the throughput, and what was dropped.
func answersOverTime(r *load.Result, c *load.Course) picture {
	t := timeline{c}
	right := chart.Series{Name: "throughput"}
	dropped := chart.Series{Name: "dropped", Colour: 3}
	rows := table{columns: []string{"second", "throughput", "dropped"}}
	for i, in := range c.Intervals {
		done := t.perSec(max(in.Ops, in.Completed) + in.Carried) // documents of contend/1 have no operations here
		right.Points = append(right.Points, chart.Point{X: t.at(i), Y: done})
		dropped.Points = append(dropped.Points, chart.Point{X: t.at(i), Y: t.perSec(in.Dropped)})
		rows.rows = append(rows.rows, []string{t.seconds(i), unit.Rate(math.Round(done)), unit.Count(in.Dropped)})
	}
	pic := chart.Chart{Alt: fmt.Sprintf("Throughput over time, %s on average", unit.Rate(r.ThroughputPerSec)),
		X: t.axis(), Y: chart.Axis{Label: "1/s", Zero: true, Format: short}, Series: []chart.Series{right}, Bands: t.warmup()}
	if r.Dropped > 0 {
		pic.Series = append(pic.Series, dropped)
	}
	return picture{title: "Throughput over time", svg: pic.SVG(), legend: chart.Legend(pic.Series), table: rows, plot: t.plot(pic.Series, false),
		how: fmt.Sprintf("What was answered in every %s. A level line is a steady server; gaps are stalls.", tickTime(float64(c.Width)))}
}

// errorsOverTime is what went wrong: wrong answers, and by kind what brought none; the most
// frequent first.
func errorsOverTime(c *load.Course) (picture, bool) {
	t := timeline{c}
	type reason struct {
		name string
		of   func(load.Interval) int64
		all  int64
	}
	reasons := []reason{{name: "wrong answer", of: func(in load.Interval) int64 { return in.Failed }}}
	for _, kind := range append(errkind.All(), "") {
		name := cmp.Or(string(kind), "errored") // documents of contend/1 know no kinds here
		reasons = append(reasons, reason{name: name, of: func(in load.Interval) int64 { return in.Errored[kind] }})
	}
	for i := range reasons {
		for _, in := range c.Intervals {
			reasons[i].all += reasons[i].of(in)
		}
	}
	reasons = slices.DeleteFunc(reasons, func(r reason) bool { return r.all == 0 })
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.all, a.all) })
	if reasons = reasons[:min(len(reasons), chart.Colours)]; len(reasons) == 0 {
		return picture{}, false
	}
	pic := chart.Chart{Alt: "Errors over time: ", X: t.axis(), Y: chart.Axis{Label: "1/s", Zero: true, Format: short}, Bands: t.warmup()}
	rows := table{columns: []string{"second"}}
	for n, r := range reasons {
		s := chart.Series{Name: r.name, Colour: (n + 1) % chart.Colours}
		for i, in := range c.Intervals {
			s.Points = append(s.Points, chart.Point{X: t.at(i), Y: t.perSec(r.of(in))})
		}
		pic.Series = append(pic.Series, s)
		pic.Alt += fmt.Sprintf("%s %s. ", r.name, unit.Count(r.all))
		rows.columns = append(rows.columns, r.name)
	}
	for i, in := range c.Intervals {
		row := []string{t.seconds(i)}
		for _, r := range reasons {
			row = append(row, unit.Count(r.of(in)))
		}
		rows.rows = append(rows.rows, row)
	}
	return picture{title: "Errors over time", svg: pic.SVG(), legend: chart.Legend(pic.Series), table: rows, plot: t.plot(pic.Series, false),
		how: "Answers that were wrong, and by its kind what brought none. A burst is an event, a level line a property of what is asked."}, true
}

// startLagOverTime is how late the arrivals of an open model began.
func startLagOverTime(c *load.Course) (picture, bool) {
	t := timeline{c}
	series := []chart.Series{{Name: "mean"}, {Name: "longest", Colour: 1}}
	rows := table{columns: []string{"second", "mean", "longest"}}
	for i, in := range c.Intervals {
		mean, longest := math.NaN(), math.NaN()
		if in.StartLagMax > 0 {
			mean, longest = float64(in.StartLagSum)/float64(in.Completed), float64(in.StartLagMax)
			rows.rows = append(rows.rows, []string{t.seconds(i), unit.Duration(mean), unit.Duration(longest)})
		}
		series[0].Points = append(series[0].Points, chart.Point{X: t.at(i), Y: mean})
		series[1].Points = append(series[1].Points, chart.Point{X: t.at(i), Y: longest})
	}
	if len(rows.rows) == 0 {
		return picture{}, false
	}
	pic := chart.Chart{Alt: "Start lag over time: mean and longest of each interval", X: t.axis(),
		Y: chart.Axis{Label: "start lag", Scale: chart.Log, Format: tickTime}, Series: series, Bands: t.warmup()}
	return picture{title: "Start lag over time", svg: pic.SVG(), legend: chart.Legend(series), table: rows, plot: t.plot(series, true),
		how: "How late arrivals began. It grows where all callers wait for answers, or where the generator has too little CPU."}, true
}

// responseOverTime are percentiles of each interval.
func responseOverTime(c *load.Course) (picture, bool) {
	t := timeline{c}
	series := []chart.Series{{Name: "p50"}, {Name: "p99", Colour: 1}, {Name: "p99.9", Colour: 2}}
	rows := table{columns: []string{"second", "p50", "p90", "p99", "p99.9", "max"}}
	for i, in := range c.Intervals {
		if in.Completed == 0 || in.ResponseMax == 0 {
			for n := range series {
				series[n].Points = append(series[n].Points, chart.Point{X: t.at(i), Y: math.NaN()})
			}
			continue
		}
		row := []string{t.seconds(i)}
		for _, d := range []time.Duration{in.ResponseP50, in.ResponseP90, in.ResponseP99, in.ResponseP999, in.ResponseMax} {
			row = append(row, unit.Duration(float64(d)))
		}
		rows.rows = append(rows.rows, row)
		for n, d := range []time.Duration{in.ResponseP50, in.ResponseP99, in.ResponseP999} {
			series[n].Points = append(series[n].Points, chart.Point{X: t.at(i), Y: float64(d)})
		}
	}
	if len(rows.rows) == 0 {
		return picture{}, false
	}
	pic := chart.Chart{Alt: "Response times over time: p50, p99 and p99.9 of each interval", X: t.axis(),
		Y: chart.Axis{Label: "response time", Scale: chart.Log, Format: tickTime}, Series: series, Bands: t.warmup()}
	return picture{title: "Response times over time", svg: pic.SVG(), legend: chart.Legend(series), table: rows, plot: t.plot(series, true),
		how: "Percentiles of the answers of each interval by itself: one that leaves the others is a stall or a collection of garbage."}, true
}

// heatmap is how many answers took how long, over time.
func heatmap(c *load.Course) (picture, bool) {
	h := c.Heatmap
	if h == nil || len(h.Edges) < 2 || len(h.Columns) == 0 {
		return picture{}, false
	}
	width := time.Duration(h.PerColumn) * c.Width
	pic, rows := heatOf(h)
	pic.Alt, pic.X = "Response times over time: how many answers took how long", timeline{c}.axis()
	pic.XEnds = [2]float64{(-time.Duration(h.Warmup) * width).Seconds(), (time.Duration(len(h.Columns)-h.Warmup) * width).Seconds()}
	if h.Warmup > 0 {
		pic.Bands = []chart.Band{{AlongX: true, From: pic.XEnds[0], Text: "warm-up"}}
	}
	return picture{title: "All answers", svg: pic.SVG(), table: rows,
		how: "The darker, the more answers took so long at that time: two bands are two kinds of answers, upright streaks are stalls."}, true
}

// heatOf is a heatmap drawn, without its x axis, and how many answers took how long.
func heatOf(h *load.Heatmap) (chart.Heat, table) {
	pic := chart.Heat{Y: chart.Axis{Label: "response time", Scale: chart.Log, Format: tickTime}, YEnds: [2]float64{max(1, float64(h.Edges[0])), float64(h.Edges[len(h.Edges)-1])}}
	rows := table{columns: []string{"response time from", "answers"}}
	for y := range len(h.Edges) - 1 {
		row, sum := make([]int64, len(h.Columns)), int64(0)
		for x, column := range h.Columns {
			if y < len(column) {
				row[x] = column[y]
				sum += column[y]
			}
		}
		pic.Counts = append(pic.Counts, row)
		rows.rows = append(rows.rows, []string{unit.Duration(float64(h.Edges[y])), unit.Count(sum)})
	}
	return pic, rows
}

// mostHeatmaps are those of rounds that a part has room for.
const mostHeatmaps = 4

// heatmapsOfRounds are how many answers of a variant took how long in each round.
func (d *Document) heatmapsOfRounds(at Place) []picture {
	var list pictureList
	for _, t := range d.Trials {
		if t.Place != at {
			continue
		}
		for _, level := range someLevels(t.Rounds) {
			if len(list) > 0 && len(list)+len(t.Arms) > mostHeatmaps {
				continue
			}
			for _, arm := range t.Arms[:min(len(t.Arms), mostHeatmaps)] {
				list.add(heatmapOfRounds(t, arm, level))
			}
		}
	}
	return list
}

func heatmapOfRounds(t Trials, arm string, level int) (picture, bool) {
	var rounds []*hist.Histogram
	for _, c := range t.Rounds {
		if c.Arm == arm && c.Concurrency == level && !c.Local {
			rounds = append(rounds, c.Response)
		}
	}
	h := load.HeatmapOf(rounds...)
	if len(rounds) < 2 || h == nil {
		return picture{}, false
	}
	pic, rows := heatOf(h)
	of := fmt.Sprintf("%s %s", plain.Line(arm), atConcurrency(level))
	pic.Alt, pic.X = "Response times by round: how many answers of "+of+" took how long", chart.Axis{Label: "rounds"}
	pic.XEnds = [2]float64{0, float64(len(h.Columns) * h.PerColumn)}
	return picture{title: "All answers of " + of, svg: pic.SVG(), table: rows,
		how: "The darker, the more answers took so long in that round: a round unlike the others is one in which the machine or the server was another."}, true
}

// cpuOverTime is how many cores generator and server kept busy.
func cpuOverTime(c *load.Course) (picture, bool) {
	t := timeline{c}
	sides := []struct {
		chart.Series
		of func(load.Interval) time.Duration
	}{{chart.Series{Name: "generator"}, func(in load.Interval) time.Duration { return in.GeneratorCPU }},
		{chart.Series{Name: "server", Colour: 1}, func(in load.Interval) time.Duration { return in.ServerCPU }}}
	rows := table{columns: []string{"second", "generator", "server"}}
	known := [2]bool{}
	for i, in := range c.Intervals {
		row := []string{t.seconds(i)}
		for n := range sides {
			cores := float64(sides[n].of(in)) / float64(c.Width)
			known[n] = known[n] || cores > 0
			sides[n].Points = append(sides[n].Points, chart.Point{X: t.at(i), Y: cores})
			row = append(row, fmt.Sprintf("%.2f", cores))
		}
		rows.rows = append(rows.rows, row)
	}
	var list []chart.Series
	for n, side := range sides {
		if known[n] {
			list = append(list, side.Series)
		}
	}
	if len(list) == 0 {
		return picture{}, false
	}
	pic := chart.Chart{Alt: "CPU time over time, in cores", X: t.axis(), Y: chart.Axis{Label: "cores", Zero: true}, Series: list, Bands: t.warmup()}
	return picture{title: "CPU over time", svg: pic.SVG(), legend: chart.Legend(list), table: rows,
		how: "How many cores were kept busy, looked at four times a second. A generator at all of its cores is measured, and not the server."}, true
}

// plot is what the script of the page draws a picture from, to be looked at closely: JSON with
// x in seconds and a row of values for each series.
func (t timeline) plot(list []chart.Series, times bool) string {
	type row struct {
		Name   string     `json:"name"`
		Values []*float64 `json:"values"`
	}
	plot := struct {
		X      []float64 `json:"x"`
		Series []row     `json:"series"`
		Times  bool      `json:"times"` // values are nanoseconds, on a logarithmic axis
		Warmup float64   `json:"warmup"`
	}{Times: times, Warmup: (time.Duration(t.Warmup) * t.Width).Seconds()}
	for i := range t.Intervals {
		plot.X = append(plot.X, t.at(i))
	}
	for _, s := range list {
		r := row{Name: s.Name, Values: make([]*float64, len(s.Points))}
		for i, p := range s.Points {
			if y := math.Round(p.Y); y == y {
				r.Values[i] = &y
			}
		}
		plot.Series = append(plot.Series, r)
	}
	text, _ := json.Marshal(plot) // of finite numbers
	return string(text)
}
