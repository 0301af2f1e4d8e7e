package script

import (
	"context"
	"fmt"
	"sync/atomic"

	"contend/load"
	"contend/pace"
)

// A driven is one load of a script, a scenario where there are several: a target of its own.
type driven struct {
	target *Target
	load   *Load
	first  int          // how many virtual users are of loads before it
	plan   *load.Plan   // that drives it; nil: nobody has said
	began  atomic.Int64 // its first iteration, in ns since 1970; 0: not yet
	begun  atomic.Int64 // iterations
	within atomic.Int64 // these that have not ended
}

var (
	_ load.LoopTarget = (*driven)(nil)
	_ load.Metered    = (*driven)(nil)
)

// NewVU makes a virtual user; the first one of all loads waits for setup.
func (d *driven) NewVU(ctx context.Context, id int) (load.VU, error) {
	if err := d.target.setup(ctx); err != nil {
		return nil, err
	}
	v, err := d.newVU(ctx, 1+id)
	if err != nil {
		return nil, err // and no pointer that looks like a virtual user
	}
	return v, nil
}

// Loops are those of the script.
func (d *driven) Loops(vus int) (int, string) { return d.target.Loops(vus) }

// Settle is that of the script; setup and teardown are of no scenario.
func (d *driven) Settle(r *load.Result) { d.target.settle(r) }

// severalScenarios is a script with several scenarios, which are driven side by side.
type severalScenarios struct {
	*Target
	load.Mix
}

var _ interface {
	load.RemoteTarget
	load.Metered
	load.Reacher
} = (*severalScenarios)(nil)

// several puts the scenarios of a script side by side.
func (t *Target) several() (*severalScenarios, error) {
	s := &severalScenarios{Target: t, Mix: load.Mix{Share: t.around.Share}}
	first := 0
	t.loads, t.Options.Grace = nil, 0
	for i := range t.Options.Scenarios {
		l := &t.Options.Scenarios[i]
		plan, err := l.plan()
		if err != nil {
			return nil, fmt.Errorf("options.scenarios %s: %w", l.Name, err)
		}
		of := &driven{target: t, load: l, plan: &plan, first: first}
		t.loads = append(t.loads, of)
		s.Loads = append(s.Loads, load.MixedLoad{Name: l.Name, Kind: l.Executor, Start: l.Start, Target: of, Plan: plan})
		first += l.VUs
		t.Options.VUs = first
		t.Options.Duration, t.Options.Grace = max(t.Options.Duration, l.Duration), max(t.Options.Grace, l.Grace)
	}
	return s, nil
}

// OpenRemote makes the virtual users of all scenarios.
func (s *severalScenarios) OpenRemote(ctx context.Context, vus int) (load.Remote, error) {
	if s.around.Share.Whole() && vus != s.Options.VUs {
		return nil, fmt.Errorf("%s drives %d scenarios by %d callers, not %d: --scenario chooses one that can have any number", s.config.Script, len(s.Loads), s.Options.VUs, vus)
	}
	return s.Mix.OpenRemote(ctx, vus)
}

// NewVU is not possible: see load.Mix.
func (s *severalScenarios) NewVU(ctx context.Context, id int) (load.VU, error) {
	return s.Mix.NewVU(ctx, id)
}

// plan is what a scenario has the engine do.
func (l *Load) plan() (p load.Plan, err error) {
	p = load.Plan{VUs: l.VUs, Iterations: l.Iterations, PerVU: l.PerVU, Duration: l.Duration, Grace: l.Grace, FixedGrace: true}
	if l.Rate != "" {
		p.Pacer, err = pace.Parse(l.Rate)
	}
	if l.Callers != "" && err == nil {
		p.Callers, err = pace.ParseCallers(l.Callers)
	}
	return p, err
}

// Of returns the script of a target that Open made, or nil.
func Of(t load.Target) *Target {
	switch t := t.(type) {
	case *Target:
		return t
	case *severalScenarios:
		return t.Target
	}
	return nil
}

// Apply gives a plan what options say of callers and of the end, which no setting says.
func (o *Options) Apply(p *load.Plan) error {
	own, err := o.Load.plan()
	p.Callers, p.PerVU, p.FixedGrace = own.Callers, own.PerVU, own.FixedGrace
	return err
}
