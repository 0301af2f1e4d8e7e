package trial

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"contend/internal/perf"
	"contend/internal/symbol"
	"contend/load"
	"contend/metric"
	"contend/stat"
	"contend/why"
)

const (
	// sampledPairs is how many pairs of blocks a round of a diagnosis samples, behind one
	// that it does not sample, beside which it shows what sampling costs.
	sampledPairs = 2
	// sampledBlock is their length: with LeastRounds rounds each arm is sampled for 6 s, in
	// which a core at work gives 6000 samples at 1000 Hz. A part of 5 % is known to ±6 % of itself.
	sampledBlock = 250 * time.Millisecond
)

// A Profiler takes samples of where the processes of an arm spend CPU time. It is a
// perf.Sampler.
type Profiler interface {
	Start() error
	Stop() (*perf.Samples, error) // since Start
	Close() error
}

var _ Profiler = (*perf.Sampler)(nil)

// A Diagnosis is what arms spent their CPU time on, in rounds of its own.
type Diagnosis struct {
	Profiles []why.Profile `json:"profiles"`
	// Overhead is the share of the throughput that sampling cost; 0: it was not seen to.
	Overhead float64       `json:"overhead,omitempty"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	// Failed is why the rounds did not come to their end; of such there is nothing else.
	Failed string `json:"failed,omitempty"`
	// Missing says what could not be seen, and what to do about it.
	Missing []string `json:"missing,omitempty"`
	// Explanations are not stored: Derive computes them.
	Explanations []why.Explanation `json:"-"`
	// Stacks are those of each arm at each level. They are not stored.
	Stacks []why.Stacks `json:"-"`
}

// Diagnose drives the arms by the plan in interleaved blocks, as Compare does, over
// why.LeastRounds rounds of fresh processes, and samples where they spend CPU time. What it
// measures is no part of a verdict, and what goes wrong is said in the diagnosis, which then has
// nothing else. The error is a mistake in what was asked for, or that ctx is done.
func Diagnose(ctx context.Context, arms []Arm, plan load.Plan, d Design, observe func(Progress)) (*Diagnosis, error) {
	d.Rounds, d.Duration, d.Precision = why.LeastRounds, 0, 0
	d.Pairs, d.Block = 1+sampledPairs, sampledBlock
	d.Metrics, d.Duet, d.Probe = []metric.Name{metric.Throughput}, nil, nil
	c, err := newComparing(arms, plan, d, observe)
	if err != nil {
		return nil, err
	}
	c.random = rand.New(rand.NewPCG(d.Seed, 2))
	c.diagnosis = &Diagnosis{}
	began := time.Now()
	for n := 1; n <= d.Rounds && err == nil; n++ {
		err = c.round(ctx, n)
	}
	switch {
	case ctx.Err() != nil:
		return &Diagnosis{Failed: "it was interrupted"}, ctx.Err()
	case errors.As(err, new(*perf.UnavailableError)):
		return &Diagnosis{Missing: []string{inShort(err)}}, nil
	case err != nil:
		return &Diagnosis{Failed: err.Error()}, nil
	}
	c.diagnosis.Elapsed = time.Since(began)
	c.diagnosis.Overhead = max(0, 1-math.Exp(stat.Center(c.trials.sampledLogRatios())))
	return c.diagnosis, nil
}

// DiagnosisTakes is about how long the diagnosis of so many arms takes, where answers take much less
// than a block: each is started and warmed up in each round, and driven in blocks behind their lead-ins.
func DiagnosisTakes(arms int, d Design) time.Duration {
	const startAndStop = 100 * time.Millisecond
	leadIn := lengthen(sampledBlock, 0, 1).leadIn
	return why.LeastRounds * time.Duration(arms) * (startAndStop + time.Duration(max(1, len(d.Levels)))*(d.Warmup+(1+sampledPairs)*(leadIn+sampledBlock)))
}

// sampledPair drives one block of every arm of the order while it is sampled.
func (r *round) sampledPair(ctx context.Context, sessions []*load.Session, at position, order []int) ([]Cell, error) {
	cells := make([]Cell, len(r.arms))
	for _, arm := range order {
		r.report(arm, at)
		cell, profile, err := r.lives[arm].sample(ctx, sessions[arm], r.blockPlan(at.level), &r.resolver)
		if err != nil {
			return cells, named(r.arms[arm].Name, err)
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

// add adds what a block showed to the profile of its arm in this round.
func (d *Diagnosis) add(p why.Profile) {
	if p.KernelMissing != "" && !slices.Contains(d.Missing, p.KernelMissing) {
		d.Missing = append(d.Missing, p.KernelMissing)
	}
	d.keep(p)
	p.Stacks = nil
	for i := range d.Profiles {
		if q := &d.Profiles[i]; q.Arm == p.Arm && q.Round == p.Round && q.Concurrency == p.Concurrency {
			q.Add(p)
			return
		}
	}
	d.Profiles = append(d.Profiles, p)
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

// sample drives the live arm by the plan while it is sampled.
func (l *Live) sample(ctx context.Context, s *load.Session, plan load.Plan, resolver *symbol.Resolver) (cell Cell, p why.Profile, err error) {
	if l.profiler == nil {
		if l.Profile == nil {
			return Cell{}, p, &perf.UnavailableError{Event: perf.CPUTime, Reason: "no process is known that is measured", Advice: "compare servers"}
		}
		profiler, err := l.Profile()
		if err != nil {
			return Cell{}, p, errors.Join(l.died(1), err)
		}
		l.profiler = profiler
	}
	server := l.server()
	before, err := server.Sample()
	if err = errors.Join(err, l.profiler.Start()); err != nil {
		return Cell{}, p, err
	}
	blocked := watchBlocked(server)
	cell, err = l.Drive(ctx, s, plan)
	waits := blocked()
	samples, stopped := l.profiler.Stop()
	after, sampled := server.Sample()
	switch err = errors.Join(err, stopped, sampled); {
	case err != nil:
		return cell, p, err
	case cell.Unsampled != "":
		return cell, p, &perf.UnavailableError{Event: perf.CPUTime, Reason: cell.Unsampled, Advice: "see `contend explain not_sampled`"}
	case cell.Server == nil:
		return cell, p, errors.New("what it uses is not known")
	}
	p = why.NewProfile(samples, resolver, after.Sub(before).CPU, seconds(cell.Server.CPUSec), cell.Ops)
	if plan.Pacer == nil {
		p.Response = time.Duration(cell.Response.Count()) * cell.Response.Mean()
	}
	for call, threads := range waits {
		p.Blocked = append(p.Blocked, why.Blocked{Call: call, Time: time.Duration(threads * float64(cell.Duration))})
	}
	slices.SortFunc(p.Blocked, func(a, b why.Blocked) int { return strings.Compare(a.Call, b.Call) })
	return cell, p, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

const (
	// lookEvery is the time between two looks at what threads wait in: each opens a file for
	// each thread, a tenth of a millisecond for ten of them.
	lookEvery = 10 * time.Millisecond
	// lookRest is how often a look's own time passes at least until the next: of thousands of
	// threads it would take a core.
	lookRest = 20
)

// watchBlocked looks what the threads of a server wait in until the returned function is called, which
// returns how many threads on average waited in each system call.
func watchBlocked(server Sampler) (stop func() map[string]float64) {
	sums, looks := map[string]float64{}, 0.0
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			looks++
			began := time.Now()
			for call, threads := range server.Blocked() {
				sums[call] += float64(threads)
			}
			timer.Reset(max(lookEvery, lookRest*time.Since(began)))
		}
	}()
	return func() map[string]float64 {
		close(done)
		<-ended
		for call := range sums {
			sums[call] /= looks
		}
		return sums
	}
}

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
	for _, level := range levels {
		for _, candidate := range arms[1:] {
			if e, ok := why.Explain(d.Profiles, arms[0], candidate, level, confidence); ok {
				d.Explanations = append(d.Explanations, e)
			}
		}
	}
}
