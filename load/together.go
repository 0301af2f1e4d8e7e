package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/pace"
)

// A Generator is what one of several generators of a run was and did.
type Generator struct {
	Name string `json:"name"`
	// Machine tells apart which of them share cores: it is that of the machine's last start.
	Machine string `json:"machine"`
	VUs     int    `json:"vus"`
	// Share is its part of what was planned.
	Share pace.Share `json:"share,omitzero"`
	// Lost is why its part is missing from the result, wholly or from some moment on; "": it
	// is not.
	Lost string `json:"lost,omitempty"`

	Completed int64   `json:"completed"`
	Wrong     int64   `json:"wrong"` // failed, or without an answer
	CPUSec    float64 `json:"cpu_s"`
	// CPUShare is what it used of the CPU that it could get, up to 1; 0: not known.
	CPUShare float64 `json:"cpu_share,omitempty"`
	// These are of a single run; 0 of several.
	ThroughputPerSec float64       `json:"throughput_per_s,omitempty"`
	ResponseP50      time.Duration `json:"response_p50_ns,omitempty"`
	ResponseP99      time.Duration `json:"response_p99_ns,omitempty"`
	StartLagP99      time.Duration `json:"start_lag_p99_ns,omitempty"`
	// Times are how many of its right answers took how long, by the rows of timesOf.
	Times HeatColumn `json:"answer_times,omitempty"`
	// Standing is how it compares with the others.
	Standing Standing `json:"standing,omitzero"`

	// BeganLate is how long after the agreed moment it began, by its own clock, and ClockBound how
	// far that may be off.
	BeganLate  time.Duration `json:"began_late_ns"`
	ClockBound time.Duration `json:"clock_bound_ns"`
}

// A Part is what one generator did of a run: the result of its share of the plan, nil where it
// is lost.
type Part struct {
	Generator
	*Result
}

// Split returns the plans of generators with these weights, each at least 1, which together do
// what the plan does. There must be as many VUs as all weights together. Where iterations are limited,
// and fewer, those of some generators are 0: these have nothing to do, and are to be left out.
func (p Plan) Split(weights []int) ([]Plan, error) {
	var all int
	for _, w := range weights {
		all += w
	}
	if p.VUs < all {
		return nil, fmt.Errorf("concurrency %d cannot be divided by weights of %d together: each needs a caller", p.VUs, all)
	}
	plans := make([]Plan, len(weights))
	first, window := p.firstCounted(), time.Duration(0)
	if p.Pacer != nil {
		window = p.ends() - p.Warmup
	}
	for i, share := range pace.Shares(weights) {
		plans[i] = p
		plans[i].VUs = int(share.Count(int64(p.VUs)))
		if plans[i].Share = share; p.Iterations > 0 {
			plans[i].Iterations = share.Count(first+p.Iterations) - share.Count(first)
			plans[i].Window = window
		}
	}
	return plans, nil
}

// firstCounted returns how many arrivals are due before the measured window.
func (p Plan) firstCounted() (n int64) {
	if p.Pacer == nil {
		return 0
	}
	for schedule := p.schedule(); schedule.Next() < p.Warmup; n++ {
	}
	return n
}

// Together returns the result of generators that drove a target by the plan at the same time; at least one of them is
// not lost. Servers are sampled on the machine here. Counts and histograms add up exactly: the result is that of one
// generator that did it all, except for what each machine spent.
func Together(plan Plan, here string, parts []Part) *Result {
	sum := &Result{Model: plan.Model(), Concurrency: plan.VUs, Plan: plan, Counts: newSum()}
	var first *Result
	for _, p := range parts {
		if p.Result != nil {
			sum.Duration, sum.Whole = max(sum.Duration, p.Result.Duration), max(sum.Whole, p.Result.Whole)
			first = cmp.Or(first, p.Result)
		}
	}
	sum.Target, sum.Timer, sum.Engine, sum.EngineReason, sum.Stopped, sum.Script = first.Target, first.Timer, first.Engine, first.EngineReason, first.Stopped, first.Script
	sum.Course, sum.Shares = NewCourse(plan.Warmup), first.Shares
	machines := map[string]Cost{}
	for _, p := range parts {
		sum.Generators = append(sum.Generators, p.generator())
		if p.Result == nil {
			continue
		}
		sum.join(p.Result)
		if p.Result != first {
			sum.Shares = sum.Shares.plus(p.Result.Shares)
		}
		cost := machines[p.Machine]
		cost.alongside(&p.Result.Cost, true)
		machines[p.Machine] = cost
	}
	stand(sum.Generators, parts)
	for _, cost := range machines {
		sum.Cost.alongside(&cost, false)
	}
	sum.ServerApart = !slices.ContainsFunc(parts, func(p Part) bool { return p.Machine == here })
	sum.sortMeters()
	sum.Course.Close()
	sum.Course.forget()
	sum.Derive()
	return sum
}

