package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"contend/expect"
)

// experiment writes one experiment: what was measured here next to what was published, and what follows in words.
func (d *Document) experiment(v *view, e Experiment) {
	v.title("%s: %s", e.ID, e.Title)
	if e.Question != "" {
		v.say("%s", e.Question)
	}
	if e.Source != "" {
		v.say("Published by: %s.", e.Source)
	}
	if e.Status == "planned" {
		v.say("PLANNED: this experiment cannot be run yet.")
		return
	}
	if d.isLab() {
		d.answers(v, e)
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
		return "passed: " + text
	}
	if x.Excuse != nil {
		return fmt.Sprintf("undecided (%s): %s: %s", x.Excuse.Code, text, x.Excuse.Text)
	}
	return fmt.Sprintf("FAILED: %s: %s", text, x.Detail)
}

// labAnswer begins the view of experiments with what came out of each.
func (d *Document) labAnswer(v *view) {
	replies := d.replies()
	v.answer("%s", d.labSentence(replies))
	if len(replies) > 1 {
		v.say("%s", d.labTrust(replies))
		for i, e := range d.Experiments {
			v.bullet("%s: %s", e.ID, replies[i].said(e, len(replies[i].answer)))
		}
	}
	var refused []string
	for _, r := range replies {
		for _, remark := range slices.Concat(r.answer, r.beside) {
			if remark.code != "" && !slices.Contains(refused, remark.code) {
				refused = append(refused, remark.code)
			}
		}
	}
	d.advise(v, refused)
}

// answers writes what was published and measured to the question of an experiment, and what follows.
func (d *Document) answers(v *view, e Experiment) {
	r := d.reply(e)
	if text := e.Answer.published(); text != "" {
		v.say("Published: %s.", text)
	}
	v.say("Measured here: %s. %s", r.said(e, len(r.answer)), r.means())
}
