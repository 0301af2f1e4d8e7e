package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/probe"
	"contend/protocol"
	"contend/report"
	"contend/trial"
)

// Options are what running an experiment needs besides its file.
type Options struct {
	// Profile is quick, standard or published; empty means standard. A part
	// without that profile runs as it stands.
	Profile string
	// Self is the command that runs contend, for subjects with serve.
	Self []string
	// Opener opens targets.
	Opener protocol.Opener
	// Seed decides every random choice.
	Seed uint64
	// Duet, if set, has the two arms of comparisons driven at the same time, on
	// these two sets of CPUs: see trial.Design.
	Duet [][]int
	// ServerCPUs are those that the subjects may use, except where a trial says
	// otherwise; empty: all that this process may use.
	ServerCPUs []int
	// Probe looks at the machine between stretches of a comparison; nil means
	// probe.Take.
	Probe func() probe.Sample
	// Observe, if set, is told how far the experiment is.
	Observe func(trial.Progress)
}

const defaultProfile = "standard"

type runner struct {
	file     *File
	options  Options
	subjects map[string]*sharedSubject
	absent   map[string]bool // subjects that cannot run here
	trips    trips
	doc      *report.Document
}

func newRunner(f *File, o Options, doc *report.Document) *runner {
	o.Profile = cmp.Or(o.Profile, defaultProfile)
	if o.Probe == nil {
		o.Probe = probe.Take
	}
	r := &runner{file: f, options: o, subjects: map[string]*sharedSubject{}, absent: map[string]bool{},
		trips: trips{}, doc: doc}
	for name, s := range f.Subjects {
		r.subjects[name] = &sharedSubject{name: name, config: s, self: o.Self}
	}
	return r
}

// Run runs the experiment and adds what it found to the document, including
// the experiment's own entry. On an error, and when ctx is done, what was
// measured so far is in the document and the error is returned.
func (f *File) Run(ctx context.Context, o Options, doc *report.Document) error {
	r := newRunner(f, o, doc)
	began := time.Now()
	entry := report.Experiment{ID: f.ID, Title: f.Title, Question: f.Question, Source: f.Source,
		Status: "done"}
	if f.hasProfiles() {
		entry.Profile = r.options.Profile
	}
	if f.Status == Planned {
		entry.Status, entry.Profile = Planned, ""
		doc.Experiments = append(doc.Experiments, entry)
		return nil
	}
	r.missing(&entry)
	err := r.parts(ctx, &entry)
	if err == nil {
		err = r.analyses(ctx, &entry)
	}
	entry.Elapsed = time.Since(began)
	switch {
	case ctx.Err() != nil:
		entry.Status = "interrupted"
	case err != nil:
		entry.Status, entry.Error = "failed", err.Error()
	}
	entry.Published = f.published()
	doc.Experiments = append(doc.Experiments, entry)
	doc.Derive()
	return err
}

func (f *File) hasProfiles() bool {
	return len(f.Profiles) > 0 || slices.ContainsFunc(f.Parts, func(p Part) bool { return len(p.Profiles) > 0 })
}

func (r *runner) parts(ctx context.Context, entry *report.Experiment) error {
	parts := r.file.effectiveParts(r.options.Profile)
	for i, p := range parts {
		if len(p.Arms) > 0 && len(r.names(p)) == 0 {
			entry.Warnings = append(entry.Warnings, finding.LeftOut.Warning("no arm%s can run here, so there is nothing to compare", in(p)))
			continue
		}
		entry.Parts = append(entry.Parts, report.Part{Name: p.Name, Title: p.Title})
		for _, text := range p.Expect {
			entry.Expectations = append(entry.Expectations, trial.Expectation{Part: p.Name, Text: text})
		}
		observe := r.options.Observe
		if observe != nil {
			observe = func(progress trial.Progress) {
				progress.Done = (float64(i) + progress.Done) / float64(len(parts))
				r.options.Observe(progress)
			}
		}
		if err := r.part(ctx, p, observe); err != nil {
			return err
		}
	}
	return nil
}

// part runs a part of the experiment.
func (r *runner) part(ctx context.Context, p Part, observe func(trial.Progress)) error {
	place := report.Place{Experiment: r.file.ID, Part: p.Name}
	var trials *trial.Trials
	var err error
	if p.fromDocuments() {
		trials, err = r.repeat(ctx, p, observe)
	} else {
		trials, err = r.drive(ctx, p, observe)
	}
	if trials != nil {
		r.doc.Add(place, trials)
	}
	if err != nil && p.Name != "" {
		return fmt.Errorf("part %s: %w", p.Name, err)
	}
	return err
}

