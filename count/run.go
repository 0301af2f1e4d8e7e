package count

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/failure"
	"contend/finding"
	"contend/load"
	"contend/stat"
	"contend/trial"
)

const (
	// slower is how many times as long everything may take under a simulator.
	slower = 50
	// LeastRepetitions have an interval that is worth something, and leastInterval have one at all.
	LeastRepetitions = 3
	leastInterval    = 2
	// drift is by how much those of the repetitions that begin later may differ, as a share of all instructions.
	drift = 0.02
	// atOnce is how many servers are counted at the same time: each has a processor, and what else runs changes no count.
	atOnce = 2
)

// errKilled is of a server whose counts are lost.
var errKilled = failure.With(errors.New("its server left no counts: it was killed before its end, as it did not end on SIGTERM in time"),
	failure.Failure{Advice: "have it end on SIGTERM, or give it more time (--stop-timeout)"})

// Options are the further inputs of Compare.
type Options struct {
	Tool Tool
	// Repetitions are LeastRepetitions or more.
	Repetitions int
	// Margin is that of the verdicts.
	Margin float64
	// Limit, if not 0, bounds the whole: after the first repetition, another one begins only if it would end in time, and
	// what is not done a tenth later is dropped.
	Limit time.Duration
	// Apart has one server counted after the other, since they cannot run at the same time.
	Apart bool
	// AnswersMayDiffer compares servers although they answer otherwise.
	AnswersMayDiffer bool
	// Kept, if set, has arms that are not counted again, and gets those that are.
	Kept *Kept
	// Observe, if set, gets the progress.
	Observe func(trial.Progress)
}

// A counter is a comparison under way.
type counter struct {
	Counts
	Options
	arms       []trial.Arm
	fresh      []trial.Arm // those that are not kept
	plan       load.Plan
	began      time.Time
	perOp      map[string][]costs              // by arm, of each repetition
	events     map[string][]map[string]float64 // of each life without the simulator
	answered   map[string]trial.Cell           // what arms answered in their last run
	warmUp     int64                           // iterations
	paced      time.Time
	repetition time.Duration // how long one takes, about; 0: unknown
	guessed    time.Duration // the same, by how long the servers take to start at full speed
	life       time.Duration // how long one without the simulator takes, about

	mu sync.Mutex // of what servers at the same time change
}

// Compare counts the instructions that operations of the arms cost. The first arm is the baseline, and the plan has the
// number of callers. On an error, and when ctx is done, the counts so far are also returned.
func Compare(ctx context.Context, arms []trial.Arm, plan load.Plan, o Options) (*Counts, error) {
	c := &counter{Options: o, arms: arms, plan: plan, began: time.Now(), life: guessedLife, perOp: map[string][]costs{}, answered: map[string]trial.Cell{}, events: map[string][]map[string]float64{}}
	c.Counts = Counts{Tool: o.Tool.Version, Operation: "request", Concurrency: plan.VUs, Repetitions: o.Repetitions, Margin: o.Margin}
	for _, arm := range arms {
		c.Arms = append(c.Arms, arm.Name)
	}
	c.recall()
	limited, cancel := trial.Limit(ctx, o.Limit+o.Limit/10)
	defer cancel()
	err := c.all(limited)
	if err == nil && c.Counts.Done() >= leastInterval && len(c.fresh) == len(c.arms) {
		c.withoutSimulator(limited)
	}
	timeUp := trial.IsTimeUp(limited) && (err == nil || errors.Is(err, context.Cause(limited)))
	if err == nil || errors.Is(err, context.Cause(limited)) { // and not what a server did before
		err = ctx.Err()
	}
	slices.SortStableFunc(c.Runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Repetition, b.Repetition), cmp.Compare(slices.Index(c.Arms, a.Arm), slices.Index(c.Arms, b.Arm)))
	})
	c.keep()
	c.compare(timeUp)
	c.Elapsed = time.Since(c.began)
	return &c.Counts, err
}

func (c *counter) all(ctx context.Context) error {
	if err := c.pace(ctx); err != nil {
		return err
	}
	c.paced = time.Now()
	for repetition := 1; repetition <= c.Counts.Repetitions && len(c.fresh) > 0; repetition++ {
		if repetition > 1 {
			c.repetition = time.Since(c.paced) / time.Duration(repetition-1)
			if c.Limit > 0 && time.Since(c.began)+c.repetition > c.Limit {
				return nil
			}
		}
		c.report(repetition-1, 0, fmt.Sprintf("repetition %d of %d", repetition, c.Counts.Repetitions))
		err := c.each(ctx, repetition, func(ctx context.Context, arm trial.Arm) error { return c.repeat(ctx, arm, repetition) })
		if err != nil {
			return err
		}
	}
	return nil
}

