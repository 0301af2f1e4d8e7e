package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/count"
	"contend/report"
	"contend/stat"
	"contend/subject"
	"contend/trial"
	"contend/why"
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
	say(p.Design.Rounds > 0 && p.Design.Rounds < count.LeastRepetitions, fmt.Sprintf("counting instructions takes at least %d rounds, or no limit of them", count.LeastRepetitions))
	say(len(p.Expect) > 0, "counting instructions checks no expectations: drop expect or count")
	return append(errs, p.checkCounted(subjects)...)
}

// checkCounted returns which subjects of a part cannot be counted.
func (p Part) checkCounted(subjects map[string]Subject) (errs []error) {
	for _, name := range p.ordered() {
		s, ok := subjects[p.Arms[name].Subject]
		switch {
		case !ok || !s.isStarted() || s.Elsewhere() != "":
			errs = append(errs, errors.New(name+": counting instructions requires a command, which contend starts under a simulator here, not a server that runs already or elsewhere"))
		case s.inContainer():
			errs = append(errs, errors.New(name+": instructions cannot be counted in a container: give the command that runs in it"))
		}
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
		Apart: design.Alone != "", AnswersMayDiffer: p.Design.AnswersMayDiffer, Kept: r.options.Counted, Observe: comparing})
	if len(counts.Runs)+len(counts.Comparisons) > 0 {
		r.doc.Counts = append(r.doc.Counts, report.Counts{Place: report.Place{Experiment: r.ID, Part: p.Name}, Counts: *counts})
	}
	if err != nil || !r.options.Why {
		return nil, err
	}
	trials := &trial.Trials{Arms: counts.Arms, Design: design}
	trials.Why, err = trial.Diagnose(ctx, arms, p.plan(), design, r.options.Own, nil, why)
	return trials, err
}

// countedAtMost is how long it may take to count where samples name no function.
const countedAtMost = 2 * time.Minute

// counter counts the instructions of the arms of a part for a diagnosis; nil: that cannot be done with these servers.
func (r *runner) counter(p Part, arms []trial.Arm, observe func(trial.Progress)) trial.Counter {
	if p.checkCounted(r.Subjects) != nil {
		return nil
	}
	return func(ctx context.Context) ([]why.Instructions, error) {
		tool, err := count.Find(ctx)
		if err != nil {
			return nil, err
		}
		plan := p.plan()
		plan.Pacer, plan.Think, plan.VUs, plan.MaxErrors = nil, 0, count.Callers, &p.Design.MaxErrors
		counts, err := count.Compare(ctx, arms, plan, count.Options{Tool: tool, Repetitions: count.Repetitions, Margin: count.Margin, Limit: countedAtMost,
			Apart: r.alone(p) != "", AnswersMayDiffer: true, Observe: observe})
		if err != nil {
			return nil, err
		}
		return instructionsOf(counts)
	}
}

// instructionsOf are what a diagnosis needs of counts. The error is why candidates cannot be compared.
func instructionsOf(counts *count.Counts) (list []why.Instructions, err error) {
	for _, c := range counts.Comparisons {
		if c.Reason != nil {
			return nil, errors.New(c.Reason.String())
		}
		in := why.Instructions{Arm: c.Candidate, Tool: counts.Tool, Baseline: c.Total.Baseline, Candidate: c.Total.Candidate, Same: c.Verdict == stat.Equivalent}
		for _, row := range c.Rows {
			in.Differ = append(in.Differ, why.Executed{Function: row.Name, Baseline: row.Baseline, Candidate: row.Candidate})
		}
		list = append(list, in)
	}
	return list, nil
}