// drive compares the arms of a part, or sweeps them where that is asked for or
// only one can run.
func (r *runner) drive(ctx context.Context, p Part, observe func(trial.Progress)) (*trial.Trials, error) {
	plan, err := p.Load.plan()
	if err != nil {
		return nil, err
	}
	arms := r.arms(p)
	if p.sweeps() || len(arms) < 2 {
		place := report.Place{Experiment: r.file.ID, Part: p.Name}
		return nil, r.sweep(ctx, sweeping{place, arms, plan, p.sweepDesign(r.options.Seed)}, observe)
	}
	return trial.Compare(ctx, arms, plan, p.design(r.options), observe)
}

// sweeping is a sweep of several arms.
type sweeping struct {
	place  report.Place
	arms   []trial.Arm
	plan   load.Plan
	design trial.SweepDesign
}

func (r *runner) sweep(ctx context.Context, s sweeping, observe func(trial.Progress)) error {
	for i, arm := range s.arms {
		curve, err := trial.Sweep(ctx, arm, s.plan, s.design, func(progress trial.Progress) {
			if observe != nil {
				progress.Done = (float64(i) + progress.Done) / float64(len(s.arms))
				progress.Label = arm.Name + ", " + progress.Label
				observe(progress)
			}
		})
		if curve != nil {
			r.doc.AddCurve(s.place, curve)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// effectiveParts returns the parts with the file's defaults and the profile
// applied.
func (f *File) effectiveParts(profile string) []Part {
	defaults := f.Setup
	parts := f.Parts
	if len(parts) == 0 {
		parts = []Part{{}}
	}
	list := make([]Part, len(parts))
	for i, p := range parts {
		merged := Part{Name: p.Name, Title: p.Title, Setup: override(defaults, p.Setup)}
		merged.Target = p.Target.Over(defaults.Target)
		merged.Load = override(defaults.Load, p.Load)
		merged.Compare = override(defaults.Compare, p.Compare)
		merged.Sweep = override(defaults.Sweep, p.Sweep)
		for _, profiles := range []map[string]Profile{defaults.Profiles, p.Profiles} {
			merged.Load = override(merged.Load, profiles[profile].Load)
			merged.Compare = override(merged.Compare, profiles[profile].Compare)
			merged.Sweep = override(merged.Sweep, profiles[profile].Sweep)
		}
		if len(merged.Arms) == 0 {
			merged.Arms = map[string]Arm{}
			for name := range f.Subjects {
				merged.Arms[name] = Arm{Subject: name}
			}
		}
		list[i] = merged
	}
	return list
}

func (l Load) plan() (load.Plan, error) {
	plan := load.Plan{VUs: l.VUs[0], Duration: l.Duration, Timeout: l.Timeout, Think: l.Think}
	if l.Rate != "" {
		pacer, err := load.ParsePacer(l.Rate)
		if err != nil {
			return plan, err
		}
		plan.Pacer = pacer
	}
	return plan, plan.Validate()
}

// Defaults of a comparison, for files and commands alike.
const (
	DefaultRounds     = 10
	DefaultPairs      = 8
	DefaultMargin     = 0.02
	DefaultConfidence = 0.95
	defaultVisits     = 3
)

// DefaultMetrics are compared where none are named.
func DefaultMetrics() []metric.Name {
	return []metric.Name{metric.Throughput, "response_p50_ns", "response_p90_ns", "response_p99_ns", "response_p999_ns",
		metric.ServerCPUPerOp, metric.ServerRSS, metric.Errors}
}

func (p Part) design(o Options) trial.Design {
	d := trial.Design{
		Rounds: cmp.Or(p.Compare.Rounds, DefaultRounds), Pairs: cmp.Or(p.Compare.Pairs, DefaultPairs),
		Block: p.Load.Duration, Warmup: p.Load.Warmup, Levels: p.Load.VUs,
		Metrics: p.Compare.Metrics, Margin: cmp.Or(float64(p.Compare.Margin), DefaultMargin),
		Precision: float64(p.Compare.Precision), MaxErrors: float64(p.Compare.MaxErrors),
		Confidence: DefaultConfidence, Seed: o.Seed, Duet: o.Duet, Probe: o.Probe,
	}
	if len(d.Metrics) == 0 {
		d.Metrics = DefaultMetrics()
	}
	return d
}

// sweeps says whether the part's arms are swept and not compared.
func (p Part) sweeps() bool { return p.Sweep != Sweep{} }

// sweepDesign is that of the part's sweep. A comparison of which only one arm
// can run visits each level once a round.
func (p Part) sweepDesign(seed uint64) trial.SweepDesign {
	return trial.SweepDesign{
		Levels: p.Load.VUs, ExtendTo: p.Sweep.ExtendTo, Visits: cmp.Or(p.Sweep.Visits, p.Compare.Rounds, defaultVisits),
		Block: p.Load.Duration, Warmup: p.Load.Warmup, Seed: seed,
	}
}

// published turns the file's tables into the document's.
func (f *File) published() []report.Published {
	var tables []report.Published
	for _, p := range f.Published {
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
