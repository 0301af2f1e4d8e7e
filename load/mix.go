package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/pace"
)

// A Mix drives several loads side by side, each with VUs and a plan of its own. They begin at the same
// moment, and their results add up to one. As a RemoteTarget it has no VUs to be driven from outside.
// With several generators each has a share of all VUs, counted through all loads.
type Mix struct {
	Loads []MixedLoad
	Share pace.Share // of this generator
}

// A MixedLoad is one of them.
type MixedLoad struct {
	Name, Kind string // in results
	Target     Target
	// Start is when it begins in the run; until then it has neither callers nor arrivals.
	Start time.Duration
	// Plan has VUs, when they begin, and how long, and a grace, which that of the run bounds; all else is
	// that of the run.
	Plan Plan
}

var _ RemoteTarget = (*Mix)(nil)

// A Scenario is what one load of a Mix came to.
type Scenario struct {
	Name       string          `json:"of_scenario"`
	Kind       string          `json:"driven_by"`
	VUs        int             `json:"vus"`
	Planned    int64           `json:"planned"`
	Completed  int64           `json:"completed"`
	Wrong      int64           `json:"wrong"` // failed, or without an answer
	Dropped    int64           `json:"dropped"`
	Unfinished int64           `json:"unfinished"`
	Duration   time.Duration   `json:"duration_ns"`
	Response   *hist.Histogram `json:"response_ns"`
	StartLag   *hist.Histogram `json:"start_lag_ns"`
}

// NewVU is not possible.
func (m *Mix) NewVU(context.Context, int) (VU, error) {
	return nil, errors.New("several loads have no caller in common")
}

// OpenRemote makes the VUs of all loads; vus must be as many as theirs together.
func (m *Mix) OpenRemote(ctx context.Context, _ int) (Remote, error) {
	d := new(mixDrive)
	var first int64
	for _, l := range m.Loads {
		own := m.Share.From(first).Among(l.Plan.VUs) // arrivals and iterations go to generators that have VUs for them
		first += int64(l.Plan.VUs)
		vus := int(own.Count(int64(l.Plan.VUs)))
		if vus == 0 {
			continue
		}
		s, err := Open(ctx, l.Name, l.Target, vus)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		s.keeps = true
		d.loads = append(d.loads, openLoad{l, s, own})
	}
	return d, nil
}

type openLoad struct {
	MixedLoad
	session *Session
	share   pace.Share // of the load's VUs, iterations and arrivals
}

// A mixDrive is a Remote of sessions here.
type mixDrive struct{ loads []openLoad }

var _ io.Closer = (*mixDrive)(nil)

func (d *mixDrive) Close() error {
	var errs []error
	for _, l := range d.loads {
		errs = append(errs, l.session.Close())
	}
	return errors.Join(errs...)
}

// together is how long before their beginning the loads hear of it.
const together = 20 * time.Millisecond

