package trial

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"contend/failure"
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/why"
	"contend/why/symbol"
)

const (
	// sampledPairs is how many pairs of blocks a round of a diagnosis samples. The pair
	// before them is not sampled, and shows what sampling costs.
	sampledPairs = 4
	// sampledBlock is their length: with LeastRounds rounds each arm is sampled for 12 s, in
	// which a core at work gives 12,000 samples at 1000 Hz. A part of 5% is known to ±4% of itself.
	sampledBlock = 250 * time.Millisecond
	// mostFurther is how long further rounds may take: with a long warm-up there are fewer.
	mostFurther = 3 * time.Minute
)

// A Profiler takes samples of where the processes of an arm spend CPU time.
type Profiler interface {
	Start() error
	// Stop returns those since Start, with names by the resolver where the processes are of this machine.
	Stop(*symbol.Resolver) (*why.Samples, error)
	Close() error
}

// newProfiler makes a Profiler of a sampler, or passes on the error.
func newProfiler(s *perf.Sampler, err error) (Profiler, error) { return sampler{s}, err }

type sampler struct{ *perf.Sampler }

// Stop names what was sampled while the processes live.
func (s sampler) Stop(r *symbol.Resolver) (*why.Samples, error) {
	samples, err := s.Sampler.Stop()
	if err != nil {
		return nil, err
	}
	return why.Resolve(samples, r), nil
}

