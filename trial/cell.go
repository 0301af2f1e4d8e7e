package trial

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
	"contend/subject"
)

// A Cell is what one arm showed at one level of concurrency: in one block, in one
// round, or over all rounds.
type Cell struct {
	Arm string `json:"arm,omitempty"`
	// Round counts from 1; 0 is the sum of all rounds.
	Round int `json:"round,omitempty"`
	// Pair, Order and Stretch give the place of a block in its round, all from 1:
	// in which pair of its level, in what position, and between which two probes.
	Pair    int `json:"-"`
	Order   int `json:"-"`
	Stretch int `json:"-"`
	// Start is when the measured window of a block opened, about, since the comparison began, and
	// P50 and P99 are of its response times; 0: older documents do not say it.
	Start    time.Duration `json:"-"`
	P50, P99 time.Duration `json:"-"`
	*load.Result
}

// MergeCells adds up cells of the same arm and level.
func MergeCells(cells []Cell) Cell {
	results := make([]*load.Result, len(cells))
	for i, c := range cells {
		results[i] = c.Result
	}
	return Cell{Arm: cells[0].Arm, Result: load.Merge(results...)}
}

// NothingRight reports whether iterations of these cells came to an end, and none with a right
// answer.
func NothingRight(cells []Cell) bool {
	var right, wrong int64
	for _, c := range cells {
		right, wrong = right+c.Completed, wrong+c.Wrong()
	}
	return right == 0 && wrong > 0
}

// Doubt returns why the cell's throughput, or else its times, are INVALID, or nil.
func (c Cell) Doubt() *finding.Warning {
	return cmp.Or(c.Refusal(stat.HigherIsFaster), c.Refusal(stat.LowerIsFaster))
}

// outage returns an error when the cell's run was ended by one.
func (c Cell) outage() error {
	if c.Result == nil || c.Stopped != load.StoppedByOutage {
		return nil
	}
	return Named(c.Arm, errors.New(c.Silence()))
}

// measure drives a live arm once and reads the clocks of its server at the very
// edges of the measured window; the rest of what it uses is sampled before and
// after the run, because looking takes longer. The run ends early when a subject
// dies.
func measure(ctx context.Context, s *load.Session, live *Live, plan load.Plan) (Cell, error) {
	server := live.server()
	if live.Subject != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		unwatch := watchEnd(ctx, live.Subject, cancel)
		defer unwatch()
	}
	if server == nil {
		result, err := s.Run(ctx, plan)
		if err != nil {
			return Cell{}, err
		}
		c := Cell{Result: result}
		c.Derive()
		return c, aborted(result)
	}
	before, failed := server.Sample()
	edges := &edgeClocks{server: server}
	plan.AtEdge = edges.read
	far, _ := server.(Far)
	if far != nil {
		plan.Foretell = edges.foretell
	}
	plan.ServerCPU = func() time.Duration {
		clocks, _ := server.Clocks() // if they cannot be read, the edges say so
		return clocks.CPU
	}
	result, err := s.Run(ctx, plan)
	if err != nil {
		return Cell{}, err
	}
	after, err := server.Sample()
	c := Cell{Result: result}
	if far != nil {
		c.ServerApart = !slices.ContainsFunc(c.Generators, func(g load.Generator) bool { return g.Machine == far.Machine() })
	}
	failed = errors.Join(failed, edges.failed[0], edges.failed[1])
	used, around := edges.clocks[1].Sub(edges.clocks[0]), after.Sub(before)
	if far != nil {
		used = lateBy(used, c.Duration)
	}
	if used.CPU < 0 {
		failed = errors.Join(failed, errors.New("processes of the server ended, and their CPU time with them"))
	}
	switch err := errors.Join(failed, err); {
	case err != nil && live.Subject != nil:
		c.Unsampled = unsampled(err)
	case err == nil:
		c.Server = &load.Usage{CPUSec: used.CPU.Seconds(), WaitedSec: max(0, used.Waited.Seconds()),
			RSSBytes: after.RSSBytes, Threads: after.Threads, CPUs: after.CPUs, SharedCPUs: after.SharedCPUs,
			Activity: around.Activity, Parallel: around.Parallel(), Foreign: live.Subject == nil}
	}
	c.Derive()
	return c, aborted(result)
}

// aborted is the error of a run that a caller has ended, whose figures are those until then.
func aborted(r *load.Result) error {
	if r.Stopped != load.Aborted {
		return nil
	}
	return &load.Abort{Reason: r.Outage}
}

// edgeClocks are the clocks of a server when the measured window opened and when it closed.
type edgeClocks struct {
	server   Sampler
	clocks   [2]subject.Sample
	failed   [2]error // each of its own, since one edge may be read while the other is
	foretold [2]struct {
		moment time.Time
		read   func() (subject.Sample, error)
	}
}

// lateBy completes what a server used in a window whose beginning its clocks missed, as they were read late on a busy
// machine: it assumes the same use as in the rest. If they were read after the window's end nothing was missed, for
// the load was over.
func lateBy(used subject.Sample, window time.Duration) subject.Sample {
	if used.Elapsed <= window/2 || used.Elapsed >= window {
		return used
	}
	whole := float64(window) / float64(used.Elapsed)
	used.CPU = time.Duration(whole * float64(used.CPU))
	used.Waited = time.Duration(whole * float64(used.Waited))
	return used
}

// foretell has a far server read its clocks at the edges; a zero edge is not known yet.
func (e *edgeClocks) foretell(opens, closes time.Time) {
	for i, moment := range []time.Time{opens, closes} {
		if !moment.IsZero() {
			e.foretold[i].moment, e.foretold[i].read = moment, e.server.(Far).ClocksAt(moment)
		}
	}
}

// read reads the clocks at an edge, or takes what was read, unless the run ended before it was due.
func (e *edgeClocks) read(edge load.Edge) {
	i := edge - load.WindowOpens
	read := e.server.Clocks
	if told := e.foretold[i]; told.read != nil && !time.Now().Before(told.moment) {
		read = told.read
	}
	clocks, err := read()
	e.clocks[i], e.failed[i] = clocks, err
}

// unsampled says why a subject could not be sampled; "" for one that has ended, which
// is reported separately.
func unsampled(err error) string {
	if errors.Is(err, os.ErrProcessDone) {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // the same once more at each edge
	return text
}

// watchEnd calls ended when the subject's process ends before the returned
// function is called.
func watchEnd(ctx context.Context, s Subject, ended func()) (unwatch func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Done():
			ended()
		case <-ctx.Done():
		}
	}()
	return func() { ended(); <-done }
}