// each has something done with every arm that is not kept, some at the same time. After an error the others are ended.
func (c *counter) each(ctx context.Context, repetition int, do func(context.Context, trial.Arm) error) error {
	arms, most := slices.Clone(c.fresh), atOnce
	if repetition%2 == 0 { // whoever comes first is not always the same
		slices.Reverse(arms)
	}
	if c.Apart {
		most = 1
	}
	together, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for some := range slices.Chunk(arms, most) {
		var ended sync.WaitGroup
		for _, arm := range some {
			ended.Go(func() {
				if err := do(together, arm); err != nil && !trial.IsTimeUp(ctx) {
					fail(err) // the first of them
				}
			})
		}
		if ended.Wait(); together.Err() != nil {
			return context.Cause(together) // also where the time was up by the end of the others
		}
	}
	return nil
}

// repeat counts a short and a long run of an arm. Every second repetition begins to count later, after twice the warm-up:
// a cost that changes as the server lives shows as scatter.
func (c *counter) repeat(ctx context.Context, arm trial.Arm, repetition int) error {
	first := c.warmUp * int64(1+(repetition+1)%2)
	short, err := c.run(ctx, arm, repetition, first)
	if err != nil {
		return err
	}
	long, err := c.run(ctx, arm, repetition, first+c.Measured)
	if err != nil {
		return err
	}
	perOp := costs{each(long.own, short.own, c.Measured), each(long.lines, short.lines, c.Measured)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.perOp[arm.Name] = append(c.perOp[arm.Name], perOp)
	return nil
}

// costs are what one operation costs in instructions.
type costs struct {
	own   map[string]float64 // by function
	lines map[line]float64
}

func byFunction(c costs) map[string]float64 { return c.own }
func byLine(c costs) map[line]float64       { return c.lines }

func parts[Of comparable](list []costs, part func(costs) map[Of]float64) (parts []map[Of]float64) {
	for _, c := range list {
		parts = append(parts, part(c))
	}
	return parts
}

// leastCost is below what is executed by operations: it is left of the start.
const leastCost = 0.001

// each is by how much a long run counted more than a short one, for each of so many operations.
func each[Of comparable](long, short map[Of]int64, operations int64) map[Of]float64 {
	perOp := map[Of]float64{}
	keep := func(of Of, more int64) {
		if cost := float64(more) / float64(operations); math.Abs(cost) >= leastCost {
			perOp[of] = cost
		}
	}
	for of, n := range long {
		keep(of, n-short[of])
	}
	for of, n := range short {
		if _, also := long[of]; !also {
			keep(of, -n)
		}
	}
	return perOp
}

// run counts one life of an arm's server.
func (c *counter) run(ctx context.Context, arm trial.Arm, repetition int, iterations int64) (profile, error) {
	run := Run{Arm: arm.Name, Repetition: repetition, Iterations: iterations}
	counts, processes, err := c.live(ctx, arm, func(live *trial.Live, s *load.Session) error {
		cell, err := c.drive(ctx, live, s, iterations, slower)
		if err != nil {
			return err
		}
		run.Wrong, cell.Arm = iterations-cell.Completed, arm.Name
		c.mu.Lock()
		defer c.mu.Unlock()
		c.answered[arm.Name] = cell
		return nil
	})
	if err != nil {
		return counts, err
	}
	run.Processes, run.Instructions = processes, counts.total()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Runs = append(c.Runs, run)
	return counts, nil
}

// live has a server's life counted.
func (c *counter) live(ctx context.Context, arm trial.Arm, use func(*trial.Live, *load.Session) error) (counts profile, processes int, err error) {
	folder, err := os.MkdirTemp("", "contend-count-")
	if err != nil {
		return counts, 0, err
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o1733); err != nil { // processes of other users, as nginx starts some, write there as well
		return counts, 0, err
	}
	if err := c.drivenIn(ctx, folder, arm, use); err != nil {
		return counts, 0, c.explain(err, folder)
	}
	counts, processes, err = collect(folder)
	if err == nil && processes == 0 {
		err = errKilled
	}
	if err != nil {
		return counts, 0, trial.Named(arm.Name, err)
	}
	return counts, processes, nil
}

// limits are what the simulator cannot do. Last words of a server, or its own, tell that it was asked to.
var limits = []struct{ words, cause, advice string }{
	{"SIGILL", "it used an instruction of the processor that the simulator lacks (%s, SIGILL)",
		"install a later valgrind, or build the server for an older processor (GOAMD64=v1, -march=x86-64)"},
	{"Can't execute setuid", "its program is set-uid or set-gid, or has capabilities, and the simulator (%s) cannot run such programs",
		"count a copy of the program without them (cp), and as root if it needs the rights"},
}

// explain says of a server that failed by a limit of the simulator by which one.
func (c *counter) explain(err error, folder string) error {
	said := words(folder)
	for _, f := range failure.All(err) {
		for _, l := range limits {
			if strings.Contains(said+strings.Join(f.LastWords, " "), l.words) {
				cause := fmt.Sprintf(l.cause, c.Counts.Tool)
				return failure.About(cause+": ", err, failure.Failure{Cause: cause, Advice: l.advice})
			}
		}
	}
	return err
}

// drivenIn uses a server whose counts are in the folder when it has ended.
func (c *counter) drivenIn(ctx context.Context, folder string, arm trial.Arm, use func(*trial.Live, *load.Session) error) error {
	var subject trial.Subject
	err := c.started(ctx, arm, trial.Setup{Under: c.Options.Tool.under(folder), Slower: slower}, func(live *trial.Live, s *load.Session) error {
		subject = live.Subject
		return use(live, s)
	})
	if s, ok := subject.(interface{ Warnings() []finding.Warning }); ok && err == nil && finding.Killed.In(s.Warnings()) {
		return trial.Named(arm.Name, errKilled)
	}
	return err
}

// started starts a server with its set-up, opens its connections, and ends it after use.
func (c *counter) started(ctx context.Context, arm trial.Arm, setup trial.Setup, use func(*trial.Live, *load.Session) error) (err error) {
	live, err := arm.Launch(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.End(ctx)) }()
	session, err := live.Open(ctx, c.plan.VUs)
	if err != nil {
		return err
	}
	defer session.Close()
	return use(live, session)
}

