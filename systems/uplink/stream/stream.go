// Package stream is the WebSocket server that customers connect to: for uplinks and
// their answers (upstream), and for downlinks and their results (downstream).
//
// A connection has two goroutines. One reads: it finds all messages that a read
// brought, parses them and hands the answers to the outbox in one call. The other
// writes: it takes messages from the outbox and writes up to 64 KiB of them at
// once, and it writes pongs, pings, replies and the close frame, which the reader
// and others leave for it. So only the writer of a connection waits for a customer
// that reads slowly, and connections of a customer with room get its messages.
//
// Connections are closed with 1001 when the service stops, 1002 for a breach of RFC
// 6455, 1007 for text that is not UTF-8, 1008 for a malformed message, for silence and
// at the end of the token, 1009 for a message longer than 1 MiB, 1011 for an internal
// error and 1013 when nothing is read. The close reason has details.
package stream

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"

	"github.com/gobwas/ws"
)

// A Kind is what a connection carries.
type Kind uint8

// The kinds; in Stats they are indices.
const (
	Upstream   Kind = iota // uplinks, and answers to them
	Downstream             // downlinks, and replies to them
	kinds
)

func (k Kind) String() string { return [kinds]string{"upstream", "downstream"}[k] }

// Config says how to serve. All functions are called by several goroutines at a time.
type Config struct {
	// Authenticate returns the customer that a request comes from, and what ends when
	// the customer may no longer be served for it.
	Authenticate func(*http.Request) (customer string, valid context.Context, ok bool)
	// Outbox returns the outbox of a customer; nil refuses the connection with 503,
	// because the customer is not served here, or not now.
	Outbox func(customer string) *outbox.Outbox
	// Downlink is called with each downlink that a customer sends. Until it returns,
	// nothing more is read from that connection; ctx ends with the connection. It
	// replies itself or has another goroutine do it later: first Ack, then Result.
	Downlink func(ctx context.Context, customer string, d *message.Downstream, reply Replier)
	// Opened and Closed, if set, are called for every connection.
	Opened, Closed func(customer string, kind Kind)

	// PingEvery is the time between two pings; 0: 30 s. A connection is closed
	// when for PingEvery and PongTimeout (0: 60 s) no frame has come. Customers
	// answer pings only while they read, and may be busy for 30 s.
	PingEvery, PongTimeout time.Duration
	// WriteTimeout is how long a write may make no progress; 0: 60 s. (Over TLS:
	// how long 64 KiB may take.) Messages that are in its way are for another
	// connection then, unless their deadline in the outbox is not longer.
	WriteTimeout time.Duration
	// MaxConnections bounds those of one customer; 0: 100. More are refused (429).
	MaxConnections int
	// Log gets a line for each connection; nil: none.
	Log *slog.Logger
}

// A Server serves customers. Its methods may be called concurrently.
type Server struct {
	config Config
	stats  counters

	mu       sync.Mutex
	open     map[*conn]struct{}
	by       map[string]int // connections of a customer, those in their handshake included
	shutting bool
	running  sync.WaitGroup
}

// New returns a Server. Authenticate is needed, Outbox and Downlink by the
// handlers that use them.
func New(c Config) *Server {
	c.PingEvery = cmp.Or(c.PingEvery, 30*time.Second)
	c.PongTimeout = cmp.Or(c.PongTimeout, 60*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 60*time.Second)
	c.MaxConnections = cmp.Or(c.MaxConnections, 100)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	nobody := func(string, Kind) {}
	if c.Opened == nil {
		c.Opened = nobody
	}
	if c.Closed == nil {
		c.Closed = nobody
	}
	return &Server{config: c, open: make(map[*conn]struct{}), by: make(map[string]int)}
}

// Upstream returns the handler of <base>/stream/upstream/. Like the others it
// serves whatever path it is mounted at: mount it with and without the final
// slash, since some clients do not follow a redirect.
func (s *Server) Upstream() http.Handler { return s.handler(Upstream) }

// Downstream returns the handler of <base>/stream/downstream/.
func (s *Server) Downstream() http.Handler { return s.handler(Downstream) }

// Shutdown refuses new connections (503), closes the others (1001), for which it
// gives each 5 s, and returns when all have ended. When ctx ends it cuts them off
// and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.shutting = true
	for c := range s.open {
		c.end(ws.StatusGoingAway, "the service is stopping")
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.open {
		c.cut()
	}
	s.mu.Unlock()
	<-ended
	return context.Cause(ctx)
}

// enter counts a connection that is about to begin. The status is 0 if it may.
func (s *Server) enter(customer string) (status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.shutting:
		return http.StatusServiceUnavailable
	case s.by[customer] >= s.config.MaxConnections:
		return http.StatusTooManyRequests
	}
	s.by[customer]++
	s.running.Add(1)
	return 0
}

// leave undoes enter.
func (s *Server) leave(customer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[customer]--; s.by[customer] == 0 {
		delete(s.by, customer)
	}
	s.running.Done()
}

// add lists a connection for Shutdown; a late one is closed by it.
func (s *Server) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = struct{}{}
	if s.shutting {
		c.end(ws.StatusGoingAway, "the service is stopping")
	}
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}
