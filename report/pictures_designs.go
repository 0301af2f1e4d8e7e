package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/report/chart"
	"contend/report/plain"
)

// designPictures are what guards or pipelines did in this process.
func (d *Document) designPictures(at Place) []picture {
	var c *contest
	var classes []string
	switch d.Command {
	case "guard":
		c = d.guardContest()
	case "pipe":
		c = d.pipeContest()
	default:
		return nil
	}
	classOf := map[string]string{}
	for _, r := range d.Results {
		if r.Place == at && r.InProcess != nil {
			classOf[r.Target] = r.InProcess.Class
			if !slices.Contains(classes, r.InProcess.Class) {
				classes = append(classes, r.InProcess.Class)
			}
		}
	}
	var list pictureList
	for _, field := range c.fields() {
		for _, level := range c.levels() {
			list.add(c.picture(field, level, classes, classOf))
		}
	}
	return list
}

// picture are the designs of a field at a level, the fastest first.
func (c contest) picture(field string, level int, classes []string, classOf map[string]string) (picture, bool) {
	axis := chart.Axis{Label: c.columns[0] + " (log scale)", Scale: chart.Log, Format: short}
	value := func(e entrant) float64 { return e.perSec }
	how := "The longer the bar, the faster; each step of the axis is a multiple."
	if c.slow {
		axis.Format = tickTime
		value = func(e entrant) float64 { return 1e9 / e.perSec }
		how = "The shorter the bar, the faster; each step of the axis is a multiple. A colour is what a design guarantees."
	}
	rows := chart.Rows{Bars: true, X: axis}
	t := table{columns: []string{"design", c.columns[0], c.columns[1], "guarantees"}}
	for _, e := range c.ranked(field, level) {
		class := classOf[e.target]
		row := chart.Row{Name: plain.Line(e.name()), Value: value(e), Text: c.shown(e), Colour: max(0, slices.Index(classes, class)), Note: class}
		if e.doubt != nil {
			row.Faint, row.Text = true, "INVALID "+e.doubt.Code
		}
		rows.Rows = append(rows.Rows, row)
		beside := "-"
		if factor := c.beside(e); factor > 0 {
			beside = unit.Digits(factor)
		}
		t.rows = append(t.rows, []string{e.name(), row.Text, beside, class})
	}
	title := upper(strings.TrimSpace(field+" "+c.by) + " " + c.atLevel(level))
	if len(rows.Rows) == 0 {
		return picture{}, false
	}
	rows.Alt = fmt.Sprintf("%s: the fastest is %s, %s", title, rows.Rows[0].Name, rows.Rows[0].Text)
	p := picture{title: title, how: how, svg: rows.SVG(), table: t}
	if len(classes) > 1 {
		p.legend = chart.Key(classes)
	}
	return p, true
}
