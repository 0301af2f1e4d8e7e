package ws

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A slot is the place of one connection, which is opened again when it has
// failed. It may be used concurrently.
type slot struct {
	target *Target

	mu      sync.Mutex
	conn    *conn    // nil: never connected, or closed
	attempt *attempt // to connect, nil: none is on its way
}

// An attempt to connect has a result when done is closed.
type attempt struct {
	done chan struct{}
	conn *conn
	err  error
}

// get returns the connection, which may have failed, or nil.
func (s *slot) get() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// connect returns a connection that was good a moment ago. It waits for an
// attempt to connect that is on its way.
func (s *slot) connect(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	if s.conn != nil && !s.conn.isDead() {
		defer s.mu.Unlock()
		return s.conn, nil
	}
	a := s.attempt
	if a != nil {
		s.mu.Unlock()
		select {
		case <-a.done:
			return a.conn, a.err
		case <-ctx.Done():
			return nil, fmt.Errorf("ws: connect: %w", ctx.Err())
		}
	}
	a = &attempt{done: make(chan struct{})}
	s.attempt = a
	s.mu.Unlock()
	a.conn, a.err = s.target.open(ctx)
	if a.err == nil {
		go a.conn.read() // conn.close waits for it, or it has ended with the connection
	}
	s.mu.Lock()
	s.conn, s.attempt = a.conn, nil
	s.mu.Unlock()
	close(a.done)
	return a.conn, a.err
}

// interrupt ends a write that is on its way.
func (s *slot) interrupt() {
	if c := s.get(); c != nil {
		c.interrupt()
	}
}

// disarm makes the next write set its deadline.
func (s *slot) disarm() {
	if c := s.get(); c != nil {
		c.disarm()
	}
}

// close closes the connection, if there is one, at once.
func (s *slot) close() { s.leave(0) }

// leave closes the connection and gives the server as long as patience for its
// part.
func (s *slot) leave(patience time.Duration) {
	s.mu.Lock()
	c := s.conn
	s.conn = nil
	s.mu.Unlock()
	if c != nil {
		c.close(patience)
	}
}
