package experiment

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"contend/count"
	"contend/expect"
	"contend/finding"
	"contend/internal/placement"
	"contend/internal/rebind"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/sweep"
	"contend/trial"
)

// Options are what running an experiment needs in addition to its file.
type Options struct {
	// Self is the command that runs contend, for subjects with serve.
	Self []string
	// Opener opens targets.
	Opener protocol.Opener
	// Seed decides every random choice.
	Seed uint64
	// Duet, if set, has the two arms of comparisons driven at the same time, on
	// these two sets of CPUs: see trial.Design.
	Duet [][]int
	// Placement gives this process and the subjects that it starts CPUs of their own, for each
	// part by its Placement; nil: they share all that this process may use.
	Placement *placement.Process
	// Movable says why a program's binds cannot be moved here, or nil; nil means
	// rebind.Try.
	Movable func() error
	// Elsewhere starts a subject that a worker has, by its name in Subject.Elsewhere; nil: there are no
	// workers, and no such subjects.
	Elsewhere func(ctx context.Context, name string, setup trial.Setup) (trial.Server, error)
	// Counted, if set, keeps what was counted of arms, by name, for further experiments with the same load.
	Counted *count.Kept
	// Why has the arms of comparisons sampled afterwards: see trial.Diagnose.
	Why bool
	// Own matches the name or the file of functions that are the programs' own; nil: see why.NewProfile.
	Own *regexp.Regexp
	// Pprof is the URL of net/http/pprof in their servers, with subject.Placeholders; empty: that
	// where the server's other pages are.
	Pprof string
	// Redis is the URL of the one that commands with --redis auto use; empty: a private one.
	Redis string
	// Warn, if set, gets once for each server what a reader should know of its start and end. Run puts it into the experiment's entry.
	Warn func(finding.Warning)
	// Observe, if set, gets the progress of the experiment.
	Observe func(trial.Progress)
}

// itself is the command that runs contend, followed by a word.
func (o Options) itself(word string) []string { return append(slices.Clone(o.Self), word) }

type runner struct {
	*Experiment
	options  Options
	subjects map[string]*sharedSubject
	absent   map[string]bool // subjects that cannot run here
	trips    trips
	doc      *report.Document
}

func newRunner(e *Experiment, o Options, doc *report.Document) *runner {
	o = o.filled()
	r := &runner{Experiment: e, options: o, subjects: map[string]*sharedSubject{}, absent: map[string]bool{}, trips: trips{}, doc: doc}
	for name, s := range e.Subjects {
		r.subjects[name] = o.share(name, s)
	}
	return r
}

// filled returns the options with their defaults. It asks at most once whether binds can be moved.
func (o Options) filled() Options {
	if o.Placement == nil {
		shared := placement.Fixed(placement.Layout{}, nil)
		o.Placement = &shared
	}
	if o.Movable == nil {
		self := o
		o.Movable = func() error { return rebind.Try(self.itself("rebind"), self.itself("bind")) }
	}
	o.Movable = sync.OnceValue(o.Movable)
	return o
}

// share makes the subject of a name, which runs while an arm uses it.
func (o Options) share(name string, s Subject) *sharedSubject {
	return &sharedSubject{name: name, config: s, self: o.Self, elsewhere: o.Elsewhere, movable: o.Movable, warn: o.Warn}
}

// Run runs the experiment and adds what it found to the document, including
// the experiment's own entry. On an error, and when ctx is done, what was
// measured so far is in the document and the error is returned.
func (e *Experiment) Run(ctx context.Context, o Options, doc *report.Document) error {
	var warned []finding.Warning
	var mu sync.Mutex
	o.Warn = func(w finding.Warning) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, w)
	}
	r := newRunner(e, o, doc)
	began := time.Now()
	entry := report.Experiment{ID: e.ID, File: e.File, Title: e.Title, Question: e.Question, Source: e.Source,
		Answer: e.Answer, Profile: e.Profile, Status: "done"}
	if e.Planned {
		entry.Status, entry.Profile = planned, ""
		doc.Experiments = append(doc.Experiments, entry)
		return nil
	}
	r.missing(&entry)
	err := r.parts(ctx, &entry)
	if err == nil {
		err = r.analyses(ctx, &entry)
	}
	entry.Elapsed, entry.Warnings = time.Since(began), append(entry.Warnings, warned...)
	switch {
	case ctx.Err() != nil:
		entry.Status = "interrupted"
	case err != nil:
		entry.Fail(err)
	}
	entry.Published = published(e.Published)
	doc.Experiments = append(doc.Experiments, entry)
	doc.Derive()
	return err
}

func (r *runner) parts(ctx context.Context, entry *report.Experiment) error {
	begun, all := 0.0, r.Takes()
	if r.options.Why {
		all += r.DiagnosisTakes().Seconds()
	}
	for _, p := range r.Parts {
		before, share := begun, p.takes()+r.diagnosisTakes(p)
		begun += share
		if len(p.Arms) > 0 && len(r.names(p)) == 0 {
			entry.Warnings = append(entry.Warnings, finding.LeftOut.Warning("no variant%s can run here, so there is nothing to compare", ofPart(p.Name)))
			continue
		}
		own := len(entry.Parts)
		entry.Parts = append(entry.Parts, report.Part{Name: p.Name, Title: p.Title})
		for _, text := range p.Expect {
			entry.Expectations = append(entry.Expectations, expect.Expectation{Part: p.Name, Text: text})
		}
		observe := r.options.Observe
		if observe != nil {
			observe = func(progress trial.Progress) {
				progress.Done = (before + progress.Done*share) / all
				if progress.Left > 0 {
					progress.Left += time.Duration((all - before - share) * float64(time.Second))
				}
				r.options.Observe(progress)
			}
		}
		if err := r.part(ctx, p, &entry.Parts[own], observe); err != nil {
			return err
		}
	}
	return nil
}

