package report

import (
	"cmp"
	"fmt"
	"time"

	"contend/expect"
)

// experiment writes one experiment: our figures, the published ones beside
// them, and what follows in words.
func (d *Document) experiment(v *view, e Experiment) {
	v.title("%s: %s", e.ID, e.Title)
	if e.Question != "" {
		v.say("%s", e.Question)
	}
	if e.Source != "" {
		v.say("Published by: %s.", e.Source)
	}
	switch e.Status {
	case "planned":
		v.say("PLANNED: this experiment cannot be run yet.")
		return
	case "interrupted":
		v.say("INTERRUPTED: what follows was measured until then.")
	}
	if e.Error != "" && d.failure() == "" {
		v.say("FAILED: %s", e.Error)
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
	if sentences := d.verdicts(e); len(sentences) > 0 {
		v.head("Verdict")
		for _, s := range sentences {
			v.bullet("%s", s)
		}
	}
	if e.Profile != "" {
		v.say("%s: profile %s, %v.", e.ID, e.Profile, e.Elapsed.Round(100*time.Millisecond))
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
		return "held: " + text
	}
	return fmt.Sprintf("FAILED: %s: %s", text, x.Detail)
}

// verdicts says the primary comparisons of an experiment in words.
func (d *Document) verdicts(e Experiment) []string {
	var list []string
	for _, c := range d.Comparisons {
		if c.Experiment == e.ID && c.Primary {
			list = append(list, inWords(c, len(e.Parts) > 1))
		}
	}
	return list
}

// summary lists the experiments with their verdicts once more, where the eye
// ends on a terminal.
func (d *Document) summary(v *view) {
	v.title("Summary")
	for _, e := range d.Experiments {
		v.head("%s: %s", e.ID, e.Status)
		for _, s := range d.verdicts(e) {
			v.bullet("%s", s)
		}
		for _, x := range e.Expectations {
			if !x.Held {
				v.bullet("%s", outcome(x))
			}
		}
		if e.Error != "" {
			v.bullet("FAILED: %s", e.Error)
		}
	}
}
