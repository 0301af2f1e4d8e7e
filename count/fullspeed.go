package count

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/subject"
	"contend/trial"
)

// atFullSpeed is how many times as many iterations a run without the simulator has. As many as in a counted run come first.
const atFullSpeed = 3

// guessedLife is how long a life without the simulator takes, to say how much is left before there was one.
const guessedLife = 500 * time.Millisecond

// An Event happens so many times in an operation, without the simulator: a system call, a context switch, a byte that is
// read. The intervals of all hold together.
type Event struct {
	Name      string  `json:"event"`
	Baseline  float64 `json:"baseline_per_op"`
	Candidate float64 `json:"candidate_per_op"`
	Value     float64 `json:"per_op"`
	Low       float64 `json:"per_op_low"`
	High      float64 `json:"per_op_high"`
	// Differs says that the interval excludes 0, and that the difference is not smaller than what matters.
	Differs bool `json:"differs,omitempty"`
}

// What differs in an operation by less than leastEvent, and by less than leastEventShare, does not matter.
const (
	leastEvent      = 0.01
	leastEventShare = 0.01
)

// otherCalls are those that are not counted by name.
const otherCalls = "other system calls"

// withoutSimulator counts, at full speed, what each server asks of the kernel. What cannot be counted is noted and changes
// nothing else.
func (c *counter) withoutSimulator(ctx context.Context) {
	began, lived := time.Now(), 0
	for repetition := 1; repetition <= c.Counts.Repetitions && ctx.Err() == nil; repetition++ {
		if next := time.Since(began) / time.Duration(max(1, repetition-1)); c.Limit > 0 && time.Since(c.began)+next > c.Limit {
			return
		}
		for _, arm := range c.arms {
			c.report(c.Counts.Repetitions, lived, fmt.Sprintf("without the simulator, %d of %d, %s", repetition, c.Counts.Repetitions, arm.Name))
			events, err := c.fullSpeed(ctx, arm)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				c.miss("what the servers ask of the kernel: " + err.Error())
				return
			}
			c.events[arm.Name] = append(c.events[arm.Name], events)
			lived++
			c.life = time.Since(began) / time.Duration(lived)
		}
	}
}

// miss notes what could not be counted, once.
func (c *counter) miss(what string) {
	if !slices.Contains(c.Missing, what) {
		c.Missing = append(c.Missing, what)
	}
}

// fullSpeed returns how often each event happened in an operation of one life.
func (c *counter) fullSpeed(ctx context.Context, arm trial.Arm) (perOp map[string]float64, err error) {
	err = c.started(ctx, arm, trial.Setup{}, func(live *trial.Live, s *load.Session) (err error) {
		perOp, err = c.eventsOf(ctx, live, s)
		return err
	})
	return perOp, err
}

// eventsOf returns how often each event happens in an operation of a server that is driven.
func (c *counter) eventsOf(ctx context.Context, live *trial.Live, session *load.Session) (perOp map[string]float64, err error) {
	if _, err := c.drive(ctx, live, session, c.Measured, 1); err != nil {
		return nil, err
	}
	heap := c.allocated(ctx, live)
	before, err := live.Subject.Sample()
	if err != nil {
		return nil, err
	}
	names, err := perf.EverySystemCall()
	calls := c.counters(live, "system calls by name", names, err, systemCallsOf)
	processor := c.counters(live, byProcessor, []perf.Event{perf.Instructions}, nil, func(counts perf.Counts) map[string]float64 {
		return map[string]float64{byProcessor: float64(counts[perf.Instructions])}
	})
	cell, driven := c.drive(ctx, live, session, atFullSpeed*c.Measured, 1)
	named, executed := calls(), processor()
	after, err := live.Subject.Sample()
	if err = errors.Join(driven, err); err != nil {
		return nil, err
	}
	if cell.Completed == 0 {
		return nil, errors.New("no request succeeded")
	}
	counted := c.ofSample(after.Sub(before))
	maps.Copy(counted, executed)
	maps.Copy(counted, named)
	maps.Copy(counted, heap())
	perOp = map[string]float64{}
	for name, n := range counted {
		perOp[name] = n / float64(cell.Completed)
	}
	return perOp, nil
}

