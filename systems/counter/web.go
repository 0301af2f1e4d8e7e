package counter

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Limits of the HTTP side. The contract has no bodies and short headers.
const (
	maxHeaderBytes = 8 << 10
	maxBodyBytes   = 4 << 10
	readTimeout    = 10 * time.Second
	writeTimeout   = 10 * time.Second
	idleTimeout    = 2 * time.Minute
)

const (
	// linger is how long an idle connection may still bring a request that
	// its caller sent before the drain began.
	linger = 100 * time.Millisecond
	// drainTick is the time between two looks at the open connections.
	drainTick = 5 * time.Millisecond
)

// A web is the HTTP side of the service.
type web struct {
	conns   *conns
	server  *fasthttp.Server
	handler *handler
}

func newWeb(ln net.Listener, p *phase, s *sharing, log *slog.Logger) (*web, error) {
	h, err := newHandler(p, s, log)
	if err != nil {
		return nil, err
	}
	cs := newConns(ln, p)
	return &web{conns: cs, handler: h, server: &fasthttp.Server{
		Handler:                      h.serve,
		ErrorHandler:                 h.unreadable,
		ConnState:                    cs.changed,
		ReadBufferSize:               maxHeaderBytes,
		MaxRequestBodySize:           maxBodyBytes,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		Logger:                       printfLogger{log},
	}}, nil
}

func (w *web) serve() error { return w.server.Serve(w.conns) }

// drain answers the requests in flight and refuses later ones: with 503 as
// long as there are requests in flight, then with a closed port. When ctx ends
// first it closes what is left, and says how much that was.
func (w *web) drain(ctx context.Context) error {
	end := time.Now().Add(linger)
	await(ctx, func() int { return w.conns.endIdle(end, false) })
	_ = w.conns.Close()
	last, cancel := context.WithTimeout(ctx, linger)
	defer cancel()
	end = time.Now().Add(linger / 2)
	await(last, func() int { return w.conns.endIdle(end, true) })

	cut := w.conns.closeAll()
	await(context.Background(), w.conns.closeAll)
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

// close ends the guards. Callers that are inside get their answers.
func (w *web) close() { w.handler.end() }

// A printfLogger passes fasthttp's complaints about single connections on.
type printfLogger struct{ log *slog.Logger }

func (l printfLogger) Printf(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...))
}
