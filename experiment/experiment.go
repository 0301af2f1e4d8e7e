package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/count"
	"contend/expect"
	"contend/internal/placement"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

// An Experiment is what a file or a command line asks for, with every default
// filled in: Run runs it.
type Experiment struct {
	ID, Title, Question, Source string
	// File is where it was read from, as typed; "": it is embedded, or a command line.
	File   string
	Answer report.Answer
	// Profile is the profile of the file that was taken; empty without profiles.
	Profile string
	// Planned experiments are listed and not run.
	Planned   bool
	Subjects  map[string]Subject
	Parts     []Part
	Published []Published
	Analyses  []string
}

// A Part is a set of arms under one load.
type Part struct {
	Name, Title string
	// Arms have whole targets.
	Arms map[string]Arm
	// Baseline is the arm that the others are compared with, Order that in which all
	// are shown; nil: by name.
	Baseline string
	Order    []string
	// Placement says whether the servers have CPUs of their own.
	Placement placement.Kind
	// Plan is that of each block, except for its VUs and its length, which the
	// designs set.
	Plan   load.Plan
	Design trial.Design
	// Count has instructions counted instead of time taken.
	Count count.Design
	// Sweep is how the arms are swept where Swept is set, or where only one of them
	// can run.
	Sweep  sweep.Design
	Swept  bool
	Expect []string
}

// ordered are the names of all arms, the baseline first and the others in their order.
func (p Part) ordered() []string {
	names := slices.Clone(p.Order)
	if names == nil {
		names = sortedKeys(p.Arms)
	}
	if i := slices.Index(names, p.Baseline); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, p.Baseline)
	}
	return names
}

// Alternatives are the arms of the first part with what tells them apart: their commands, or
// else their URLs.
func (e *Experiment) Alternatives() []report.Arm {
	var commands, urls []report.Arm
	seen := map[string]bool{}
	p := e.Parts[0]
	for _, name := range p.ordered() {
		arm := p.Arms[name]
		command := e.Subjects[arm.Subject].Command
		if serve := e.Subjects[arm.Subject].Serve; serve != "" {
			command = "contend serve " + serve
		}
		seen[command] = true
		commands, urls = append(commands, report.Arm{Name: name, Does: command}), append(urls, report.Arm{Name: name, Does: arm.Target.URL()})
	}
	if len(seen) < len(commands) || seen[""] {
		return urls
	}
	return commands
}

// plan is that of the first block, except for its length.
func (p Part) plan() load.Plan {
	plan := p.Plan
	if len(p.Design.Levels) > 0 {
		plan.VUs = p.Design.Levels[0]
	}
	return plan
}

// design is that of the part's comparison as it is run.
func (p Part) design(o Options) trial.Design {
	d := p.Design
	d.Seed, d.Duet, d.Probe, d.ChangesOver = o.Seed, o.Duet, o.Placement.Probe, true
	d.Pilot, d.Widen = true, o.Placement.Widen
	if p.Plan.Pacer != nil {
		d.Metrics = trial.PacedMetrics(d.Metrics)
	}
	return d
}

// checkSettings returns every mistake in the plan and in the design that is run.
func (p Part) checkSettings() error {
	plan := p.Plan
	plan.VUs, plan.Duration = 1, time.Second // those of the design count
	if p.Swept {
		return errors.Join(plan.Validate(), p.Sweep.Validate())
	}
	return errors.Join(plan.Validate(), p.Design.Validate())
}

