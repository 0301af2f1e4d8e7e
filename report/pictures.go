package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/chart"
	"contend/report/plain"
	"contend/trial"
)

// A picture is what a page shows of some figures: drawn, explained, and as a table.
type picture struct {
	title  string
	how    string // how to read it, in a sentence
	svg    string
	legend string
	table  table
	wide   bool   // it takes the whole width of a page
	plot   string // JSON for report.js, which draws it again to be looked at closely; "": it does not
}

// file is the picture as an SVG file of its own.
func (p picture) file() string {
	sized := strings.Replace(p.svg, "<svg ", fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" `, 2*chart.Width), 1)
	return strings.Replace(sized, ">", "><style>\n"+chart.CSS+"</style>\n", 1) + "\n"
}

// pictures are those of a part.
func (d *Document) pictures(at Place) []picture {
	list := slices.Concat(d.comparedPictures(at), d.becausePictures(at), d.sweptPictures(at), d.calibrationPictures(), d.designPictures(at), d.picturesNextToPublished(at))
	u := d.uplink(at)
	// In this process many operations make one answer, which says little about a moment.
	cells := slices.DeleteFunc(d.Cells(at), func(c trial.Cell) bool { return c.Local && u == nil })
	if !slices.ContainsFunc(d.Curves, func(c Curve) bool { return c.Place == at }) {
		list = append(list, costlyPictures(cells, u)...)
	}
	return append(list, d.heatmapsOfRounds(at)...)
}

// A list of pictures takes those that there are.
type pictureList []picture

func (list *pictureList) add(p picture, ok bool) {
	if ok {
		*list = append(*list, p)
	}
}

// comparedPictures are those of the comparisons of a part.
func (d *Document) comparedPictures(at Place) []picture {
	var list pictureList
	compared := d.comparedAt(at)
	list.add(differences(compared))
	rounds := 0
	for _, c := range compared {
		if c.Primary && rounds < mostRounds && len(list) < mostPictures {
			rounds += len(c.RoundLogRatios)
			list.add(d.roundPicture(at, c))
		}
	}
	for _, level := range someLevels(d.Cells(at)) {
		list.add(d.blocksOverTime(at, level))
	}
	return list
}

// sweptPictures are those of the sweeps and searches of a part.
func (d *Document) sweptPictures(at Place) []picture {
	var list pictureList
	for _, c := range d.Curves {
		if c.Place == at {
			list.add(throughputCurve(c))
			list.add(responseCurve(c))
		}
	}
	for _, s := range d.Searches {
		if s.Place == at {
			list.add(attempts(s.Result))
		}
	}
	return list
}

// costlyPictures are what answers cost, in time and of processors; of uplinks, u is not nil.
func costlyPictures(cells []trial.Cell, u *Uplink) []picture {
	var list pictureList
	for _, level := range someLevels(cells) {
		list.add(percentilePicture(cells, level))
		if u == nil {
			list.add(timeOfAnOperation(cells, level))
			list.add(instructionsOfAnOperation(cells, level))
		}
	}
	if u != nil {
		list.add(whatBecame(u, cells[0].Result))
		list.add(cpuOfPrograms(u, cells[0].Result))
		list.add(backlogOverTime(cells[0].Course))
	}
	for _, c := range cells {
		list = append(list, overTime(c)...)
	}
	for _, c := range cells[:min(len(cells), mostHeatmaps)] {
		of := ""
		if len(cells) > 1 {
			of = ": " + named(c.Arm, c.Concurrency)
		}
		list.add(workerColumns(c.Result, of))
	}
	return list
}

// mostPictures bounds the pictures of single comparisons in a part; a comparison with
// mostRounds rounds or more has none.
const (
	mostPictures = 7
	mostRounds   = 200
)

// comparedAt are the comparisons of a part that pictures can show.
func (d *Document) comparedAt(at Place) []trial.Comparison {
	var list []trial.Comparison
	for _, c := range d.Comparisons {
		if c.Place == at {
			list = append(list, c.Comparison)
		}
	}
	return list
}

// someLevels are the lowest, the highest and one between of the levels of cells.
func someLevels(cells []trial.Cell) []int {
	levels := distinct(cells, func(c trial.Cell) int { return c.Concurrency })
	slices.Sort(levels)
	if n := len(levels); n > 3 {
		return []int{levels[0], levels[n/2], levels[n-1]}
	}
	return levels
}

// percentilePicture has the response times of arms at a level, on the axis of HdrHistogram's plots.
func percentilePicture(cells []trial.Cell, level int) (picture, bool) {
	c := chart.Chart{X: chart.Axis{Label: "percentile", Scale: chart.Quantile, Format: inPercent},
		Y: chart.Axis{Label: "response time", Scale: chart.Log, Format: tickTime}}
	t := table{columns: []string{"percentile"}}
	shown := []float64{0.5, 0.9, 0.99, 0.999}
	for _, q := range shown {
		t.rows = append(t.rows, []string{inPercent(q)})
	}
	for _, cell := range cells {
		h := cell.Response
		if cell.Concurrency != level || h == nil || h.Count() == 0 || len(c.Series) == chart.Colours {
			continue
		}
		s := chart.Series{Name: plain.Line(cell.Arm), Colour: len(c.Series)}
		for _, q := range quantiles {
			if h.Count() > 1 && (1-q)*float64(h.Count()) >= 1 {
				s.Points = append(s.Points, chart.Point{X: q, Y: float64(h.Quantile(q)), Note: inPercent(q) + ": " + unit.Duration(float64(h.Quantile(q)))})
			}
		}
		if len(s.Points) == 0 {
			continue // a single answer has no percentiles
		}
		c.Series = append(c.Series, s)
		t.columns = append(t.columns, plain.Line(cell.Arm))
		for i, q := range shown {
			t.rows[i] = append(t.rows[i], unit.Duration(float64(h.Quantile(q))))
		}
		c.Alt += fmt.Sprintf("%s p50 %s, p99 %s. ", plain.Line(cell.Arm), unit.Duration(float64(h.Quantile(0.5))), unit.Duration(float64(h.Quantile(0.99))))
	}
	if len(c.Series) == 0 {
		return picture{}, false
	}
	if len(c.Series) == 1 {
		c.Series[0].Name, t.columns[1] = "", "response time"
	}
	c.Alt = "Response time by percentile: " + c.Alt
	title := "Response times"
	if !slices.ContainsFunc(cells, func(c trial.Cell) bool { return c.Model == load.OpenModel }) {
		title += " " + atConcurrency(level)
	}
	return picture{title: title, svg: c.SVG(), legend: chart.Legend(c.Series), table: t,
		how: "How long the slowest part of the answers takes: at 99% one in a hundred takes longer than the line is high."}, true
}

// quantiles are those of a line over percentiles.
var quantiles = func() []float64 {
	var list []float64
	for _, tail := range []float64{1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6} {
		for _, part := range []float64{1, 0.75, 0.5, 0.35, 0.25, 0.15} {
			list = append(list, 1-tail*part)
		}
	}
	return list
}()

// inPercent writes a quantile: 99.9%.
func inPercent(q float64) string {
	return fmt.Sprintf("%.10g%%", math.Round(q*1e10)/1e8)
}

// tickTime writes a time without zeros after the point: 20 ns, 1.5 ms.
func tickTime(ns float64) string { return withoutZeros(unit.Duration(ns)) }

// withoutZeros removes zeros after the point from a figure with its unit.
func withoutZeros(text string) string {
	number, unit, _ := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSuffix(number+" "+unit, " ")
}

// atWhole writes a number of rounds, and nothing between two.
func atWhole(x float64) string {
	if x != math.Trunc(x) {
		return ""
	}
	return fmt.Sprint(x)
}

// tickOf writes the ticks of an axis of a metric.
func tickOf(m metric.Name) func(float64) string {
	if m.Kind() == metric.Rate {
		return func(x float64) string { return short(x) + "/s" }
	}
	return func(x float64) string { return withoutZeros(m.Format(x)) }
}

// short writes an amount in four characters or so: 12k, 1.5M.
func short(x float64) string {
	switch {
	case math.Abs(x) >= 1e9:
		return withoutZeros(unit.Digits(x/1e9)) + "G"
	case math.Abs(x) >= 1e6:
		return withoutZeros(unit.Digits(x/1e6)) + "M"
	case math.Abs(x) >= 1e4:
		return withoutZeros(unit.Digits(x/1e3)) + "k"
	}
	return withoutZeros(unit.Number(x))
}