// join adds what one generator did, whose measured window is not the longest.
func (r *Result) join(o *Result) {
	if o.Stopped.cut() {
		r.Stopped, r.Outage = o.Stopped, o.Outage
	}
	if o.Engine != r.Engine {
		r.Engine, r.EngineReason = Goroutines, cmp.Or(o.EngineReason, r.EngineReason)
	}
	r.Loops += o.Loops
	r.StartLagAllowed = max(r.StartLagAllowed, o.StartLagAllowed)
	r.Idle += o.Idle
	if r.Model == ClosedModel {
		r.Idle += time.Duration(o.Concurrency) * (r.Duration - o.Duration)
	}
	r.Overhang += o.Overhang
	r.Counts.Add(&o.Counts)
	r.addScenarios(o.Scenarios)
}

// generator returns what a document says about a part.
func (p *Part) generator() Generator {
	g := p.Generator
	r := p.Result
	if r == nil {
		return g
	}
	g.VUs, g.Share, g.BeganLate = r.Concurrency, r.Plan.Share, r.BeganLate
	g.Completed, g.Wrong, g.ThroughputPerSec = r.Completed, r.Wrong(), r.ThroughputPerSec
	g.ResponseP50, g.ResponseP99, g.StartLagP99 = r.Response.Quantile(0.5), r.Response.Quantile(0.99), r.StartLag.Quantile(0.99)
	g.Times = timesOf(r.Response)
	g.CPUSec, g.CPUShare = r.GeneratorCPUSec, r.generatorUse(0)
	return g
}

// mergeGenerators adds up what generators did in several runs, one after another; what was typical of
// each of these is typical of none together.
func mergeGenerators(sum, next []Generator) []Generator {
	for _, g := range next {
		i := slices.IndexFunc(sum, func(s Generator) bool { return s.Name == g.Name })
		if i < 0 {
			g.ThroughputPerSec, g.ResponseP50, g.ResponseP99, g.StartLagP99 = 0, 0, 0, 0
			sum = append(sum, g)
			continue
		}
		s := &sum[i]
		s.Lost = cmp.Or(s.Lost, g.Lost)
		s.Completed += g.Completed
		s.Wrong += g.Wrong
		if s.CPUShare*g.CPUShare == 0 {
			s.CPUShare = 0
		} else { // what it could get adds up
			s.CPUShare = (s.CPUSec + g.CPUSec) / (s.CPUSec/s.CPUShare + g.CPUSec/g.CPUShare)
		}
		s.CPUSec += g.CPUSec
		s.Times = s.Times.plus(g.Times)
		s.Standing.add(g.Standing)
		s.BeganLate, s.ClockBound = max(s.BeganLate, g.BeganLate), max(s.ClockBound, g.ClockBound)
	}
	return sum
}

// alongside adds what others spent at the same time: a generator on the same machine, or those on
// another one.
func (c *Cost) alongside(o *Cost, sameMachine bool) {
	c.GeneratorCPUSec += o.GeneratorCPUSec
	c.GeneratorWaitedSec += o.GeneratorWaitedSec
	c.GeneratorStalledSec = max(c.GeneratorStalledSec, o.GeneratorStalledSec)
	c.GeneratorCPULimit += o.GeneratorCPULimit
	if sameMachine {
		c.GeneratorCores, c.GeneratorCPUs = max(c.GeneratorCores, o.GeneratorCores), max(c.GeneratorCPUs, o.GeneratorCPUs)
		c.MachineCPUSec, c.MachineCores = max(c.MachineCPUSec, o.MachineCPUSec), max(c.MachineCores, o.MachineCores)
		return
	}
	c.GeneratorCores, c.GeneratorCPUs = c.GeneratorCores+o.GeneratorCores, c.GeneratorCPUs+o.GeneratorCPUs
	c.MachineCPUSec, c.MachineCores = c.MachineCPUSec+o.MachineCPUSec, c.MachineCores+o.MachineCores
}

// lost returns the warning worker_lost where the part of a generator is missing; nil: none is.
func (r *Result) lost() *finding.Warning {
	var names []string
	for _, g := range r.Generators {
		if g.Lost != "" {
			names = append(names, fmt.Sprintf("%s (%s)", g.Name, g.Lost))
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return finding.WorkerLost.Refusal("%d of %d workers dropped out; the results are the others': %s", len(names), len(r.Generators), strings.Join(names, ", "))
}
