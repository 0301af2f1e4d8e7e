package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"contend/guard"
	"contend/internal/cpu"
	"contend/setting"
	"contend/systems/counter/redis"
)

// A Config says where to serve and with which guard.
type Config struct {
	// httpAddr and grpcAddr are host:port; port 0 picks a free one, the empty
	// string turns that side off. At least one must be set.
	HTTPAddr string `flag:"http" words:"*address* of the HTTP service, such as :8080"`
	GRPCAddr string `flag:"grpc" words:"*address* of the gRPC service, such as :50055"`
	// HTTP and GRPC, if set, are listened on in place of the addresses. The server
	// closes them, also if Listen fails.
	HTTP, GRPC net.Listener
	// Guard is the design of the gRPC counter, in any letter case. It must be set
	// if gRPC is served. It must return values, so striped is refused.
	Guard string `flag:"guard" default:"mutex" words:"*design* that guards the gRPC counter (case is ignored): mutex, inputQ, atomic, …; or one that shares it: redis-script, …"`
	// Shared, if set, is the counter of both sides, and Guard the name of its
	// design. Whoever opened it closes it, after Serve.
	Shared Shared
	// Redis is the place of the shared counter, for the log.
	Redis string
	// Serving, if set, is called when the server answers, in place of a line of
	// the log.
	Serving func()
	// DrainTimeout is how long requests in flight may take once Serve's
	// context is done; 0 means 10 s.
	DrainTimeout time.Duration `flag:"drain-timeout" default:"10s" above:"0s" words:"how long to wait for requests in flight when stopping"`
	// Logger gets what the server does and what goes wrong, but no line per
	// request; nil means no log.
	Logger *slog.Logger
}

func (c Config) validate() error {
	var errs []error
	if !c.hasHTTP() && !c.hasGRPC() {
		errs = append(errs, errors.New("counter: HTTPAddr and GRPCAddr are both empty; expected one of them, or both"))
	}
	if c.hasGRPC() && c.Guard == "" {
		errs = append(errs, fmt.Errorf("counter: Guard is missing; expected %s",
			strings.Join(guard.Names(true), ", ")))
	}
	if c.Shared != nil {
		if _, err := redis.Lookup(c.Guard); err != nil {
			errs = append(errs, fmt.Errorf("counter: Guard: %w", err))
		}
	} else if c.Guard != "" {
		if _, bad := findDesign(c.Guard); bad != nil {
			errs = append(errs, fmt.Errorf("counter: Guard: %s", bad.text))
		}
	}
	if c.DrainTimeout < 0 {
		errs = append(errs, fmt.Errorf("counter: DrainTimeout is %v; expected 0s or more", c.DrainTimeout))
	}
	return errors.Join(errs...)
}

func (c Config) hasHTTP() bool { return c.HTTPAddr != "" || c.HTTP != nil }

func (c Config) hasGRPC() bool { return c.GRPCAddr != "" || c.GRPC != nil }

// A Server serves the counter. Its methods may be called concurrently, Serve
// once.
type Server struct {
	log          *slog.Logger
	design       string
	redis        string
	shared       *sharing // nil if every path has a counter of its own
	announce     func()
	drainTimeout time.Duration
	phase        phase
	http, grpc   net.Listener // nil if off
	sides        []side
}

// A side is one protocol of the service.
type side interface {
	serve() error // until the listener is closed
	drain(ctx context.Context) error
	close() // after drain, or at its deadline
}

