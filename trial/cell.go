package trial

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

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
	// Pair, Order and Stretch say where in its round a block stands, all from 1: in
	// which pair of its level, in what position, and between which two probes.
	Pair    int `json:"-"`
	Order   int `json:"-"`
	Stretch int `json:"-"`
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

// NothingRight says whether iterations of these cells came to an end, and none with a right
// answer.
func NothingRight(cells []Cell) bool {
	var right, wrong int64
	for _, c := range cells {
		right, wrong = right+c.Completed, wrong+c.Wrong()
	}
	return right == 0 && wrong > 0
}

// Doubt returns why the cell's throughput, or else its times, must not be believed, or
// nil.
func (c Cell) Doubt() *finding.Warning {
	return cmp.Or(c.Refusal(stat.HigherIsFaster, finding.Errors.Refuses), c.Refusal(stat.LowerIsFaster, finding.Errors.Refuses))
}

// outage returns an error when the cell's run was ended by one.
func (c Cell) outage() error {
	if c.Result == nil || c.Stopped != load.StoppedByOutage {
		return nil
	}
	return named(c.Arm, errors.New(c.Silence()))
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
		return c, nil
	}
	var edges [2]subject.Sample
	before, failed := server.Sample()
	plan.AtEdge = func(e load.Edge) {
		clocks, err := server.Clocks()
		failed = errors.Join(failed, err)
		edges[e-load.WindowOpens] = clocks
	}
	result, err := s.Run(ctx, plan)
	if err != nil {
		return Cell{}, err
	}
	after, err := server.Sample()
	c := Cell{Result: result}
	used, around := edges[1].Sub(edges[0]), after.Sub(before)
	if used.CPU < 0 {
		failed = errors.Join(failed, errors.New("processes of the server ended, and their CPU time with them"))
	}
	switch err := errors.Join(failed, err); {
	case err != nil && live.Subject != nil:
		c.Unsampled = unsampled(err)
	case err == nil:
		c.Server = &load.Usage{CPUSec: used.CPU.Seconds(), WaitedSec: max(0, used.Waited.Seconds()),
			RSSBytes: after.RSSBytes, Threads: after.Threads, CPUs: after.CPUs, SharedCPUs: after.SharedCPUs,
			VoluntarySwitches: around.VoluntarySwitches, InvoluntarySwitches: around.InvoluntarySwitches,
			Foreign: live.Subject == nil}
	}
	c.Derive()
	return c, nil
}

// unsampled says why a subject could not be sampled; "" for one that has ended, which
// is said otherwise.
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
