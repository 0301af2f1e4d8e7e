// Package replicas runs several processes of one service that listen on the same
// addresses: it opens their sockets, starts them, restarts those that die, and stops
// them.
package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A Supervisor keeps the replicas of one service running: processes that have each a
// socket of its own for the same addresses. All fields must be set.
type Supervisor struct {
	N        int                           // how many, at least 1
	Start    func(i int) (*Replica, error) // starts replica i, from 0; called by one goroutine at a time
	Patience time.Duration                 // how long a replica may take to end when asked, before it is killed
	Log      *slog.Logger

	starting sync.Mutex // nothing is started while the sockets are closed
}

// A Replica is a child process, started by Start.
type Replica struct {
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

// Run starts the replicas, calls serving when all of them serve, and starts those
// again that die later. When ctx ends it calls closing and ends them. It fails if
// one dies before all have served, or does not end well.
func (s *Supervisor) Run(ctx context.Context, serving, closing func()) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, func() {
		s.starting.Lock()
		defer s.starting.Unlock()
		closing()
		cancel()
	})
	defer release()

	started, ended := make(chan error, s.N), make(chan error, s.N)
	for i := range s.N {
		go func() { ended <- s.keep(inner, i, started) }()
	}
	var errs []error
	for range s.N {
		if err := <-started; err != nil {
			errs = append(errs, err)
			cancel()
		}
	}
	if len(errs) == 0 && inner.Err() == nil {
		serving()
	}
	for range s.N {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// keep runs one replica until ctx ends, and returns how it ended then. It tells
// started once whether it came to serve, or that it was not let.
func (s *Supervisor) keep(ctx context.Context, i int, started chan<- error) error {
	var once sync.Once
	tell := func(err error) { once.Do(func() { started <- err }) }
	pause, served := firstPause, false
	for {
		began := time.Now()
		err := s.watch(ctx, i, func() {
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
		s.Log.Warn("replica ended, and is started again", "replica", i+1, "error", err, "after", pause)
		pause = min(2*pause, maxPause)
	}
}

var errEnded = errors.New("exit status 0")

// watch starts a replica and waits for its end, which it brings about when ctx
// ends. The error is never nil unless ctx has ended.
func (s *Supervisor) watch(ctx context.Context, i int, served func()) error {
	r, err := s.startUnless(ctx, i)
	if r == nil {
		return err
	}
	s.Log.Info("replica", "replica", i+1, "pid", r.pid)
	ready := r.ready
	for {
		select {
		case <-ready:
			ready = nil
			served()
		case <-r.ended:
			return cmp.Or(r.err, errEnded)
		case <-ctx.Done():
			return s.end(i, r)
		}
	}
}

// startUnless starts a replica unless ctx has ended.
func (s *Supervisor) startUnless(ctx context.Context, i int) (*Replica, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if ctx.Err() != nil {
		return nil, nil
	}
	return s.Start(i)
}

func (s *Supervisor) end(i int, r *Replica) error {
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(s.Patience):
		r.kill()
		<-r.ended
		return fmt.Errorf("replica %d did not end within %v", i+1, s.Patience)
	}
	if r.err != nil {
		return fmt.Errorf("replica %d: %w", i+1, r.err)
	}
	return nil
}
