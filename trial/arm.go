// Package trial arranges runs into experiments: the interleaved comparison of
// arms, and the sweep over levels of concurrency. It knows no protocol.
package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contend/load"
	"contend/subject"
)

// An Arm is one of the alternatives that are compared.
type Arm struct {
	Name string
	// Start brings the arm to life: its processes are started and ready, its
	// target is open. It is called once per round.
	Start func(ctx context.Context, s Setup) (*Live, error)
}

// A Setup is what differs from start to start of an arm and should not matter.
type Setup struct {
	// Padding is the length in bytes of an otherwise useless environment
	// variable: it moves the stack, which alone can change speed by per cents
	// (Mytkowicz et al., "Producing wrong data without doing anything obviously
	// wrong", ASPLOS 2009).
	Padding int `json:"padding_bytes"`
	// CPUs are those that the arm's processes may use; empty: all.
	CPUs []int `json:"cpus,omitempty"`
}

// Live is an arm that can be driven.
type Live struct {
	// Address names the target in results.
	Address string
	Target  load.Target
	// Subject is the process under test; nil when it is not ours to start, or
	// lives in this process.
	Subject Subject
	// Stop ends what Start began; nil: nothing to end.
	Stop func(ctx context.Context) error
}

// A Subject is what trial needs of a process under test.
type Subject interface {
	Sample() (subject.Sample, error)
	Clocks() (subject.Sample, error)
	Done() <-chan struct{} // closed when the process has ended
	Err() error            // how it ended
}

var _ Subject = (*subject.Subject)(nil)

func (l *Live) stop(ctx context.Context) error {
	if l == nil || l.Stop == nil {
		return nil
	}
	return l.Stop(ctx)
}

// deathNotice is how long it may take until the end of a process is known
// after its connections broke.
const deathNotice = 250 * time.Millisecond

// died returns an error when the arm's process has ended unasked. After
// errors it waits for the news a little.
func (l *Live) died(arm string, errored int64) error {
	if l.Subject == nil {
		return nil
	}
	if errored > 0 {
		select {
		case <-l.Subject.Done():
		case <-time.After(deathNotice):
		}
	}
	select {
	case <-l.Subject.Done():
		return &DiedError{Arm: arm, Err: l.Subject.Err()}
	default:
		return nil
	}
}

// diedAfter is died after a run of the arm, whose result may be missing.
func (l *Live) diedAfter(arm string, c Cell) error {
	if c.Result == nil {
		return l.died(arm, 1)
	}
	return l.died(arm, c.ErroredTotal())
}

// A DiedError says that a subject ended while it was under load.
type DiedError struct {
	Arm string
	Err error
}

// Error names the arm and says how its process ended.
func (e *DiedError) Error() string { return fmt.Sprintf("arm %s: its process died: %v", e.Arm, e.Err) }

// Unwrap returns how the process ended.
func (e *DiedError) Unwrap() error { return e.Err }

// stopTimeout bounds the clean-up after a trial, which must happen even when
// the trial was cancelled.
const stopTimeout = 15 * time.Second

// startAll starts the arms in the given order, each with its set-up; on error
// what was started is stopped again.
func startAll(ctx context.Context, arms []Arm, setups []Setup, order []int) ([]*Live, error) {
	lives := make([]*Live, len(arms))
	for _, i := range order {
		live, err := arms[i].Start(ctx, setups[i])
		if err != nil {
			return nil, errors.Join(fmt.Errorf("arm %s: %w", arms[i].Name, err), stopAll(ctx, lives))
		}
		lives[i] = live
	}
	return lives, nil
}

func stopAll(ctx context.Context, lives []*Live) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var errs []error
	for _, live := range lives {
		errs = append(errs, live.stop(ctx))
	}
	return errors.Join(errs...)
}

// Measure starts the arm, drives it once by the plan and stops it.
func Measure(ctx context.Context, arm Arm, plan load.Plan) (Cell, error) {
	live, err := arm.Start(ctx, Setup{})
	if err != nil {
		return Cell{}, fmt.Errorf("arm %s: %w", arm.Name, err)
	}
	cell, err := measureLive(ctx, arm.Name, live, plan)
	return cell, errors.Join(err, stopAll(ctx, []*Live{live}))
}

// Settled drives a session for plan.Warmup to learn its response time, and then
// for plan.Duration or four response times, whichever is longer, behind a
// lead-in of at least two: a run shorter than its iterations shows nothing.
func Settled(ctx context.Context, s *load.Session, plan load.Plan) (*load.Result, error) {
	pilot := plan
	pilot.Warmup, pilot.Duration, pilot.Grace, pilot.AtEdge = 0, plan.Warmup, trialGrace, nil
	first, err := s.Run(ctx, pilot)
	if err != nil {
		return nil, err
	}
	length := lengthen(plan.Duration, first.Response.Mean(), 1)
	plan.Warmup, plan.Duration, plan.Grace = length.leadIn, length.measured, trialGrace
	return s.Run(ctx, plan)
}

func measureLive(ctx context.Context, arm string, live *Live, plan load.Plan) (Cell, error) {
	session, err := load.Open(ctx, live.Address, live.Target, plan.VUs)
	if err != nil {
		return Cell{}, errors.Join(live.died(arm, 1), err)
	}
	defer session.Close()
	cell, err := measure(ctx, session, live, plan)
	cell.Arm = arm
	return cell, errors.Join(err, live.diedAfter(arm, cell))
}