// Run drives the loads that have a part in the plan's share.
func (d *mixDrive) Run(ctx context.Context, plan Plan) (*Result, error) {
	m := &mixRun{plan: plan, seen: make([]Progress, len(d.loads))}
	if m.plan.Begin.IsZero() {
		m.plan.Begin = time.Now().Add(together)
	}
	results, errs := make([]*Result, len(d.loads)), make([]error, len(d.loads))
	var all sync.WaitGroup
	for i, l := range d.loads {
		own := m.of(i, &l)
		if own.VUs == 0 {
			continue
		}
		m.running++
		all.Go(func() { results[i], errs[i] = l.session.Run(ctx, own) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d.add(plan, results), nil
}

// A mixRun is a run of several loads.
type mixRun struct {
	plan    Plan
	running int

	mu     sync.Mutex
	seen   []Progress // the latest of each load
	ended  bool       // Plan.Until said so
	told   time.Duration
	opened sync.Once
	closed int
}

// of is the plan of a load within that of the run.
func (m *mixRun) of(i int, l *openLoad) Plan {
	p, own := m.plan, l.Plan
	p.Share = l.share
	p.VUs, p.Pacer, p.Callers, p.PerVU, p.FixedGrace = int(p.Share.Count(int64(own.VUs))), own.Pacer, own.Callers, own.PerVU, own.FixedGrace
	p.Duration, p.Iterations, p.Warmup, p.Grace = own.Duration, p.Share.Count(own.Iterations), 0, min(p.Grace, own.Grace)
	if own.PerVU > 0 {
		p.Iterations = own.PerVU * int64(p.VUs)
	}
	if own.Iterations > 0 && p.Iterations == 0 {
		p.VUs = 0
	}
	p.Progress, p.Until, p.AtEdge = nil, nil, nil
	if m.plan.Progress != nil {
		p.Progress = func(now Progress) { m.progress(i, now) }
	}
	if m.plan.Until != nil {
		p.Until = func(now Progress) bool { return m.until(i, now) }
	}
	if m.plan.AtEdge != nil {
		p.AtEdge = m.edge
	}
	return p
}

// edge tells of the first opening and of the last closing.
func (m *mixRun) edge(e Edge) {
	if e == WindowOpens {
		m.opened.Do(func() { m.plan.AtEdge(e) })
		return
	}
	m.mu.Lock()
	m.closed++
	last := m.closed == m.running
	m.mu.Unlock()
	if last {
		m.plan.AtEdge(e)
	}
}

// progress adds up the latest of all loads, about once a second.
func (m *mixRun) progress(i int, now Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.see(i, now)
	if sum := m.sum(); !now.Last && sum.Elapsed-m.told >= time.Second {
		m.told = sum.Elapsed
		m.plan.Progress(sum)
	}
}

func (m *mixRun) until(i int, now Progress) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.see(i, now)
	m.ended = m.ended || m.plan.Until(m.sum())
	return m.ended
}

// see keeps what a load has come to. Its counts are the load's own goroutine's to ask for.
func (m *mixRun) see(i int, now Progress) {
	counts := now.Counts()
	now.counts = func() *Counts { return counts }
	m.seen[i] = now
}

// sum adds up what the loads have come to.
func (m *mixRun) sum() (sum Progress) {
	seen := slices.Clone(m.seen)
	for _, p := range seen {
		sum.Elapsed, sum.Measured = max(sum.Elapsed, p.Elapsed), max(sum.Measured, p.Measured)
		sum.Completed, sum.Failed, sum.Errored, sum.Ops = sum.Completed+p.Completed, sum.Failed+p.Failed, sum.Errored+p.Errored, sum.Ops+p.Ops
		sum.P99 = max(sum.P99, p.P99)
		sum.GeneratorCPU = max(sum.GeneratorCPU, p.GeneratorCPU)
	}
	sum.counts = sync.OnceValue(func() *Counts {
		all := newSum()
		for _, p := range seen {
			all.Add(p.Counts())
		}
		return &all
	})
	return sum
}

// add adds up results; those of loads without a part are nil.
func (d *mixDrive) add(plan Plan, results []*Result) *Result {
	sum := &Result{Model: ClosedModel, Plan: plan, Counts: newSum()}
	sum.Course = NewCourse(0)
	longest := &Result{Stopped: StoppedByIterations, Engine: Goroutines} // where nothing falls to this generator
	for _, r := range results {
		if r == nil {
			continue
		}
		if r.Model != ClosedModel {
			sum.Model = MixedModel
		}
		sum.Concurrency += r.Concurrency
		sum.Whole = max(sum.Whole, r.Whole)
		if r.Duration >= longest.Duration {
			longest = r
		}
	}
	sum.Duration, sum.Cost, sum.Stopped, sum.Timer = longest.Duration, longest.Cost, longest.Stopped, longest.Timer
	sum.Engine, sum.EngineReason, sum.BeganLate, sum.Script = longest.Engine, longest.EngineReason, longest.BeganLate, longest.Script
	for i, r := range results {
		if r != nil {
			sum.Timer = cmp.Or(sum.Timer, r.Timer)
			if r != longest {
				r.Course.unspent() // all loads see the CPU time of all
			}
			sum.join(r)
			sum.Scenarios = append(sum.Scenarios, d.loads[i].scenario(r))
		}
	}
	sum.sortMeters()
	sum.Course.Close()
	if plan.Share.Whole() {
		sum.Course.forget()
	}
	sum.Derive()
	for i, r := range results {
		if r != nil {
			sum.warnOf(d.loads[i].Name, r)
		}
	}
	return sum
}

// unspent forgets what CPU time was spent.
func (c *Course) unspent() {
	for i := range c.Intervals {
		c.Intervals[i].GeneratorCPU, c.Intervals[i].ServerCPU = 0, 0
	}
}

func (l *openLoad) scenario(r *Result) Scenario {
	return Scenario{Name: l.Name, Kind: l.Kind, VUs: r.Concurrency, Planned: r.Planned, Completed: r.Completed, Wrong: r.Wrong(),
		Dropped: r.Dropped, Unfinished: r.Unfinished, Duration: max(0, r.Duration-l.Start), Response: r.Response, StartLag: r.StartLag}
}

// warnOf keeps what is doubtful about one load alone.
func (r *Result) warnOf(name string, o *Result) {
	for _, w := range o.Warnings {
		if !slices.ContainsFunc(r.Warnings, func(own finding.Warning) bool { return own.Code == w.Code }) {
			w.Text = "scenario " + name + ": " + w.Text
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// addScenarios adds up those of generators that drove the same ones.
func (r *Result) addScenarios(all []Scenario) {
	for _, o := range all {
		mine := r.scenario(o)
		mine.VUs += o.VUs
		mine.Planned += o.Planned
		mine.Completed += o.Completed
		mine.Wrong += o.Wrong
		mine.Dropped += o.Dropped
		mine.Unfinished += o.Unfinished
		mine.Duration = max(mine.Duration, o.Duration)
		mergeHist(&mine.Response, o.Response)
		mergeHist(&mine.StartLag, o.StartLag)
	}
	slices.SortFunc(r.Scenarios, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
}

func (r *Result) scenario(like Scenario) *Scenario {
	for i := range r.Scenarios {
		if r.Scenarios[i].Name == like.Name {
			return &r.Scenarios[i]
		}
	}
	r.Scenarios = append(r.Scenarios, Scenario{Name: like.Name, Kind: like.Kind})
	return &r.Scenarios[len(r.Scenarios)-1]
}
