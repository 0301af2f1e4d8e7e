package report

import (
	"slices"
	"strings"

	"contend/finding"
	"contend/trial"
)

// care writes warnings that stand by themselves.
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

// addCode adds a warning unless there is one with its code.
func (f *findings) addCode(w finding.Warning) {
	if !slices.ContainsFunc(f.list, func(known located) bool { return known.Code == w.Code }) {
		f.add(w, "")
	}
}

// write lists the findings by code.
func (f *findings) write(v *view) {
	var codes []string
	for _, w := range f.list {
		if !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	for _, code := range codes {
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

// named says which result is meant: mutex at concurrency 10.
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
		for _, w := range c.Warnings {
			f.add(w, named(c.Arm, c.Concurrency))
		}
	}
	return f
}

// knows says whether the warning was found there.
func (f *findings) knows(w finding.Warning, where string) bool {
	return slices.ContainsFunc(f.list, func(known located) bool {
		return known.Warning == w && slices.Contains(known.where, where)
	})
}
