package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contend/load"
)

// A drive is the callers of workers, from their opening to their end.
type drive struct {
	fleet   *Fleet
	session string
	number  int // of the last order
	workers []Worker
	weights []int   // of these
	lost    []error // by worker: why it has no callers any more; nil: it has
}

func newDrive(f *Fleet, workers []Worker, weights []int) *drive {
	return &drive{fleet: f, session: rand.Text(), number: 1, workers: workers, weights: weights, lost: make([]error, len(workers))}
}

// each does something for each worker, all at once, and names it in errors.
func (d *drive) each(do func(i int, w Worker) error) error {
	errs := make([]error, len(d.workers))
	var all sync.WaitGroup
	for i, w := range d.workers {
		all.Go(func() {
			if err := do(i, w); err != nil {
				errs[i] = fmt.Errorf("worker %s: %w", w.Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Close ends the callers. It does not report workers that cannot be reached: they end their callers when
// they hear that the session is over, or hear nothing.
func (d *drive) Close() error {
	d.fleet.finish(d.session)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = d.each(func(i int, w Worker) error {
		_, err := d.fleet.ask(ctx, w.ID, &order{Session: d.session, Close: true})
		return err
	})
	return nil
}

// here is this machine, on which servers are sampled.
var here = machine()

// lead is how long before a run it is ordered, beyond what an order takes, and leadEach what that of one of many
// workers takes.
const (
	lead     = 50 * time.Millisecond
	leadEach = 50 * time.Microsecond
)

// Run has all workers begin at the same moment, and adds up what they did. If one is gone before it has
// sent its result the rest is returned, and says so.
func (d *drive) Run(ctx context.Context, plan load.Plan) (*load.Result, error) {
	all, err := plan.Split(d.weights)
	if err != nil {
		return nil, err
	}
	d.number++
	some, plans, of := *d, []load.Plan{}, []int{} // those that have something to do
	some.workers, some.weights, some.lost = nil, nil, nil
	for i, own := range all {
		if plan.Iterations == 0 || own.Iterations > 0 {
			some.workers, some.lost = append(some.workers, d.workers[i]), append(some.lost, d.lost[i])
			some.weights, plans, of = append(some.weights, d.weights[i]), append(plans, own), append(of, i)
		}
	}
	r, err := some.run(ctx, plan, plans)
	for i, at := range of {
		d.lost[at] = some.lost[i]
	}
	return r, err
}

// run is Run by workers with a plan each.
func (d *drive) run(ctx context.Context, plan load.Plan, plans []load.Plan) (*load.Result, error) {
	before, slowest := d.clocks(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts := make([]load.Part, len(d.workers))
	begin := d.fleet.now() + lead + time.Duration(len(d.workers))*leadEach + 2*slowest
	if plan.Foretell != nil {
		plan.Foretell(d.fleet.window(plan, begin))
	}
	stop := d.watch(plan, begin)
	mistakes := make([]error, len(d.workers))
	_ = d.each(func(i int, w Worker) error {
		parts[i].Generator = load.Generator{Name: w.Name, Machine: w.Machine, VUs: plans[i].VUs, Share: plans[i].Share}
		if d.lost[i] == nil {
			parts[i].Result, mistakes[i] = d.runOne(ctx, w, plans[i], begin+before[i].ahead)
		}
		if errors.Is(mistakes[i], errGone) {
			d.lost[i] = errGone
		}
		return nil
	})
	stop()
	after, _ := d.clocks(context.WithoutCancel(ctx))
	there := 0
	for i := range parts {
		if mistakes[i] = cmp.Or(d.lost[i], mistakes[i]); mistakes[i] != nil {
			parts[i].Result, parts[i].Lost = nil, mistakes[i].Error()
		} else {
			there++
			parts[i].ClockBound = before[i].until(after[i]).bound
		}
	}
	if there == 0 {
		return nil, d.each(func(i int, _ Worker) error { return mistakes[i] })
	}
	return load.Together(plan, here, parts), nil
}

// window is when the measured window of a plan that begins then opens and closes.
func (f *Fleet) window(plan load.Plan, begin time.Duration) (opens, closes time.Time) {
	opens = f.base.Add(begin + plan.Warmup)
	if plan.Duration > 0 {
		closes = opens.Add(plan.Duration)
	}
	return opens, closes
}

// runOne has one worker begin at a moment of its own clock, and returns what it did if that is valid.
func (d *drive) runOne(ctx context.Context, w Worker, plan load.Plan, begin time.Duration) (*load.Result, error) {
	until := ctx
	if plan.Duration > 0 { // a worker that shows signs of life, and never a result, is not waited for
		var cancel context.CancelFunc
		until, cancel = context.WithTimeout(ctx, longestRun(plan))
		defer cancel()
	}
	text := encode(plan)
	sent, err := d.fleet.ask(until, w.ID, &order{Session: d.session, Number: d.number, Drive: &driving{text, begin}})
	if err != nil {
		return nil, err
	}
	r, err := load.ReadSent(sent.content)
	late := latest
	if plan.Duration > 0 {
		late = max(latest/5, (plan.Warmup+plan.Duration)/10)
	}
	switch {
	case err != nil:
		return nil, err
	case !same(text, r.Plan):
		return nil, errors.New("its result is of another plan")
	case plan.Iterations > 0 && (r.Planned > plan.Iterations || r.Planned < plan.Iterations && r.Stopped == load.StoppedByIterations):
		return nil, fmt.Errorf("its counts are of %d iterations, and it was to do %d", r.Planned, plan.Iterations)
	case r.Stopped == load.Interrupted && ctx.Err() == nil:
		return nil, errors.New("it was ended before the run was")
	case r.BeganLate > late:
		return nil, fmt.Errorf("it began %v late; expected at most %v", r.BeganLate.Round(time.Millisecond), late)
	}
	return r, nil
}

// longestRun is how long a worker may take for a plan that ends by time.
func longestRun(plan load.Plan) time.Duration { return plan.EndsBy() + 2*plan.Timeout + silence }

// latest is how late a worker may begin if nobody knows how long the run is going to be. Otherwise it is a tenth of
// that, or, as a busy machine may stop for a while, a fifth of this.
const latest = 5 * time.Second

// clocks learns the workers' clocks, and how far the least known one is off. The callers of a worker that does
// not answer are lost.
func (d *drive) clocks(ctx context.Context) (all []clock, most time.Duration) {
	all = make([]clock, len(d.workers))
	exchanges := min(max(allExchanges/len(d.workers), 1), mostExchanges)
	turns := make(chan struct{}, atOnce)
	_ = d.each(func(i int, w Worker) (err error) {
		turns <- struct{}{}
		defer func() { <-turns }()
		if d.lost[i] != nil {
			return nil
		}
		if all[i], err = d.fleet.clockOf(ctx, w.ID, exchanges); ctx.Err() == nil {
			d.lost[i] = err
		}
		return nil
	})
	for _, c := range all {
		most = max(most, c.bound)
	}
	return all, most
}

// watch calls the functions of a plan that begins then, by the coordinator's clock. The returned function ends that.
func (d *drive) watch(plan load.Plan, begin time.Duration) (stop func()) {
	ended := make(chan struct{})
	var all sync.WaitGroup
	if plan.AtEdge != nil {
		all.Go(func() { edges(plan, func() time.Duration { return d.fleet.now() - begin }, ended) })
	}
	live := d.live(plan)
	return func() {
		close(ended)
		all.Wait()
		live()
	}
}

// edges tells the plan when its measured window opens and when it closes, at the latest when the
// run has ended.
func edges(plan load.Plan, elapsed func() time.Duration, ended <-chan struct{}) {
	wait := func(offset time.Duration) {
		select {
		case <-time.After(offset - elapsed()):
		case <-ended:
		}
	}
	wait(plan.Warmup)
	plan.AtEdge(load.WindowOpens)
	if plan.Duration > 0 {
		wait(plan.Warmup + plan.Duration)
	} else {
		<-ended
	}
	plan.AtEdge(load.WindowCloses)
}

// live adds up what workers tell of a run under way, each time that all have told something new.
func (d *drive) live(plan load.Plan) (stop func()) {
	if plan.Progress == nil {
		return func() {}
	}
	told, news := map[string]glance{}, map[string]bool{}
	sub, err := d.fleet.conn.Subscribe(livePrefix+d.session+".*", func(m *nats.Msg) { // one at a time
		var g glance
		if json.Unmarshal(m.Data, &g) != nil || g.Elapsed < told[m.Subject].Elapsed {
			return // a stranger's, or late
		}
		silent := news[m.Subject] // another worker is: it has not told since
		told[m.Subject], news[m.Subject] = g, true
		if silent || len(news) == len(d.workers) {
			clear(news)
			sum := sumOf(told)
			sum.Spread = d.spread(told, sum.Elapsed)
			plan.Progress(sum)
		}
	})
	if err != nil {
		return func() {}
	}
	return func() { _ = sub.Unsubscribe() }
}

// sumOf adds up counts.
func sumOf(told map[string]glance) (sum load.Progress) {
	for _, g := range told {
		sum.Elapsed, sum.Measured = max(sum.Elapsed, g.Elapsed), max(sum.Measured, g.Measured)
		sum.Completed += g.Completed
		sum.Failed += g.Failed
		sum.Errored += g.Errored
		sum.Ops += g.Ops
		sum.GeneratorCPU += g.GeneratorCPU
	}
	return sum
}
