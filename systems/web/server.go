// Package web runs an HTTP server on fasthttp that ends without losing a response: the side of the reference
// services that they have in common.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// linger is how long an idle connection may still bring a request that
	// its caller sent before the drain began.
	linger = 100 * time.Millisecond
	// drainTick is the time between two looks at the open connections.
	drainTick = 5 * time.Millisecond
)

// A Server answers the connections of one listener.
type Server struct {
	*fasthttp.Server
	conns *conns
}

// New serves a listener by a fasthttp.Server, whose ConnState it sets. Connections that come while draining says
// true are late.
func New(ln net.Listener, s *fasthttp.Server, draining func() bool) *Server {
	cs := &conns{Listener: ln, draining: draining, open: make(map[*conn]struct{})}
	s.ConnState = cs.changed
	return &Server{s, cs}
}

// Serve answers requests until Drain.
func (s *Server) Serve() error { return s.Server.Serve(s.conns) }

// Active returns how many connections carry a request.
func (s *Server) Active() int { return s.conns.active() }

// Drain waits for the requests in flight, while late connections are still answered, and then closes the port. When
// ctx ends first it closes what is left, and says how much that was.
func (s *Server) Drain(ctx context.Context) error {
	end := time.Now().Add(linger)
	await(ctx, func() int { return s.conns.endIdle(end, false) })
	_ = s.conns.Close()
	last, cancel := context.WithTimeout(ctx, linger)
	defer cancel()
	end = time.Now().Add(linger / 2)
	await(last, func() int { return s.conns.endIdle(end, true) })

	cut := s.conns.closeAll()
	await(context.Background(), s.conns.closeAll)
	if cut > 0 && ctx.Err() != nil {
		return fmt.Errorf("%d HTTP connections cut off: %w", cut, ctx.Err())
	}
	return nil
}

// await looks at the connections until none is left or ctx ends.
func await(ctx context.Context, left func() int) {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for left() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// IsLate reports whether the connection of a request came while draining.
func IsLate(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(*conn)
	return ok && c.late
}

// Refusal returns the status for what never became a request, by the error that an ErrorHandler gets. If nothing
// was sent on the connection, it closes it and returns 0.
func Refusal(ctx *fasthttp.RequestCtx, err error) int {
	c, ok := ctx.Conn().(*conn)
	if ok && !c.busy.Load() {
		_ = c.Close()
		return 0
	}
	if ok {
		c.refused = true
	}
	var (
		header  *fasthttp.ErrSmallBuffer
		network net.Error
	)
	switch {
	case errors.As(err, &header):
		return fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return fasthttp.StatusRequestEntityTooLarge
	case errors.As(err, &network) && network.Timeout():
		return fasthttp.StatusRequestTimeout
	}
	return fasthttp.StatusBadRequest
}