// ofSample are the events that /proc has.
func (c *counter) ofSample(used subject.Sample) map[string]float64 {
	events := map[string]float64{
		"voluntary context switches":   float64(max(0, used.VoluntarySwitches)),
		"involuntary context switches": float64(max(0, used.InvoluntarySwitches)),
		"page faults":                  float64(used.MinorFaults + used.MajorFaults),
		"bytes written to disks":       float64(max(0, used.DiskWritten)),
	}
	if used.ReadCalls+used.WriteCalls == 0 {
		c.miss("calls of read and write, and their bytes: /proc/PID/io shows none, as for another user's process or one that uses send and recv alone")
		return events
	}
	events["calls of read"], events["calls of write"] = float64(used.ReadCalls), float64(used.WriteCalls)
	events["bytes read"], events["bytes written"] = float64(used.ReadBytes), float64(used.WrittenBytes)
	return events
}

// counters begin to count events; what they return ends that and names them. What cannot be counted is noted.
func (c *counter) counters(live *trial.Live, what string, events []perf.Event, err error, named func(perf.Counts) map[string]float64) (stop func() map[string]float64) {
	var counters trial.Counters
	if err == nil {
		counters, err = startCounters(live, events)
	}
	return func() map[string]float64 {
		var counts perf.Counts
		if err == nil {
			counts, err = counters.Stop()
			err = errors.Join(err, counters.Close())
		}
		if err != nil {
			c.miss(what + ": " + perf.InShort(err))
			return nil
		}
		return named(counts)
	}
}

func startCounters(live *trial.Live, events []perf.Event) (trial.Counters, error) {
	if live.Counters == nil {
		return nil, errors.New("the server's processes are not known")
	}
	counters, err := live.Counters(events...)
	if err != nil {
		return nil, err
	}
	if err := counters.Start(); err != nil {
		return nil, errors.Join(err, counters.Close())
	}
	return counters, nil
}

// systemCallsOf are system calls by name.
func systemCallsOf(counts perf.Counts) map[string]float64 {
	events, named := map[string]float64{}, 0.0
	for event, n := range counts {
		if name, is := strings.CutPrefix(string(event), perf.SystemCall); is && event != perf.SystemCalls {
			events["system call "+name] = float64(n)
			named += float64(n)
		}
	}
	events[otherCalls] = float64(counts[perf.SystemCalls]) - named
	return events
}

// byProcessor are instructions of a server at full speed, from the processor's counters: another source than the simulator,
// with figures of its own, which are compared with each other alone.
const byProcessor = "instructions by the processor"

// allocated begins to count what a Go program allocates, if it tells; what it returns ends that.
func (c *counter) allocated(ctx context.Context, live *trial.Live) (stop func() map[string]float64) {
	nothing := func() map[string]float64 { return nil }
	if live.Inspect == nil || live.Inspect.Find(ctx) != nil {
		return nothing
	}
	before, err := live.Inspect.Snapshot(ctx)
	if err != nil {
		return nothing
	}
	return func() map[string]float64 {
		after, err := live.Inspect.Snapshot(ctx)
		if err != nil {
			return nil
		}
		made, err := after.Since(before)
		if err != nil {
			return nil
		}
		return map[string]float64{"allocated objects": float64(made.Objects), "allocated bytes": float64(made.Bytes)}
	}
}

// compareEvents compares what was counted in each life of both sides.
func compareEvents(baseline, candidate []map[string]float64) (list []Event) {
	if len(baseline) == 0 || len(candidate) == 0 {
		return nil
	}
	all := ofEach(baseline, candidate)
	maps.DeleteFunc(all, func(name string, _ series) bool {
		return slices.ContainsFunc(slices.Concat(baseline, candidate), func(life map[string]float64) bool {
			_, has := life[name]
			return !has
		})
	})
	each := 1 - (1-confidence)/float64(len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name].shift(each)
		if max(d.Baseline, d.Candidate) < leastEvent {
			continue
		}
		differs := d.excludes0() && math.Abs(d.Value) >= max(leastEvent, leastEventShare*d.Baseline)
		list = append(list, Event{Name: name, Baseline: d.Baseline, Candidate: d.Candidate, Value: d.Value, Low: d.Low, High: d.High, Differs: differs})
	}
	return list
}
