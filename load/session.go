package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"contend/hist"
	"contend/internal/cpu"
)

// A Session is a set of VUs made once and driven by any number of runs, one
// after another, so that connections outlive a run. It is not safe for
// concurrent use.
type Session struct {
	name  string
	local bool
	size  int // VUs, of goroutines or of loops
	// metered has something to add to results; nil: nothing.
	metered Metered
	// streams says that VUs share connections.
	streams bool
	vus     []VU
	loops   []Loop
	// keeps leaves results what others are needed for that they are added to.
	keeps bool
	// remote drives in their place; nil: it does not.
	remote Remote
	// engine drives the VUs; reason says why it is not event loops.
	engine Engine
	reason string
	// pending is closed when the iterations that ignored the end of the last run
	// have ended: until then their VUs belong to them. nil: there were none.
	pending <-chan struct{}
	driven  time.Duration // how long, by all runs
	// spare histograms have room for all durations, so that a run allocates none of them.
	spare  []*hist.Histogram
	limit  float64      // see Cost.GeneratorCPULimit
	silent atomic.Int64 // see outage.since
	right  atomic.Bool  // anything was, see outage
}

// lend gives the shards of a run histograms to record into, and takeBack returns them to the session.
func (s *Session) lend(r *run) {
	for _, shard := range r.shards {
		for _, h := range shard.counts.times() {
			if n := len(s.spare); n > 0 {
				*h, s.spare = s.spare[n-1], s.spare[:n-1]
			} else {
				*h = hist.New()
			}
		}
	}
}

func (s *Session) takeBack(r *run) {
	for _, shard := range r.shards {
		for _, h := range shard.counts.times() {
			(*h).Reset()
			s.spare = append(s.spare, *h)
		}
	}
}

// dialers bounds how many VUs are made at the same time.
const dialers = 64

// Open makes the VUs of a target, in event loops if it is a LoopTarget that
// offers them. It fails when any VU cannot be made. The name is what results
// call the target.
func Open(ctx context.Context, name string, target Target, vus int) (*Session, error) {
	_, local := target.(LocalTarget)
	s := &Session{name: name, local: local, size: vus, engine: Goroutines, limit: cpu.Limit(os.DirFS("/"))}
	s.silent.Store(noOutage)
	if remote, ok := target.(RemoteTarget); ok {
		var err error
		if s.remote, err = remote.OpenRemote(ctx, vus); err != nil {
			return nil, fmt.Errorf("make callers of %s: %w", name, err)
		}
		return s, nil
	}
	s.metered, _ = target.(Metered)
	if m, ok := target.(Multiplexer); ok {
		s.streams = m.Multiplexes()
	}
	var loops int
	looping, ok := target.(LoopTarget)
	if ok {
		loops, s.reason = looping.Loops(vus)
	}
	errs := make([]error, max(loops, vus))
	if loops > 0 {
		s.engine, s.reason = EventLoop, ""
		s.loops = make([]Loop, loops)
		inParallel(ctx, loops, func(i int) {
			s.loops[i], errs[i] = looping.NewLoop(ctx, LoopPart{i, loops, vus})
		})
	} else {
		s.vus = make([]VU, vus)
		inParallel(ctx, vus, func(id int) { s.vus[id], errs[id] = target.NewVU(ctx, id) })
	}
	if err := firstOf(errs, ctx.Err()); err != nil {
		return nil, errors.Join(fmt.Errorf("make callers of %s: %w", name, err), s.Close())
	}
	return s, nil
}

// inParallel calls do for 0 ≤ i < n, up to dialers of them at a time.
func inParallel(ctx context.Context, n int, do func(i int)) {
	var wg sync.WaitGroup
	for d := range min(dialers, n) {
		wg.Go(func() {
			for i := d; i < n && ctx.Err() == nil; i += dialers {
				do(i)
			}
		})
	}
	wg.Wait()
}

func firstOf(errs []error, last error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return last
}

// patience is how long a run waits for its drivers to heed its end.
func (s *Session) patience() time.Duration {
	if len(s.loops) > 0 {
		return stuckAfter
	}
	return abandonAfter
}

// Close closes the VUs that can be closed. Those of a run whose end an iteration
// ignored are closed when that has ended, after Close has returned.
func (s *Session) Close() error {
	if pending := s.pending; pending != nil {
		select {
		case <-pending:
		default:
			go func() {
				<-pending
				_ = s.close() // nobody is left to tell
			}()
			return nil
		}
	}
	return s.close()
}

func (s *Session) close() error {
	if s.remote != nil {
		return s.remote.Close()
	}
	var errs []error
	for _, vu := range s.vus {
		if c, ok := vu.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	for _, l := range s.loops {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// Run opens a session, drives it once by the plan and closes it. The result is
// valid, if short, when ctx is done before the plan is. An error means that
// there is no result.
func Run(ctx context.Context, name string, target Target, plan Plan) (*Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	s, err := Open(ctx, name, target, plan.VUs)
	if err != nil {
		return nil, err
	}
	result, err := s.Run(ctx, plan)
	s.Close() // the result is final, whatever a VU reports at its end
	return result, err
}