// part runs a part of the experiment, which has an entry of its own in the document.
func (r *runner) part(ctx context.Context, p Part, own *report.Part, observe func(trial.Progress)) error {
	place := report.Place{Experiment: r.ID, Part: p.Name}
	var trials *trial.Trials
	var err error
	if p.fromDocuments() {
		trials, err = r.repeat(ctx, p, observe)
	} else {
		trials, err = r.placed(ctx, p, own, observe)
	}
	if trials != nil {
		r.doc.Add(place, trials)
	}
	if err != nil && p.Name != "" {
		return fmt.Errorf("part %s: %w", p.Name, err)
	}
	return err
}

// placed drives a part on the CPUs that its Placement asks for, and notes which these were.
func (r *runner) placed(ctx context.Context, p Part, own *report.Part, observe func(trial.Progress)) (*trial.Trials, error) {
	kind, starts := p.Placement, r.startsSome(p)
	if !starts {
		kind = placement.Shared
	}
	if err := r.options.Placement.Place(kind); err != nil {
		return nil, err
	}
	trials, err := r.drive(ctx, p, observe)
	if starts {
		own.CPUs = report.PlacedOn(r.options.Placement.Layout)
	}
	return trials, err
}

// startsSome reports whether subjects of the part are started, here or by a worker.
func (r *runner) startsSome(p Part) bool {
	for _, name := range r.names(p) {
		if s, ok := r.Subjects[p.Arms[name].Subject]; ok && s.isStarted() {
			return true
		}
	}
	return false
}

// drive compares the arms of a part, or sweeps them where that is asked for or
// only one can run.
func (r *runner) drive(ctx context.Context, p Part, observe func(trial.Progress)) (*trial.Trials, error) {
	arms := r.arms(p)
	if p.Swept || len(arms) < 2 {
		design := p.Sweep
		design.Seed, design.Pilot, design.Widen = r.options.Seed, true, r.options.Placement.Widen
		return nil, r.sweep(ctx, sweeping{report.Place{Experiment: r.ID, Part: p.Name}, arms, p.plan(), design}, observe)
	}
	design := p.design(r.options)
	design.Alone = r.alone(p)
	if r.allElsewhere(p) {
		design.Probe = nil // it would look at this machine
	}
	if p.Count.Count {
		return r.count(ctx, p, arms, design, observe)
	}
	if !r.options.Why {
		return trial.Compare(ctx, arms, p.plan(), design, observe)
	}
	comparing, why := r.phases(p, observe)
	trials, err := trial.Compare(ctx, arms, p.plan(), design, comparing)
	if err == nil && trials.TimeUp == nil && trials.Explainable() {
		design.Warmup = trials.Design.Warmup
		trials.Why, err = trial.Diagnose(ctx, arms, p.plan(), design, r.options.Own, r.counter(p, arms, why), why)
	}
	return trials, err
}

// phases share the progress of a part between its comparison and, if asked for, the diagnosis after it.
func (r *runner) phases(p Part, observe func(trial.Progress)) (comparing, why func(trial.Progress)) {
	then := r.diagnosisTakes(p)
	if observe == nil || then == 0 {
		return observe, observe
	}
	first := p.takes() / (p.takes() + then)
	comparing = func(progress trial.Progress) {
		progress.Done *= first
		if progress.Left > 0 {
			progress.Left += time.Duration(then * float64(time.Second))
		}
		observe(progress)
	}
	done := 0.0 // further rounds do not take it back
	why = func(progress trial.Progress) {
		done = max(done, first+(1-first)*progress.Done)
		progress.Done, progress.Label = done, "why: "+progress.Label
		observe(progress)
	}
	return comparing, why
}

// sweeping is a sweep of several arms.
type sweeping struct {
	place  report.Place
	arms   []trial.Arm
	plan   load.Plan
	design sweep.Design
}

func (r *runner) sweep(ctx context.Context, s sweeping, observe func(trial.Progress)) error {
	for i, arm := range s.arms {
		curve, err := sweep.Run(ctx, arm, s.plan, s.design, func(progress sweep.Progress) {
			if observe != nil {
				progress.Done = (float64(i) + progress.Done) / float64(len(s.arms))
				progress.Label = arm.Name + ", " + progress.Label
				observe(progress.Progress)
			}
		})
		s.design.Widen = nil // all arms are driven from the same CPUs
		if curve != nil {
			r.doc.AddCurve(s.place, curve)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// published turns the tables of a file into those of a document.
func published(list []Published) []report.Published {
	var tables []report.Published
	for _, p := range list {
		table := report.Published{Part: p.Part, Title: p.Title, Environment: p.Environment}
		for _, n := range p.Notes {
			if len(n.Metrics) == 0 {
				table.Notes = append(table.Notes, report.Note{Comparable: n.Comparable, Because: n.Because})
			}
			for _, m := range n.Metrics {
				table.Notes = append(table.Notes, report.Note{Metric: m, Comparable: n.Comparable, Because: n.Because})
			}
		}
		for _, row := range p.Rows {
			table.Rows = append(table.Rows, p.figures(row)...)
		}
		tables = append(tables, table)
	}
	return tables
}

// errNoRows is what an analysis says that has nothing to read.
var errNoRows = errors.New("no published table has the columns it needs")
