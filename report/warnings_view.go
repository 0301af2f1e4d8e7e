package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/finding"
	"contend/report/plain"
	"contend/trial"
)

// care writes warnings in a section of their own.
func care(v *view, list []finding.Warning) {
	if len(list) > 0 {
		v.say("Read with care (contend explain CODE says what to do):")
	}
	warnings(v, list)
}

func warnings(v *view, list []finding.Warning) {
	for _, w := range list {
		v.bullet("%s: %v", w.Code, w)
	}
}

// findings are warnings of several results, each text once, with where it was
// found.
type findings struct {
	list   []located
	places int // that there are; 0: not known
}

type located struct {
	finding.Warning
	where []string
}

func (f *findings) add(w finding.Warning, where string) {
	i := slices.IndexFunc(f.list, func(known located) bool { return known.Warning == w })
	if i < 0 {
		i = len(f.list)
		f.list = append(f.list, located{Warning: w})
	}
	if where != "" && !slices.Contains(f.list[i].where, where) {
		f.list[i].where = append(f.list[i].where, where)
	}
}

// addCode adds a warning, or where it is, if there is one with its code.
func (f *findings) addCode(w finding.Warning, where string) {
	if i := slices.IndexFunc(f.list, func(known located) bool { return known.Code == w.Code }); i >= 0 {
		w = f.list[i].Warning
	}
	f.add(w, where)
}

// line is a line of a page, which names where the warning is unless it is everywhere.
func (f *findings) line(w located) string {
	line := fmt.Sprintf("%s (%s): %s", w.Code, strings.Join(w.where, ", "), w.Short())
	if n := len(w.where); n == 0 || n >= f.places || plain.Width(line) > textWidth-len(gutter) {
		return w.Code + ": " + w.Short()
	}
	return line
}

// ledByStall moves the caveat about delayed acknowledgements to below the status where a median response time is mostly
// such a delay: then that number describes a timer, whatever else is wrong.
func (s *screen) ledByStall(results []Result) {
	i := slices.IndexFunc(s.care.list, func(w located) bool { return w.Is(finding.DelayedAck) })
	if i < 0 || !slices.ContainsFunc(results, func(r Result) bool {
		return finding.DelayedAck.In(r.Warnings) && r.Service.Quantile(0.5) >= finding.AckDelayFrom && r.Service.Quantile(0.5) < 2*finding.AckDelayFrom
	}) {
		return
	}
	first := element{kind: caution, text: plain.Line(s.care.line(s.care.list[i]))}
	s.elements, s.care.list = slices.Insert(s.elements, 0, first), slices.Delete(s.care.list, i, i+1)
}

// write lists the findings by code.
func (f *findings) write(v *view) {
	for _, code := range distinct(f.list, func(w located) string { return w.Code }) {
		for _, w := range f.list {
			switch {
			case w.Code != code:
			case len(w.where) == 0:
				v.bullet("%s: %s", w.Code, w.Text)
			case len(w.where) > 2 && len(w.where) == f.places:
				v.bullet("%s (all): %s", w.Code, w.Text)
			default:
				v.bullet("%s (%s): %s", w.Code, strings.Join(w.where, "; "), w.Text)
			}
		}
	}
}

// named names the result: mutex at concurrency 10.
func named(arm string, concurrency int) string {
	at := atConcurrency(concurrency)
	if arm == "" {
		return at
	}
	return arm + " " + at
}

func ofCells(cells []trial.Cell) *findings {
	f := &findings{places: len(cells)}
	for _, c := range cells {
		for _, w := range c.Remarks() {
			f.add(w, named(c.Arm, c.Concurrency))
		}
	}
	return f
}

// knows reports whether the warning was found there.
func (f *findings) knows(w finding.Warning, where string) bool {
	return slices.ContainsFunc(f.list, func(known located) bool {
		return known.Warning == w && slices.Contains(known.where, where)
	})
}
