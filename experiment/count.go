package experiment

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"contend/count"
	"contend/report"
	"contend/subject"
	"contend/trial"
)

// CallersOf has a part that counts instructions driven by count.Callers, unless their number was chosen.
func (p *Part) CallersOf(chosen bool) {
	if p.Count.Count && !chosen {
		p.Design.Levels = []int{count.Callers}
	}
}

// checkCount returns what stands in the way of counting instructions in a part.
func (p Part) checkCount(subjects map[string]Subject) (errs []error) {
	if !p.Count.Count {
		return nil
	}
	say := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	say(p.Plan.Pacer != nil || p.Plan.Think > 0, "counting instructions keeps servers busy: drop rate and think, or count")
	say(len(p.Design.Levels) > 1, "counting instructions takes one level of concurrency")
	say(p.Swept || p.fromDocuments() || len(p.Arms) < 2, "counting instructions compares two or more servers under one load")
	say(!slices.Equal(p.Design.Metrics, trial.NewDesign().Metrics) || p.Design.Precision > 0, "counting instructions measures nothing else: drop metrics and precision, or count")
	say(len(p.Expect) > 0, "counting instructions checks no expectations: drop expect or count")
	for _, name := range p.ordered() {
		s, ok := subjects[p.Arms[name].Subject]
		say(!ok || !s.isStarted() || s.Elsewhere() != "", name+": counting instructions requires a command, which contend starts under a simulator here, not a server that runs already or elsewhere")
		say(s.inContainer(), name+": instructions cannot be counted in a container: give the command that runs in it")
	}
	return errs
}

// inContainer reports whether the command runs a container.
func (s Subject) inContainer() bool {
	words, err := SplitWords(s.Command)
	_, command := Assigned(words)
	return err == nil && subject.RunsContainer(command)
}

// Counted leaves the parts that answer the question and compare servers which contend starts, and has their instructions
// counted under a load that keeps these busy, or as these parts say if they count. It returns false without such a part.
func (e *Experiment) Counted() bool {
	var parts []Part
	for _, p := range e.Parts {
		if !p.Count.Count {
			design := trial.NewDesign()
			design.MaxErrors, design.Levels = p.Design.MaxErrors, []int{count.Callers}
			p.Plan.Pacer, p.Plan.Think, p.Design, p.Count.Count, p.Expect = nil, 0, design, true, nil
		}
		answers := len(e.Answer.Parts) == 0 || slices.Contains(e.Answer.Parts, p.Name)
		if answers && p.checkCount(e.Subjects) == nil {
			parts = append(parts, p)
		}
	}
	e.Parts, e.Analyses = parts, nil
	return len(parts) > 0
}

// count counts what the operations of the arms of a part cost. If asked why, it also samples them, by the design, without
// the simulator: trials have only that.
func (r *runner) count(ctx context.Context, p Part, arms []trial.Arm, design trial.Design, observe func(trial.Progress)) (*trial.Trials, error) {
	tool, err := count.Find(ctx)
	if err != nil {
		return nil, err
	}
	comparing, why := r.phases(p, observe)
	plan, margin := p.plan(), count.Margin
	plan.MaxErrors = &p.Design.MaxErrors
	if p.Design.Margin != nil {
		margin = *p.Design.Margin
	}
	counts, err := count.Compare(ctx, arms, plan, count.Options{Tool: tool, Repetitions: cmp.Or(p.Design.Rounds, count.Repetitions), Margin: margin, Limit: p.Design.Duration,
		Apart: design.Alone != "", Kept: r.options.Counted, Observe: comparing})
	if len(counts.Runs)+len(counts.Comparisons) > 0 {
		r.doc.Counts = append(r.doc.Counts, report.Counts{Place: report.Place{Experiment: r.ID, Part: p.Name}, Counts: *counts})
	}
	if err != nil || !r.options.Why {
		return nil, err
	}
	trials := &trial.Trials{Arms: counts.Arms, Design: design}
	trials.Why, err = trial.Diagnose(ctx, arms, p.plan(), design, r.options.Own, why)
	return trials, err
}
