package roundtrip

import (
	"context"
	"fmt"
	"sync"
)

// A slot is the place of one connection, which is opened again when it has
// failed. It may be used concurrently.
type slot struct {
	target *Target

	mu      sync.Mutex
	link    link     // nil: never connected, or closed
	attempt *attempt // to connect, nil: none is on its way
}

// An attempt to connect has a result when done is closed.
type attempt struct {
	done chan struct{}
	link link
	err  error
}

// get returns the connection if it is of use.
func (s *slot) get() (link, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || s.link.isDead() {
		return nil, false
	}
	return s.link, true
}

// connect returns a connection that was good a moment ago. It waits for an
// attempt to connect that is on its way.
func (s *slot) connect(ctx context.Context) (link, error) {
	s.mu.Lock()
	if s.link != nil && !s.link.isDead() {
		defer s.mu.Unlock()
		return s.link, nil
	}
	a := s.attempt
	if a != nil {
		s.mu.Unlock()
		select {
		case <-a.done:
			return a.link, a.err
		case <-ctx.Done():
			return nil, fmt.Errorf("roundtrip: connect: %w", ctx.Err())
		}
	}
	a = &attempt{done: make(chan struct{})}
	old := s.link
	s.attempt, s.link = a, nil
	s.mu.Unlock()
	if old != nil {
		_ = old.Close() // it has failed
	}
	a.link, a.err = s.target.open(ctx)
	s.mu.Lock()
	s.link, s.attempt = a.link, nil
	s.mu.Unlock()
	close(a.done)
	return a.link, a.err
}

// close closes the connection, if there is one.
func (s *slot) close() {
	s.mu.Lock()
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l != nil {
		_ = l.Close() // a connection that has failed is closed all the same
	}
}
