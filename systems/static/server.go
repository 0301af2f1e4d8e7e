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

	"github.com/valyala/fasthttp"

	"contend/systems/web"
)

// A Server serves a directory or a page. Its methods may be called concurrently,
// Serve once.
type Server struct {
	config   Config
	log      *slog.Logger
	site     *site
	listener net.Listener
	draining atomic.Bool
	http     *web.Server
}

// Listen opens the directory and binds the address of c. Connections wait until
// Serve is called, which must follow.
func Listen(c Config) (*Server, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Logger}
	if s.site, err = openSite(c); err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	network, addr := "tcp", c.Addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	if s.listener, err = net.Listen(network, addr); err != nil {
		s.site.close()
		return nil, fmt.Errorf("static: cannot listen on %q: %w", c.Addr, err)
	}
	s.http = web.New(s.listener, &fasthttp.Server{
		Name:                         "contend",
		Handler:                      s.serve,
		ErrorHandler:                 s.refuse,
		Concurrency:                  c.MaxConns,
		ReadBufferSize:               maxHead,
		MaxRequestBodySize:           1, // nobody reads one
		ReadTimeout:                  c.HeaderTimeout,
		IdleTimeout:                  c.IdleTimeout,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		Logger:                       silent{},
	}, s.draining.Load)
	return s, nil
}

// Addr returns the address that is bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers requests until ctx is done, and then drains: requests in flight
// get their answers, later connections are refused. What is still in flight
// after the drain timeout is cut off, and the error says so. Serve returns nil
// after a complete drain.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve() }()
	s.log.Info("serving", "http", s.Addr().String(), "threads", runtime.GOMAXPROCS(0))
	var err error
	select {
	case <-ctx.Done():
		err = errors.Join(s.drain(), <-ended)
	case err = <-ended:
		err = errors.Join(fmt.Errorf("static: stopped serving: %w", err), s.drain())
	}
	s.site.close()
	s.log.Info("stopped")
	return err
}

func (s *Server) drain() error {
	s.draining.Store(true)
	s.log.Info("draining", "timeout", s.config.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	if err := s.http.Drain(ctx); err != nil {
		return fmt.Errorf("static: %w", err)
	}
	return nil
}

// silent drops what fasthttp says of single connections.
type silent struct{}

func (silent) Printf(string, ...any) {}