// A Diagnosis is what arms spent their CPU time on, in rounds of its own.
type Diagnosis struct {
	Profiles []why.Profile `json:"profiles"`
	// Overhead is the share of the throughput that sampling cost; 0: it was not seen to.
	Overhead float64 `json:"overhead,omitempty"`
	// TraceOverhead is what execution traces cost, measured in the same way in blocks of their own.
	TraceOverhead float64       `json:"trace_overhead,omitempty"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	// Failed is why the rounds did not come to their end; of such there is nothing else.
	Failed   string            `json:"failed,omitempty"`
	Failures []failure.Failure `json:"failures,omitempty"` // the same as values
	// Missing says what could not be seen, and what to do about it.
	Missing []string `json:"missing,omitempty"`
	// Untraced are the arms without execution traces.
	Untraced []Silent `json:"untraced,omitempty"`
	// WithoutSnapshots are those that were not asked, or did not tell, what they count of themselves.
	WithoutSnapshots []Silent `json:"without_snapshots,omitempty"`
	// Explanations are not stored: Derive computes them.
	Explanations []why.Explanation `json:"-"`
	// Calls are the largest of Stacks, with the arms in their order.
	Calls []why.Call `json:"calls,omitempty"`
	// OwnCalls are the largest of the program's own functions, with those of libraries that they call.
	OwnCalls []why.Call `json:"own_calls,omitempty"`
	why.Program
	// Instructions are of each candidate, where samples left open which function differs.
	Instructions []why.Instructions `json:"instructions,omitempty"`
	// Uncounted is why that failed.
	Uncounted string `json:"uncounted,omitempty"`
	// Stacks are those of each arm at each level. They are not stored.
	Stacks []why.Stacks `json:"-"`

	own             *regexp.Regexp // as in Diagnose
	counter         Counter
	byThemselves    bool      // programs sample themselves
	further         bool      // the least rounds named no function
	tracedLogRatios []float64 // ln(throughput while traced ÷ throughput before)
}

// Diagnose drives the arms by the plan in interleaved blocks, as Compare does, over rounds of fresh processes
// until why.LeastRounds are whole, or cannot be in why.MostRounds, and samples where they spend CPU time; if that names no
// function, over up to why.FurtherRounds, in three more minutes. What it measures is not part of a verdict, and the diagnosis says
// what went wrong, and then has nothing else. The error is a mistake in what was asked for, or that ctx is done.
//
// If samples cannot be taken programs in Go that can be inspected are asked for their own. Functions whose name or file
// matches own are the programs' own, to which differences are traced back; nil: see why.NewProfile.
//
// Where the least rounds name no function that differs by at least leastTimed of the CPU time, the counter counts instructions.
// Only if these tell nothing either are there further rounds.
func Diagnose(ctx context.Context, arms []Arm, plan load.Plan, d Design, own *regexp.Regexp, counter Counter, observe func(Progress)) (*Diagnosis, error) {
	d.Rounds, d.Duration, d.Precision = why.LeastRounds, 0, 0
	d.Pairs, d.Block = 1+sampledPairs, sampledBlock
	d.Metrics, d.Duet, d.Probe = []metric.Name{metric.Throughput}, nil, nil
	c, err := newComparing(arms, plan, d, foretold(observe, diagnosisTakes(len(arms), d, false)))
	if err != nil {
		return nil, err
	}
	diagnosis, err := c.diagnose(ctx, &Diagnosis{own: own, counter: counter})
	if refused := err; errors.As(refused, new(*perf.UnavailableError)) && c.inspected {
		d.Pairs = 1 + itsPairs
		if c, err = newComparing(arms, plan, d, foretold(observe, diagnosisTakes(len(arms), d, true))); err != nil {
			return nil, err
		}
		diagnosis, err = c.diagnose(ctx, &Diagnosis{Missing: []string{byThemselves(refused)}, own: own, byThemselves: true})
		if errors.As(err, new(*perf.UnavailableError)) {
			return &Diagnosis{Missing: []string{perf.InShort(refused), perf.InShort(err)}}, nil
		}
	}
	switch {
	case ctx.Err() != nil && diagnosis != nil:
		return diagnosis, ctx.Err() // without the rounds that are missing
	case ctx.Err() != nil:
		return &Diagnosis{Failed: "it was interrupted"}, ctx.Err()
	case errors.As(err, new(*perf.UnavailableError)):
		return &Diagnosis{Missing: []string{perf.InShort(err)}}, nil
	case err != nil:
		return &Diagnosis{Failed: err.Error(), Failures: failure.All(err)}, nil
	}
	return diagnosis, nil
}

// diagnose runs all rounds for a diagnosis and returns it.
func (c *comparing) diagnose(ctx context.Context, d *Diagnosis) (*Diagnosis, error) {
	c.random = rand.New(rand.NewPCG(c.trials.Design.Seed, 2))
	c.diagnosis = d
	began := time.Now()
	if err := c.sizeAlone(ctx); err != nil {
		return nil, err
	}
	rounds := &c.trials.Design.Rounds
	for n := 1; n <= *rounds && d.possible(c.trials, max(0, why.MostRounds-n+1)); n++ {
		if err := c.round(ctx, n); err != nil {
			if ctx.Err() == nil || n <= why.LeastRounds {
				return nil, err
			}
			d.Profiles = slices.DeleteFunc(d.Profiles, func(p why.Profile) bool { return p.Round == n })
			break
		}
		switch {
		case !d.whole(n) && *rounds < why.MostRounds:
			*rounds++
		case n == *rounds && n <= why.MostRounds && !d.byThemselves:
			each, counting := time.Since(began)/time.Duration(n), time.Now()
			if !d.answers(ctx, c.trials) {
				*rounds, d.further = min(why.FurtherRounds, n+int(mostFurther/each)), true
			}
			began = began.Add(time.Since(counting)) // counting is no sampling
		}
	}
	d.Elapsed = time.Since(began)
	if d.further || d.Calls == nil {
		d.attribute(c.trials.Arms)
	}
	d.Overhead, d.TraceOverhead = cost(c.trials.sampledLogRatios()), cost(d.tracedLogRatios)
	return d, ctx.Err()
}

// attribute finds the calls of the arms, and what their code shows.
func (d *Diagnosis) attribute(arms []string) {
	if stacks := d.stacks(arms); stacks != nil {
		d.Calls, d.OwnCalls = why.CallsOf(stacks, mostCalls), why.OwnCallsOf(stacks, d.own, mostCalls)
		d.Program = why.ProgramOf(stacks)
	}
}

// sampledPair drives one block of every arm of the order while it is sampled.
func (r *round) sampledPair(ctx context.Context, sessions []*load.Session, at position, order []int) ([]Cell, error) {
	cells := make([]Cell, len(r.arms))
	for _, arm := range order {
		r.report(arm, at)
		cell, profile, err := r.sample(ctx, r.lives[arm], sessions[arm], r.blockPlan(at.level))
		if err != nil {
			return cells, Named(r.arms[arm].Name, err)
		}
		cells[arm] = cell
		profile.Arm, profile.Round, profile.Concurrency = r.arms[arm].Name, r.number, at.level
		r.diagnosis.add(profile)
		if err := r.note(ctx, arm, at, cell); err != nil {
			return cells, err
		}
	}
	return cells, nil
}

// sample drives a live arm by the plan while it is sampled, or samples itself.
func (r *round) sample(ctx context.Context, l *Live, s *load.Session, plan load.Plan) (Cell, why.Profile, error) {
	if r.diagnosis.byThemselves {
		return l.profileItself(ctx, s, plan, r.diagnosis.own)
	}
	r.inspected = l.Inspect != nil
	return l.sample(ctx, s, plan, &r.resolver, r.diagnosis)
}

// possible reports whether some candidate can have enough whole rounds at some level, with as many more as are left.
func (d *Diagnosis) possible(t *Trials, left int) bool {
	return slices.ContainsFunc(t.Arms[1:], func(candidate string) bool {
		return slices.ContainsFunc(t.Design.Levels, func(level int) bool {
			return why.Rounds(d.Profiles, t.Arms[0], candidate, level)+left >= why.LeastRounds
		})
	})
}

// whole reports whether nothing of a round is empty.
func (d *Diagnosis) whole(round int) bool {
	return !slices.ContainsFunc(d.Profiles, func(p why.Profile) bool { return p.Round == round && !p.Whole() })
}

// Undiagnosed reports whether rounds that were to say why left a candidate without an answer at some level,
// as they failed, or too few of them had operations and CPU time.
func (t *Trials) Undiagnosed() bool {
	if t.Why == nil {
		return false
	}
	return t.Why.Failed != "" || len(t.Why.Profiles) > 0 && len(t.Why.Explanations) < (len(t.Arms)-1)*len(t.Design.Levels)
}

// add adds what a block showed to the profile of its arm in this round.
func (d *Diagnosis) add(p why.Profile) {
	if p.KernelMissing != "" && !slices.Contains(d.Missing, p.KernelMissing) {
		d.Missing = append(d.Missing, p.KernelMissing)
	}
	d.keep(p)
	p.Stacks = nil
	if known := d.profileOf(p.Arm, p.Round, p.Concurrency); known != nil {
		known.Add(p)
	} else {
		d.Profiles = append(d.Profiles, p)
	}
}

// keep adds the stacks of a profile to those of its arm at this level.
func (d *Diagnosis) keep(p why.Profile) {
	at := slices.IndexFunc(d.Stacks, func(s why.Stacks) bool { return s.Arm == p.Arm && s.Concurrency == p.Concurrency })
	if at < 0 {
		at = len(d.Stacks)
		d.Stacks = append(d.Stacks, why.Stacks{Arm: p.Arm, Concurrency: p.Concurrency})
	}
	d.Stacks[at].Add(p.Stacks, p.Operations)
}

// mostCalls bounds what a document has: 30 kB, and as many as a page has room for.
const mostCalls = 400

// stacks are nil where an arm was not sampled.
func (d *Diagnosis) stacks(arms []string) [][]why.Stacks {
	stacks := make([][]why.Stacks, len(arms))
	for i, arm := range arms {
		if stacks[i] = d.StacksOf(arm); stacks[i] == nil {
			return nil
		}
	}
	return stacks
}

// StacksOf returns the stacks of an arm, one entry for each level; nil: nothing was sampled.
func (d *Diagnosis) StacksOf(arm string) []why.Stacks {
	var levels []why.Stacks
	for _, s := range d.Stacks {
		if s.Arm == arm {
			levels = append(levels, s)
		}
	}
	return levels
}

// sample drives the live arm by the plan while it is sampled, in further rounds more often where its sampler can.
func (l *Live) sample(ctx context.Context, s *load.Session, plan load.Plan, resolver *symbol.Resolver, d *Diagnosis) (cell Cell, p why.Profile, err error) {
	if l.profiler == nil {
		if l.Profile == nil && l.isLocal() {
			l.Profile = func() (Profiler, error) { return newProfiler(perf.SampleOwn()) }
		}
		if l.Profile == nil {
			return Cell{}, p, &perf.UnavailableError{Event: perf.CPUTime, Reason: "no process is known that is measured", Advice: "compare servers"}
		}
		profiler, err := l.Profile()
		if err != nil {
			return Cell{}, p, errors.Join(l.died(1), err)
		}
		if more, ok := profiler.(interface{ Often() error }); ok && d.further {
			_ = more.Often() // what it refuses, it does as usual
		}
		l.profiler = profiler
	}
	server := l.sampled()
	before, err := server.Sample()
	if err = errors.Join(err, l.profiler.Start()); err != nil {
		return Cell{}, p, err
	}
	watched := watch(server, resolver)
	cell, err = l.Drive(ctx, s, plan)
	waits := watched()
	after, sampled := server.Sample()
	samples, stopped := l.profiler.Stop(resolver)
	switch err = errors.Join(err, stopped, sampled); {
	case err != nil:
		return cell, p, err
	case cell.Unsampled != "":
		return cell, p, &perf.UnavailableError{Event: perf.CPUTime, Reason: cell.Unsampled, Advice: "see `contend explain not_sampled`"}
	case l.usage(cell) == nil: // its processes have ended, all or those that somebody else started
		return cell, p, cmp.Or(l.died(1), error(&perf.UnavailableError{Event: perf.CPUTime, Advice: "keep it running while it is measured",
			Reason: "its CPU time was not read to the end: a process of the server ended or began meanwhile"}))
	}
	used, window := after.Sub(before), l.usage(cell)
	p = why.NewProfile(samples, used.CPU, seconds(window.CPUSec), cell.Ops, d.own)
	p.OffCPU = offCPU(used, window, waits)
	if plan.Pacer == nil {
		p.Response = time.Duration(cell.Response.Count()) * cell.Response.Mean()
	}
	for _, b := range waits.Blocked {
		p.AddBlocked(b.Call, b.Frames, time.Duration(b.Threads*float64(cell.Duration)), d.own)
	}
	return cell, p, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// sampledLogRatios returns ln(throughput while sampled ÷ throughput before) of each arm in
// each round.
func (t *Trials) sampledLogRatios() []float64 {
	type visit struct {
		arm          string
		round, level int
	}
	var sums [2]map[visit]float64
	var blocks [2]map[visit]int
	for i := range sums {
		sums[i], blocks[i] = map[visit]float64{}, map[visit]int{}
	}
	for _, b := range t.Blocks {
		v, sampled := visit{b.Arm, b.Round, b.Concurrency}, min(1, b.Pair-1)
		sums[sampled][v] += b.ThroughputPerSec
		blocks[sampled][v]++
	}
	var logs []float64
	for v, before := range sums[0] {
		if after := sums[1][v]; before > 0 && after > 0 {
			logs = append(logs, math.Log(after/float64(blocks[1][v])*float64(blocks[0][v])/before))
		}
	}
	return logs
}

// explain computes the explanations of every candidate at every level.
func (d *Diagnosis) explain(arms []string, levels []int, confidence float64) {
	d.Explanations = nil
	renamed, as := make([]map[string]string, len(arms)), make([][]why.Profile, len(arms))
	for i, candidate := range arms[1:] {
		renamed[i+1] = why.Renamed(d.Profiles, [2]string{arms[0], candidate}, d.OwnCalls, 0, i+1)
		as[i+1] = why.As(d.Profiles, candidate, renamed[i+1])
	}
	for _, level := range levels {
		for i, candidate := range arms[1:] {
			if e, ok := why.Explain(as[i+1], arms[0], candidate, level, confidence, d.Changed); ok {
				e.Trace(d.OwnCalls, d.Calls, 0, i+1, renamed[i+1], d.Program)
				e.Count(d.Instructions, d.OwnCalls, d.Calls, 0, i+1, d.Changed)
				d.Explanations = append(d.Explanations, e)
			}
		}
	}
}
