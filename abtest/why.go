package abtest

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	runtimepprof "runtime/pprof"
	"slices"
	"strings"
	"time"

	"contend/internal/cpu"
	"contend/internal/perf"
	"contend/internal/unit"
	"contend/why"
	"contend/why/pprof"
	"contend/why/symbol"
)

// sampledBlock is about how long a function runs at a time while it is sampled: the rounds together
// take some three seconds. Where the kernel takes no samples the runtime takes a tenth as many, and
// they take some twelve.
var sampledBlock = 100 * time.Millisecond

const (
	// longestRound is how long a round may take at most where a block is one operation, and so
	// cannot be made smaller. A longer one of more operations is a busy machine's.
	longestRound = 2 * time.Second
	// mostRows bounds the rows about what grew.
	mostRows = 3
)

// A sampler takes samples of where this process spends CPU time. It is a perf.Sampler.
type sampler interface {
	Start() error
	Stop() (*perf.Samples, error)
	Close() error
}

func sampleOwn() (sampler, error) { return perf.SampleOwn() }

// A way to make a profile of a block.
type way struct {
	block   time.Duration // about how long a function runs at a time
	profile func(do func(n int), n int) (why.Profile, error)
	end     func() error
}

// way returns a way to make profiles, and why it is not that by the samples of the kernel.
func (c Config) way() (w way, refused error) {
	s, err := c.sample()
	if err != nil {
		return way{10 * sampledBlock / 3, profileOwn, func() error { return nil }}, err
	}
	resolver := new(symbol.Resolver)
	return way{sampledBlock, func(do func(int), n int) (why.Profile, error) { return sample(s, resolver, do, n) }, s.Close}, nil
}

// explained is the result with what the candidate spends more CPU time on, a line for each kind
// of work that clearly differs, from blocks of their own; or with a line that says why that is
// not known.
func (r *Result) explained() string {
	if r.funcs[0].Do == nil {
		return r.String() // only the figures are known of it
	}
	e, err := r.config.explain(r.funcs)
	if err != nil {
		return fmt.Sprintf("%v\n  why: not known: %v", r, err)
	}
	lines, roots := r.String(), 0
	for _, root := range e.Roots {
		if root.Value > 0 && roots < mostRows {
			lines += fmt.Sprintf("\n  why: %s  in %s", unit.Signed(root.Value, unit.Duration), root.What()+root.Where(e.Baseline, e.Candidate))
			roots++
		}
	}
	for _, row := range e.Rows {
		lines += "\n  why: " + rowLine(row)
	}
	if roots == 0 && len(e.Rows) == 0 {
		lines += "\n  why: not known: no function or kind of work clearly takes more CPU time"
	}
	return lines
}

// rowLine says by how much the CPU time of an operation differs, and in what.
func rowLine(row why.Row) string {
	text := unit.Signed(row.Value, unit.Duration) + "  " + row.Name
	if len(row.Functions) > 0 {
		text += " (" + strings.Join(row.Functions, ", ") + ")"
	}
	return text
}

// explain says what differs, and of kinds of work only those that grew most.
func (c Config) explain(funcs [2]Func) (why.Explanation, error) {
	w, refused := c.way()
	defer w.end()
	c.Block = w.block
	p, err := prepare(c, funcs[0], funcs[1])
	if err != nil {
		return why.Explanation{}, err
	}
	p.stretch()
	e, err := p.explain(w)
	if err != nil && refused != nil {
		err = fmt.Errorf("%s; nor does the program profile itself: %w", perf.InShort(refused), err)
	}
	return e, err
}

// mostStretched is how many times as long blocks may be for lack of CPU time.
const mostStretched = 4

// stretch makes blocks longer whose functions use the CPU for only a part of them, as they wait or other programs
// use it: samples are taken of CPU time alone.
func (p *pair) stretch() {
	for i, f := range p.funcs {
		if p.ops[i] == 1 {
			continue // as long as a block has to be
		}
		before, _ := cpu.Time()
		run(f.Do, p.ops[i])
		if after, known := cpu.Time(); known {
			short := float64(p.config.Block) / float64(max(1, after-before))
			p.ops[i] = int(float64(p.ops[i]) * min(max(1, short), mostStretched))
		}
	}
}

func (p *pair) explain(w way) (why.Explanation, error) {
	var profiles []why.Profile
	stacks := [2][]why.Stacks{make([]why.Stacks, 1), make([]why.Stacks, 1)}
	for n := range why.LeastRounds {
		began := time.Now()
		for _, i := range [][]int{{0, 1}, {1, 0}}[n%2] {
			runtime.GC()
			profile, err := w.profile(p.funcs[i].Do, p.ops[i])
			if err != nil {
				return why.Explanation{}, err
			}
			stacks[i][0].Add(profile.Stacks, profile.Operations)
			profile.Arm, profile.Round, profile.Concurrency = p.funcs[i].Name, n+1, 1
			profiles = append(profiles, profile)
		}
		if took := time.Since(began); took > longestRound && min(p.ops[0], p.ops[1]) == 1 {
			return why.Explanation{}, fmt.Errorf("a pair of blocks took %v, more than the %v that samples are worth here", took.Round(10*time.Millisecond), longestRound)
		}
	}
	e, ok := why.Explain(profiles, p.funcs[0].Name, p.funcs[1].Name, 1, p.config.Confidence, nil)
	if !ok {
		return e, fmt.Errorf("only %d of %d rounds have CPU time of both", e.Rounds, why.LeastRounds)
	}
	e.Trace(why.OwnCallsOf(stacks[:], nil, math.MaxInt), nil, 0, 1, nil, why.Program{})
	e.Rows = slices.DeleteFunc(e.Rows, func(row why.Row) bool { return row.Value <= 0 })
	e.Rows = e.Rows[:min(mostRows, len(e.Rows))]
	return e, nil
}

// sample performs n operations while the kernel takes samples.
func sample(s sampler, resolver *symbol.Resolver, do func(int), n int) (why.Profile, error) {
	if err := s.Start(); err != nil {
		return why.Profile{}, err
	}
	before, _ := cpu.Time()
	do(n)
	after, _ := cpu.Time()
	samples, err := s.Stop()
	if err != nil {
		return why.Profile{}, err
	}
	return why.NewProfile(why.Resolve(samples, resolver), after-before, after-before, int64(n), nil), nil
}

// profileOwn performs n operations while the runtime takes samples, 100 a second of CPU time, which distribute
// what the system says was used, if it does. The error says that somebody else has it do so.
func profileOwn(do func(int), n int) (why.Profile, error) {
	var body bytes.Buffer
	if err := runtimepprof.StartCPUProfile(&body); err != nil {
		return why.Profile{}, err
	}
	before, _ := cpu.Time()
	do(n)
	after, known := cpu.Time()
	runtimepprof.StopCPUProfile()
	its, err := pprof.ReadCPU(body.Bytes())
	if err != nil {
		return why.Profile{}, err
	}
	if known {
		its.Time = after - before
	}
	return why.NewOwnProfile(its, int64(n), nil), nil
}
