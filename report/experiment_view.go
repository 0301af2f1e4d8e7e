package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"contend/stat"
	"contend/trial"
)

// experiment writes one experiment: our figures, the published ones beside
// them, and what follows in words.
func (d *Document) experiment(v *view, e Experiment) {
	v.title("%s: %s", e.ID, e.Title)
	if e.Question != "" {
		v.say("%s", e.Question)
	}
	if e.Status == "planned" {
		v.say("Planned: this experiment cannot be run yet.")
		return
	}
	if e.Error != "" {
		v.say("FAILED: %s", e.Error)
	}
	for _, p := range e.Parts {
		if p.Title != "" {
			v.head("%s", p.Title)
		}
		d.place(v, Place{e.ID, p.Name})
	}
	for _, p := range e.Published {
		published(v, p, d.Cells(Place{e.ID, p.Part}))
	}
	for _, a := range e.Analyses {
		v.head("%s", a.Title)
		v.table(table{columns: a.Columns, rows: a.Rows, words: 1})
		for _, s := range a.Sentence {
			v.bullet("%s", s)
		}
	}
	expectations(v, e.Expectations)
	warnings(v, e.Warnings)
	if sentences := d.verdicts(e); len(sentences) > 0 {
		v.head("Verdict")
		for _, s := range sentences {
			v.bullet("%s", s)
		}
	}
	if e.Source != "" {
		v.say("Published by: %s. Profile %s, %v.", e.Source, e.Profile, e.Elapsed.Round(100*time.Millisecond))
	}
}

// published writes their figures beside ours. Levels that this profile did not
// run are counted, not listed.
func published(v *view, p Published, cells []trial.Cell) {
	v.head("Ours beside the published figures: %s", p.Title)
	v.say("Theirs: %s", p.Environment)
	t := table{columns: []string{"metric", "arm", "VUs", "ours", "theirs", "ours ÷ theirs", "comparable"}, words: 2}
	var because []string
	left := 0
	for _, m := range metricsOf(p.Rows) {
		for _, f := range p.Rows {
			if f.Metric != m {
				continue
			}
			if f.Ours == nil && f.Concurrency > 0 && len(cells) > 0 && !hasLevel(cells, f.Concurrency) {
				left++
				continue
			}
			comparable, reason := p.comparable(m)
			if reason != "" {
				because = note(because, reason)
				comparable += fmt.Sprintf(" (%d)", slices.Index(because, reason)+1)
			}
			t.rows = append(t.rows, append(f.cells(), comparable))
		}
	}
	v.table(t)
	for i, reason := range because {
		v.bullet("(%d) %s", i+1, reason)
	}
	if left > 0 {
		v.say("%d published figures are of levels that this profile does not run; --profile published runs them all.", left)
	}
}

func metricsOf(rows []PublishedFigure) []trial.Metric {
	var list []trial.Metric
	for _, f := range rows {
		if !slices.Contains(list, f.Metric) {
			list = append(list, f.Metric)
		}
	}
	return list
}

func hasLevel(cells []trial.Cell, n int) bool {
	return slices.ContainsFunc(cells, func(c trial.Cell) bool { return c.Concurrency == n })
}

// comparable returns the answer for a metric and the reason for it.
func (p Published) comparable(m trial.Metric) (answer, because string) {
	for _, n := range p.Notes {
		if n.Metric == m || n.Metric == "" {
			if n.Comparable {
				return "yes", n.Because
			}
			return "no", n.Because
		}
	}
	return "yes", ""
}

func (f PublishedFigure) cells() []string {
	ours, ratio, vus := "not measured", "-", "-"
	if f.Ours != nil {
		ours = Value(f.Metric, *f.Ours)
	}
	if f.Ratio != nil {
		ratio = digits(*f.Ratio)
	}
	if f.Concurrency > 0 {
		vus = strconv.Itoa(f.Concurrency)
	}
	return []string{Name(f.Metric), f.Arm, vus, ours, Value(f.Metric, f.Theirs), ratio}
}

func expectations(v *view, list []trial.Expectation) {
	if len(list) == 0 {
		return
	}
	v.head("Expectations")
	for _, x := range list {
		if x.Held {
			v.bullet("held: %s", x.Text)
		} else {
			v.bullet("FAILED: %s (%s)", x.Text, x.Detail)
		}
	}
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

func inWords(c Comparison, withPart bool) string {
	where := fmt.Sprintf("at %d VUs", c.Concurrency)
	if withPart {
		where += " (" + c.Part + ")"
	}
	subject := fmt.Sprintf("%s against %s %s", c.Candidate, c.Baseline, where)
	interval := fmt.Sprintf("%s of %s", percent(c.Ratio), Name(c.Metric))
	if c.Bounded() {
		interval = fmt.Sprintf("%s of %s, 95 %% interval %s to %s", percent(c.Ratio), Name(c.Metric), percent(c.Low), percent(c.High))
	}
	switch c.Verdict {
	case stat.Invalid:
		return fmt.Sprintf("%s: INVALID %s: %s", subject, c.Reason.Code, c.Reason.Text)
	case stat.Equivalent:
		return fmt.Sprintf("%s: EQUIVALENT: %s: no difference larger than the margin of %.3g %%", subject, interval, 100*c.Margin)
	case stat.Inconclusive:
		more := "more rounds than are practical would be needed"
		if c.RoundsNeeded > 0 {
			more = fmt.Sprintf("about %d further rounds would settle it", c.RoundsNeeded)
		}
		return fmt.Sprintf("%s: INCONCLUSIVE: %s; %s", subject, interval, more)
	}
	return fmt.Sprintf("%s: %s: %s", subject, c.Verdict, interval)
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
		if e.Error != "" {
			v.bullet("%s", e.Error)
		}
	}
}
