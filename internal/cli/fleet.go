package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A fleet keeps the replicas of one service running: processes that have each a
// socket of its own for the same addresses.
type fleet struct {
	n        int
	start    func(i int) (*replica, error) // from 0
	patience time.Duration                 // how long a replica may take to end when asked
	log      *slog.Logger

	starting sync.Mutex // nothing is started while the sockets are closed
}

// A replica is a child process.
type replica struct {
	pid   int
	ready <-chan struct{} // closed when it serves
	ended <-chan struct{} // closed when it has ended; err says how
	err   error
	stop  func() // asks it to end
	kill  func()
}

const (
	firstPause = 100 * time.Millisecond // before a replica that died is started again
	maxPause   = 5 * time.Second        // and before one that dies again and again
	steady     = 10 * time.Second       // a replica that has lived so long died of something new
)

// run starts the replicas, calls serving when all of them serve, and starts those
// again that die later. When ctx ends it calls closing and ends them. It fails if
// one dies before all have served, or does not end well.
func (f *fleet) run(ctx context.Context, serving, closing func()) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, func() {
		f.starting.Lock()
		defer f.starting.Unlock()
		closing()
		cancel()
	})
	defer release()

	started, ended := make(chan error, f.n), make(chan error, f.n)
	for i := range f.n {
		go func() { ended <- f.keep(inner, i, started) }()
	}
	var errs []error
	for range f.n {
		if err := <-started; err != nil {
			errs = append(errs, err)
			cancel()
		}
	}
	if len(errs) == 0 && inner.Err() == nil {
		serving()
	}
	for range f.n {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// keep runs one replica until ctx ends, and returns how it ended then. It tells
// started once whether it came to serve, or that it was not let.
func (f *fleet) keep(ctx context.Context, i int, started chan<- error) error {
	var once sync.Once
	tell := func(err error) { once.Do(func() { started <- err }) }
	pause, served := firstPause, false
	for {
		began := time.Now()
		err := f.watch(ctx, i, func() {
			served = true
			tell(nil)
		})
		if ctx.Err() != nil {
			tell(nil)
			return err
		}
		if time.Since(began) >= steady {
			pause = firstPause
		}
		select {
		case <-ctx.Done(): // a signal to the whole group may end a replica first
			tell(nil)
			return nil
		case <-time.After(pause):
		}
		if !served {
			tell(fmt.Errorf("replica %d ended before it served: %w", i+1, err))
			return nil
		}
		f.log.Warn("replica ended, and is started again", "replica", i+1, "error", err, "after", pause)
		pause = min(2*pause, maxPause)
	}
}

var errEnded = errors.New("exit status 0")

// watch starts a replica and waits for its end, which it brings about when ctx
// ends. The error is never nil unless ctx has ended.
func (f *fleet) watch(ctx context.Context, i int, served func()) error {
	r, err := f.startUnless(ctx, i)
	if r == nil {
		return err
	}
	f.log.Info("replica", "replica", i+1, "pid", r.pid)
	ready := r.ready
	for {
		select {
		case <-ready:
			ready = nil
			served()
		case <-r.ended:
			return cmp.Or(r.err, errEnded)
		case <-ctx.Done():
			return f.end(i, r)
		}
	}
}

// startUnless starts a replica unless ctx has ended.
func (f *fleet) startUnless(ctx context.Context, i int) (*replica, error) {
	f.starting.Lock()
	defer f.starting.Unlock()
	if ctx.Err() != nil {
		return nil, nil
	}
	return f.start(i)
}

func (f *fleet) end(i int, r *replica) error {
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(f.patience):
		r.kill()
		<-r.ended
		return fmt.Errorf("replica %d did not end within %v", i+1, f.patience)
	}
	if r.err != nil {
		return fmt.Errorf("replica %d: %w", i+1, r.err)
	}
	return nil
}
