package wire

import (
	"context"
	"fmt"
	"sync"
)

// A Conn is a connection that many VUs may use at a time.
type Conn interface {
	// IsDead reports whether the connection is no longer usable.
	IsDead() bool
	// Close may be called more than once.
	Close() error
}

// A comparableConn is a Conn, or zero for no connection.
type comparableConn interface {
	comparable
	Conn
}

// Slots are the places of connections, as Connections says. Their methods may
// be called concurrently, except Close.
type Slots[C comparableConn] struct {
	sharing Sharing
	open    func(context.Context) (C, error)
	shared  []*Slot[C]
	early   EarlyDial
}

// NewSlots connects nothing yet.
func NewSlots[C comparableConn](c Connections, open func(context.Context) (C, error)) *Slots[C] {
	s := &Slots[C]{sharing: c.Sharing, open: open}
	for range c.Pool() {
		s.shared = append(s.shared, &Slot[C]{open: open})
	}
	return s
}

// For returns the slot of VU id, and whether that owns it: shared connection id
// modulo their number, or one of its own. Unless connections are per iteration
// it tries to connect it.
func (s *Slots[C]) For(ctx context.Context, id int) (slot *Slot[C], owned bool) {
	if len(s.shared) > 0 {
		slot = s.shared[id%len(s.shared)]
	} else {
		slot, owned = &Slot[C]{open: s.open}, true
	}
	if s.sharing != PerIteration {
		s.early.Try(ctx, func(ctx context.Context) error {
			_, err := slot.Connect(ctx)
			return err
		})
	}
	return slot, owned
}

// Close closes the shared connections. VUs close those of their own.
func (s *Slots[C]) Close() {
	for _, slot := range s.shared {
		slot.Close()
	}
}

// A Slot is the place of one connection, which is opened again when it has
// failed. It may be used concurrently.
type Slot[C comparableConn] struct {
	open func(context.Context) (C, error)

	mu      sync.Mutex
	conn    C           // zero: never connected, or taken
	attempt *attempt[C] // to connect, nil: none is under way
}

// An attempt to connect has a result when done is closed.
type attempt[C comparableConn] struct {
	done chan struct{}
	conn C
	err  error
}

// Get returns the connection, which may have failed, or zero.
func (s *Slot[C]) Get() C {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// Connect returns a connection that was good a moment ago. It waits for an
// attempt to connect that is on its way.
func (s *Slot[C]) Connect(ctx context.Context) (C, error) {
	var none C
	s.mu.Lock()
	if s.conn != none && !s.conn.IsDead() {
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
			return none, fmt.Errorf("connect: %w", ctx.Err())
		}
	}
	a = &attempt[C]{done: make(chan struct{})}
	old := s.conn
	s.attempt, s.conn = a, none
	s.mu.Unlock()
	if old != none {
		_ = old.Close() // it has failed
	}
	a.conn, a.err = s.open(ctx)
	s.mu.Lock()
	s.conn, s.attempt = a.conn, nil
	s.mu.Unlock()
	close(a.done)
	return a.conn, a.err
}

// Take empties the slot and returns the connection that it had, or zero.
func (s *Slot[C]) Take() C {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none C
	conn := s.conn
	s.conn = none
	return conn
}

// Close closes the connection, if there is one.
func (s *Slot[C]) Close() {
	var none C
	if c := s.Take(); c != none {
		_ = c.Close() // a connection that has failed is closed all the same
	}
}
