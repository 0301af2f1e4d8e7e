package trial

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/why"
	"contend/why/pprof"
)

// An Inspector tells what goes on in a Go program. It is a pprof.Server.
type Inspector interface {
	// Find returns an error if there is nothing that tells.
	Find(ctx context.Context) error
	// Trace takes an execution trace of so long.
	Trace(ctx context.Context, length time.Duration) ([]byte, error)
	// Profile takes a CPU profile of so many seconds.
	Profile(ctx context.Context, seconds int) ([]byte, error)
	// Snapshot takes what the program has counted of itself.
	Snapshot(ctx context.Context) (*pprof.Snapshot, error)
}

var _ Inspector = (*pprof.Server)(nil)

const (
	// itsProfile is how long a program profiles itself in a block, in seconds; it cannot for a part of one.
	itsProfile = 1
	// itsMargin is how much longer the block is, so that the profile begins and ends in it.
	itsMargin = 250 * time.Millisecond
	// itsPairs is how many pairs of such blocks a round has: with why.LeastRounds each variant is
	// profiled for 12 s, in which a core at work gives 1200 samples at the 100 Hz of Go.
	itsPairs = 1
)

// inspectable says what makes a program one that can be inspected.
const inspectable = `import _ "net/http/pprof" in a program in Go, or give --pprof URL`

// Silent says why an arm's program did not tell something of itself.
type Silent struct {
	Arm    string `json:"arm"`
	Reason string `json:"reason"`
}

// inspect drives further blocks of every arm of the order at a level, in which programs tell of
// themselves. Where one does not it is not asked again: an explanation needs all of the least rounds. What is in this
// process has no address to ask.
func (r *round) inspect(ctx context.Context, sessions []*load.Session, level int, order []int) error {
	if r.diagnosis == nil || r.diagnosis.further { // those rounds are for functions
		return nil
	}
	for _, arm := range order {
		if r.lives[arm].isLocal() {
			continue
		}
		for _, of := range []struct {
			silent *[]Silent
			tell   func(context.Context, teller) (untold, err error)
		}{{&r.diagnosis.Untraced, r.trace}, {&r.diagnosis.WithoutSnapshots, r.snapshot}} {
			name := r.arms[arm].Name
			if isSilent(*of.silent, name) {
				continue
			}
			untold, err := of.tell(ctx, teller{r.lives[arm], sessions[arm], name, level})
			if err = errors.Join(err, ctx.Err()); err != nil {
				return Named(name, err)
			}
			if untold != nil {
				*of.silent = append(*of.silent, Silent{name, untold.Error()})
			}
		}
	}
	return nil
}

func isSilent(list []Silent, arm string) bool {
	return slices.ContainsFunc(list, func(s Silent) bool { return s.Arm == arm })
}

// A teller is a live arm that is driven at a level while its program tells of itself.
type teller struct {
	*Live
	session *load.Session
	name    string
	level   int
}

// found returns the arm's Inspector, or an error if the program cannot be asked.
func (l *Live) found(ctx context.Context) (Inspector, error) {
	if l.Inspect == nil {
		return nil, errors.New("its address is not known")
	}
	if err := l.Inspect.Find(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s", err, inspectable)
	}
	return l.Inspect, nil
}

// profileOf is what the diagnosis has of an arm in a round; nil: nothing.
func (d *Diagnosis) profileOf(arm string, round, level int) *why.Profile {
	for i := range d.Profiles {
		if p := &d.Profiles[i]; p.Arm == arm && p.Round == round && p.Concurrency == level {
			return p
		}
	}
	return nil
}

// told is what an Inspector has told, or why it has not.
type told struct {
	body []byte
	err  error
}

// driveWhile drives the live arm by the plan while tell is called, from where its measured window
// opens. The error is of the drive.
func (l *Live) driveWhile(ctx context.Context, s *load.Session, plan load.Plan, tell func(context.Context) ([]byte, error)) (Cell, told, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	telling := make(chan told, 1)
	go func() {
		select {
		case <-time.After(plan.Warmup):
		case <-ctx.Done():
		}
		body, err := tell(ctx)
		telling <- told{body, err}
	}()
	cell, err := l.Drive(ctx, s, plan)
	if err = errors.Join(err, cell.outage()); err != nil {
		cancel()
	}
	return cell, <-telling, err
}

// profileItself drives the live arm by the plan while its program takes a CPU profile of itself, which also
// says how much CPU time it used. The error is a *perf.UnavailableError if the program takes none.
func (l *Live) profileItself(ctx context.Context, s *load.Session, plan load.Plan, own *regexp.Regexp) (Cell, why.Profile, error) {
	unavailable := func(err error) error {
		return &perf.UnavailableError{Event: perf.CPUTime, Reason: err.Error(), Advice: inspectable}
	}
	if l.Inspect == nil {
		return Cell{}, why.Profile{}, unavailable(errors.New("its address is not known"))
	}
	if err := l.Inspect.Find(ctx); err != nil {
		return Cell{}, why.Profile{}, errors.Join(unavailable(err), ctx.Err())
	}
	plan.Duration = max(plan.Duration, itsProfile*time.Second+itsMargin)
	cell, told, err := l.driveWhile(ctx, s, plan, func(ctx context.Context) ([]byte, error) { return l.Inspect.Profile(ctx, itsProfile) })
	if err = errors.Join(err, ctx.Err()); err != nil {
		return cell, why.Profile{}, err
	}
	if told.err != nil {
		return cell, why.Profile{}, unavailable(told.err)
	}
	its, err := pprof.ReadCPU(told.body)
	if err != nil {
		return cell, why.Profile{}, unavailable(err)
	}
	p := why.NewOwnProfile(its, int64(cell.ThroughputPerSec*its.Length.Seconds()), own)
	if plan.Pacer == nil {
		p.Response = time.Duration(p.Operations) * cell.Response.Mean()
	}
	return cell, p, nil
}

// byThemselves says of a diagnosis by the profiles of the programs that it is one, and why.
func byThemselves(refused error) string {
	return fmt.Sprintf("%s; so the programs profiled themselves (net/http/pprof), 100 times a second of CPU time", perf.InShort(refused))
}