// drive drives a server for so many iterations, where everything may take so many times as long.
func (c *counter) drive(ctx context.Context, live *trial.Live, s *load.Session, iterations int64, slower time.Duration) (trial.Cell, error) {
	plan := c.plan
	plan.Warmup, plan.Duration, plan.Iterations = 0, 0, iterations
	plan.Timeout *= slower
	plan.Grace = slower * load.DefaultGrace
	cell, err := live.Drive(ctx, s, plan)
	return cell, errors.Join(err, ctx.Err())
}

// report tells how far it is after so many repetitions, and lives without the simulator.
func (c *counter) report(done, lived int, label string) {
	if c.Observe == nil {
		return
	}
	p := trial.Progress{Label: label}
	if each := cmp.Or(c.repetition, c.guessed); each > 0 {
		all, elapsed := c.Counts.Repetitions, time.Since(c.began)
		p.Left = each*time.Duration(all-done) + c.life*time.Duration(all*len(c.arms)-lived)
		if c.Limit > 0 {
			p.Left = min(p.Left, max(time.Second, c.Limit-elapsed))
		}
		if c.repetition > 0 {
			p.Done = elapsed.Seconds() / (elapsed + p.Left).Seconds()
		}
	}
	c.Observe(p)
}

// compare compares the repetitions that every arm has. Without any there is a comparison only to say that the time was up.
func (c *counter) compare(timeUp bool) {
	done := c.Counts.Done()
	if done == 0 && !timeUp {
		return
	}
	baseline := c.Arms[0]
	for _, candidate := range c.Arms[1:] {
		before, after := c.perOp[baseline][:done], c.perOp[candidate][:done]
		one := weigh(parts(before, byFunction), parts(after, byFunction), c.Counts.Margin)
		one.Events = compareEvents(c.events[baseline], c.events[candidate])
		one.find(parts(before, byLine), parts(after, byLine))
		one.Baseline, one.Candidate = baseline, candidate
		if reason := cmp.Or(c.tooFew(done), c.refusal(baseline, candidate)); reason != nil {
			one.Verdict, one.Reason = stat.Invalid, reason
		}
		c.Comparisons = append(c.Comparisons, one)
	}
}
