package report

import (
	"cmp"
	"fmt"

	"contend/expect"
)

// experiment writes one experiment: what was measured here next to what was published, and what follows in words.
func (d *Document) experiment(v *view, e Experiment) {
	v.title("%s: %s", e.ID, e.Title)
	if e.Question != "" && d.Command != "lab" { // whose page has it
		v.say("%s", e.Question)
	}
	if e.Source != "" {
		v.say("Published by: %s.", e.Source)
	}
	if e.Status == "planned" {
		v.say("PLANNED: this experiment cannot be run yet.")
		return
	}
	for _, p := range e.Parts {
		if name := cmp.Or(p.Title, p.Name); name != "" {
			v.head("%s", name)
		}
		d.place(v, Place{e.ID, p.Name})
	}
	for _, p := range e.Published {
		published(v, p, d.Cells(Place{e.ID, p.Part}))
	}
	for _, a := range e.Analyses {
		v.head("%s", a.Title)
		v.table(table{columns: a.Columns, rows: a.Rows})
		for _, s := range a.Sentence {
			v.bullet("%s", s)
		}
	}
	expectations(v, e.Expectations)
	care(v, e.Warnings)
	if e.Profile != "" {
		v.say("%s: profile %s, %s.", e.ID, e.Profile, window(e.Elapsed))
	}
}

func expectations(v *view, list []expect.Expectation) {
	if len(list) == 0 {
		return
	}
	v.head("Expectations")
	for _, x := range list {
		v.bullet("%s", outcome(x))
	}
}

func outcome(x expect.Expectation) string {
	text := x.Text
	if x.Part != "" {
		text += " (" + x.Part + ")"
	}
	if x.Held {
		return "passed: " + text
	}
	if x.Excuse != nil {
		return fmt.Sprintf("undecided (%s): %s: %s", x.Excuse.Code, text, x.Excuse.Text)
	}
	return fmt.Sprintf("FAILED: %s: %s", text, x.Detail)
}
