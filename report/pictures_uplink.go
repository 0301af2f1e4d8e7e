package report

import (
	"fmt"

	"contend/internal/unit"
	"contend/load"
	"contend/report/chart"
	"contend/report/plain"
)

// whatBecame are the uplinks that arrived, and those that did not as they should.
func whatBecame(u *Uplink, r *load.Result) (picture, bool) {
	rows := chart.Rows{Bars: true, Alt: "Uplinks: ", X: chart.Axis{Label: "uplinks", Zero: true, Format: short}}
	t := table{columns: []string{"uplinks", "number"}}
	for _, row := range []struct {
		name   string
		number int64
	}{{"arrived", r.Completed}, {"lost", r.Planned - r.Completed}, {"duplicated", u.Duplicated}, {"reordered", u.Reordered}, {"unsolved", u.Unsolved}} {
		text := unit.Count(row.number)
		rows.Rows = append(rows.Rows, chart.Row{Name: row.name, Value: float64(row.number), Text: text})
		rows.Alt += fmt.Sprintf("%s %s. ", text, row.name)
		t.rows = append(t.rows, []string{row.name, text})
	}
	return picture{title: "What became of the uplinks", svg: rows.SVG(), table: t,
		how: "Of those that arrived some were reordered: they came after a later one of the same device. An unsolved one had no right MIC among those of its challenge."}, r.Planned > 0
}

// cpuOfPrograms is what each of the programs that uplinks pass spends on one.
func cpuOfPrograms(u *Uplink, r *load.Result) (picture, bool) {
	if len(u.Parts) == 0 || r.Completed == 0 {
		return picture{}, false
	}
	rows := chart.Rows{Bars: true, Alt: "CPU time an uplink: ", X: chart.Axis{Label: "CPU time an uplink", Zero: true, Format: tickTime}}
	t := table{columns: []string{"program", "CPU time an uplink"}}
	for _, p := range u.Parts {
		each := p.CPUSec * 1e9 / float64(r.Completed)
		rows.Rows = append(rows.Rows, chart.Row{Name: plain.Line(p.Name), Value: each, Text: unit.Duration(each)})
		rows.Alt += fmt.Sprintf("%s %s. ", plain.Line(p.Name), unit.Duration(each))
		t.rows = append(t.rows, []string{p.Name, unit.Duration(each)})
	}
	return picture{title: "CPU time by program", how: "What each of the programs that an uplink passes spends on it.", svg: rows.SVG(), table: t}, true
}

// backlogOverTime is how many of the uplinks that arrived were on their way.
func backlogOverTime(c *load.Course) (picture, bool) {
	if c == nil || len(c.Intervals) < 2 {
		return picture{}, false
	}
	t := timeline{c}
	backlog := chart.Series{Name: "on their way"}
	rows := table{columns: []string{"second", "sent", "arrived", "on their way"}}
	waiting, known, most := int64(0), false, int64(0)
	for i, in := range c.Intervals {
		waiting += in.Planned - in.Completed
		known, most = known || in.Planned > 0, max(most, waiting)
		backlog.Points = append(backlog.Points, chart.Point{X: t.at(i) + c.Width.Seconds()/2, Y: float64(waiting)})
		rows.rows = append(rows.rows, []string{t.seconds(i), unit.Count(in.Planned), unit.Count(in.Completed), unit.Count(waiting)})
	}
	pic := chart.Chart{Alt: fmt.Sprintf("Uplinks on their way over time: %s at most", unit.Count(most)), X: t.axis(),
		Y: chart.Axis{Label: "uplinks", Zero: true, Format: short}, Series: []chart.Series{backlog}}
	return picture{title: "Backlog over time", svg: pic.SVG(), table: rows,
		how: "How many uplinks had been sent and had not arrived, those that never did left out. A line that keeps rising is a router that cannot keep up."}, known
}