// Validate returns every mistake that can be seen without starting anything.
// Those of an arm and of its subject begin with the name of the arm.
func (e *Experiment) Validate() error {
	var errs []error
	for _, p := range e.Parts {
		errs = append(errs, p.checkSettings(), errors.Join(p.checkCount(e.Subjects)...))
		for _, name := range sortedKeys(p.Arms) {
			for _, m := range setting.Mistakes(p.Arms[name].Target.Validate()) {
				if m.Owner = name; !p.fromDocuments() {
					errs = append(errs, m)
				}
			}
			s, ok := e.Subjects[p.Arms[name].Subject]
			if !ok {
				continue
			}
			for _, m := range s.flaws() {
				m.Owner = name
				errs = append(errs, m)
			}
			if err := s.CheckAddress(p.Arms[name].Target); s.isStarted() && err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// OfSubjects returns an experiment whose one part has an arm for each subject,
// of the same name, all driven through one target; the plan and the design have
// their defaults.
func OfSubjects(target protocol.Target, subjects map[string]Subject) *Experiment {
	p := Part{Arms: map[string]Arm{}, Design: trial.NewDesign(), Placement: placement.Auto}
	setting.Defaults(&p.Plan)
	for name := range subjects {
		p.Arms[name] = Arm{Subject: name, Target: target}
	}
	return &Experiment{Subjects: subjects, Parts: []Part{p}}
}

// Place has all parts placed like this, whatever its file says.
func (e *Experiment) Place(kind placement.Kind) {
	for i := range e.Parts {
		e.Parts[i].Placement = kind
	}
}

// defaultProfile is taken if no other is named.
const defaultProfile = "standard"

// Experiment returns what a valid file asks for under a profile: quick, standard
// or published; empty means standard. A part without that profile is unchanged.
func (f *File) Experiment(profile string) *Experiment {
	if profile == "" {
		profile = defaultProfile
	}
	e := &Experiment{ID: f.ID, Title: f.Title, Question: f.Question, Source: f.Source, Answer: f.Answer, Planned: f.Status == planned,
		Subjects: f.Subjects, Published: f.Published, Analyses: f.Analyses}
	has := func(s Setup) bool { return len(s.Profiles) > 0 }
	if has(f.Setup) || slices.ContainsFunc(f.Parts, func(p FilePart) bool { return has(p.Setup) }) {
		e.Profile = profile
	}
	for _, own := range f.parts() {
		e.Parts = append(e.Parts, f.part(own, f.asked(own, profile)))
	}
	return e
}

// parts returns the parts of the file; without any, the file is one.
func (f *File) parts() []FilePart {
	if len(f.Parts) == 0 {
		return []FilePart{{}}
	}
	return f.Parts
}

// asked returns what is asked of a part: what it gives over what the file gives,
// and the profiles of both over that.
func (f *File) asked(own FilePart, profile string) setting.Values {
	return own.Profiles[profile].Asked.Over(f.Profiles[profile].Asked).Over(own.Asked.Over(f.Asked))
}

// part fills a part with what is asked of it. Mistakes have been found at their
// places.
func (f *File) part(own FilePart, asked setting.Values) Part {
	p := Part{Name: own.Name, Title: own.Title, Arms: map[string]Arm{}, Expect: own.Expect}
	if own.Expect == nil {
		p.Expect = f.Expect
	}
	target := own.Target.Over(f.Target)
	for name, arm := range f.arms(own) {
		arm.Target = arm.Target.Over(target)
		p.Arms[name] = arm
	}
	var a Arrangement
	var placing Placing
	for _, into := range []any{&p.Plan, &p.Design, &p.Sweep, &p.Count, &a, &placing} {
		_ = setting.Fill(into, asked, setting.InFile)
	}
	p.allowErrors(asked)
	p.Baseline, p.Placement = a.Baseline, placing.Placement
	_, visits := asked["sweep.visits"]
	if _, rounds := asked["compare.rounds"]; rounds && !visits {
		p.Sweep.Visits = p.Design.Rounds // each round of a comparison visits each level once
	}
	p.Swept = slices.ContainsFunc(slices.Collect(maps.Keys(asked)), func(path string) bool { return strings.HasPrefix(path, "sweep.") })
	if !p.Swept {
		p.Sweep.Duration = 0 // that of the comparison is asked for
	}
	if p.fromDocuments() { // which measure by themselves
		p.Design.Block, p.Design.Warmup, p.Design.Levels = 0, 0, nil
	}
	return p
}

// allowErrors has the part allow the errors that its expectations do, unless it is asked
// what it allows.
func (p *Part) allowErrors(asked setting.Values) {
	if _, given := asked["compare.max_errors"]; !given {
		p.Design.MaxErrors = max(p.Design.MaxErrors, expect.AllowedErrors(p.Expect, 0))
	}
	p.Plan.AllowErrors(p.Design.MaxErrors)
}

// arms returns those of a part, the file's, or else one for each subject.
func (f *File) arms(own FilePart) map[string]Arm {
	for _, arms := range []map[string]Arm{own.Arms, f.Arms} {
		if len(arms) > 0 {
			return arms
		}
	}
	arms := map[string]Arm{}
	for name := range f.Subjects {
		arms[name] = Arm{Subject: name}
	}
	return arms
}