// Listen binds the addresses of cfg. The error names the address that cannot
// be bound. Connections wait until Serve is called, which must follow.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{log: cfg.Logger, design: cfg.Guard, redis: cfg.Redis, announce: cfg.Serving, drainTimeout: cfg.DrainTimeout}
	if cfg.Shared != nil {
		design, _ := redis.Lookup(cfg.Guard) // valid
		s.shared = newSharing(cfg.Shared, design.Name)
	}
	if s.announce == nil {
		s.announce = s.logServing
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.drainTimeout == 0 {
		var defaults Config
		setting.Defaults(&defaults)
		s.drainTimeout = defaults.DrainTimeout
	}
	if err := s.bind(cfg); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (s *Server) bind(cfg Config) (err error) {
	if s.http, err = listen("HTTP", cfg.HTTPAddr, cfg.HTTP); err != nil {
		return err
	}
	if s.grpc, err = listen("gRPC", cfg.GRPCAddr, cfg.GRPC); err != nil {
		return err
	}
	if s.http != nil {
		w, err := newHTTPSide(s.http, &s.phase, s.shared, s.log)
		if err != nil {
			return fmt.Errorf("counter: %w", err)
		}
		s.sides = append(s.sides, w)
	}
	if s.grpc != nil {
		r, err := newRPC(s.grpc, cfg.Guard, s.shared, s.log)
		if err != nil {
			return fmt.Errorf("counter: %w", err)
		}
		s.sides = append(s.sides, r)
	}
	return nil
}

// listen returns the listener given, if any, or nil for the empty address.
func listen(protocol, addr string, given net.Listener) (net.Listener, error) {
	if given != nil || addr == "" {
		return given, nil
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("counter: cannot listen for %s on %q: %w", protocol, addr, err)
	}
	return ln, nil
}

// abandon releases what a failed Listen has made.
func (s *Server) abandon() {
	for _, ln := range []net.Listener{s.http, s.grpc} {
		if ln != nil {
			_ = ln.Close()
		}
	}
	s.closeSides()
}

func (s *Server) closeSides() {
	if s.shared != nil {
		s.shared.end()
	}
	for _, p := range s.sides {
		p.close()
	}
}

// Serve answers requests until ctx is done, and then drains: readiness turns
// false, requests in flight get their answers, later ones are refused. What is
// still in flight after the drain timeout is cut off, and the error says so.
// Serve returns nil after a complete drain.
func (s *Server) Serve(ctx context.Context) error {
	s.logEnvironment()
	ended := make(chan error, len(s.sides)) // one each, so that nobody waits
	for _, p := range s.sides {
		go func() { ended <- p.serve() }()
	}
	s.phase.serve()
	s.announce()

	running := len(s.sides)
	var errs []error
	select {
	case <-ctx.Done():
	case err := <-ended:
		running--
		errs = append(errs, fmt.Errorf("counter: stopped serving: %w", cmp.Or(err, net.ErrClosed)))
	}
	errs = append(errs, s.drain())
	for range running {
		errs = append(errs, <-ended)
	}
	s.logTotals()
	s.log.Info("stopped")
	return errors.Join(errs...)
}

func (s *Server) drain() error {
	s.phase.drain()
	s.log.Info("draining", "timeout", s.drainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), s.drainTimeout)
	defer cancel()
	release := context.AfterFunc(ctx, s.closeSides) // lets go of callers that wait for a guard

	errs := make([]error, len(s.sides))
	var wg sync.WaitGroup
	for i, p := range s.sides {
		wg.Go(func() { errs[i] = p.drain(ctx) })
	}
	wg.Wait()
	release()
	s.closeSides()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("counter: %w", err)
	}
	return nil
}

func (s *Server) logEnvironment() {
	limit := "none"
	if cores := cpu.Limit(os.DirFS("/")); cores > 0 {
		limit = strconv.FormatFloat(cores, 'g', 4, 64)
	}
	s.log.Info("environment", "cores", runtime.NumCPU(),
		"gomaxprocs", runtime.GOMAXPROCS(0), "cpu_limit", limit)
}

// logServing writes the line that a parent process may wait for.
func (s *Server) logServing() {
	var attrs []any
	if s.http != nil {
		attrs = append(attrs, "http", s.http.Addr().String())
	}
	if s.grpc != nil {
		attrs = append(attrs, "grpc", s.grpc.Addr().String())
	}
	switch {
	case s.shared != nil:
		attrs = append(attrs, "guard", s.shared.design, "redis", s.redis)
	case s.grpc != nil:
		design, _ := findDesign(s.design) // valid since Listen
		attrs = append(attrs, "guard", design)
	}
	s.log.Info("serving", attrs...)
}

// logTotals writes what sharing the counter has cost.
func (s *Server) logTotals() {
	if s.shared == nil {
		return
	}
	stats := s.shared.Stats()
	var attrs []any
	for _, total := range redisTotals(stats) {
		attrs = append(attrs, total.name, total.n)
	}
	if stats.Increments > 0 {
		attrs = append(attrs, "round_trips_per_increment",
			strconv.FormatFloat(float64(stats.RoundTrips)/float64(stats.Increments), 'g', 4, 64))
	}
	s.log.Info("totals", attrs...)
}
