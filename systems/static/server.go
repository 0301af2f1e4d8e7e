package static

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// A Server serves a directory or a page. Its methods may be called concurrently,
// Serve once.
type Server struct {
	config   Config
	log      *slog.Logger
	site     *site
	listener net.Listener
	start    time.Time
	draining atomic.Bool
	open     atomic.Int64 // connections
	engine   engine
}

// An engine accepts connections and answers them.
type engine interface {
	serve() error // until drained
	// drain ends the connections that carry no request, waits for the others
	// until ctx is done, and returns how many it cut off.
	drain(ctx context.Context) int
	close() // after both
}

// Listen opens the directory and binds the address of c. Connections wait until
// Serve is called, which must follow.
func Listen(c Config) (*Server, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Logger, start: time.Now()}
	if err := s.prepare(); err != nil {
		if s.listener != nil {
			_ = s.listener.Close()
		}
		if s.site != nil {
			s.site.close()
		}
		return nil, err
	}
	return s, nil
}

func (s *Server) prepare() (err error) {
	if s.config.Dir == "" {
		s.site, err = pageSite(s.config.Page)
	} else {
		s.site, err = openSite(s.config.Dir)
	}
	if err != nil {
		return fmt.Errorf("static: %w", err)
	}
	network, addr := "tcp", s.config.Addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	if s.listener, err = net.Listen(network, addr); err != nil {
		return fmt.Errorf("static: cannot listen on %q: %w", s.config.Addr, err)
	}
	if s.config.Engine == eventLoop {
		s.engine, err = newLoops(s)
		return err
	}
	s.engine = newCrew(s)
	return nil
}

// Addr returns the address that is bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx is done, and then drains: requests in flight
// get their answers, later connections are refused. What is still in flight
// after the drain timeout is cut off, and the error says so. Serve returns nil
// after a complete drain.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.engine.serve() }()
	s.log.Info("serving", "http", s.Addr().String(), "engine", s.config.Engine, "threads", s.threads())
	var err error
	select {
	case <-ctx.Done():
		err = s.drain()
		err = errors.Join(err, <-ended)
	case err = <-ended:
		err = errors.Join(fmt.Errorf("static: stopped serving: %w", err), s.drain())
	}
	s.engine.close()
	s.site.close()
	s.log.Info("stopped")
	return err
}

// threads is how many may serve at a time.
func (s *Server) threads() int {
	if s.config.Engine == eventLoop {
		return s.config.Threads
	}
	return runtime.GOMAXPROCS(0)
}

func (s *Server) drain() error {
	s.draining.Store(true)
	s.log.Info("draining", "timeout", s.config.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	if cut := s.engine.drain(ctx); cut > 0 {
		return fmt.Errorf("static: %d connections cut off: %w", cut, ctx.Err())
	}
	return nil
}

func (s *Server) newWriter() writer {
	w := writer{clock: clock{start: s.start}, draining: &s.draining}
	w.read()
	return w
}

// busy is what a connection too many is told.
const busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
