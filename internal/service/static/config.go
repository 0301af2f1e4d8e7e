package static

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// A Config says what to serve, where, and within which limits.
type Config struct {
	// Addr is host:port, port 0 picks a free one; or unix: and the path of a
	// socket, which is removed at the end. It must be set.
	Addr string
	// Dir is the directory to serve; empty means the page.
	Dir string
	// Page is what / answers if Dir is empty; see NewPage.
	Page Page
	// Engine is EventLoop or Goroutines; empty means the event loop where there
	// is one.
	Engine string
	// Threads is the number of event loops; 0 means GOMAXPROCS.
	Threads int
	// MaxConns is how many connections may be open; those beyond are answered
	// with 503 and closed. 0 means 16384.
	MaxConns int
	// HeaderTimeout is how long a request may take to arrive, IdleTimeout how
	// long a connection may wait for the next; 0 means 10 s and 2 min.
	HeaderTimeout, IdleTimeout time.Duration
	// WriteTimeout is how long an answer may take to leave, and beyond it one
	// second for each 8 KiB; 0 means 10 s.
	WriteTimeout time.Duration
	// DrainTimeout is how long requests in flight may take once Serve's
	// context is done; 0 means 10 s.
	DrainTimeout time.Duration
	// Logger gets what the server does and what goes wrong, but no line per
	// request; nil means no log.
	Logger *slog.Logger
}

// The engines.
const (
	EventLoop  = "event_loop"
	Goroutines = "goroutines"
)

const (
	maxThreads      = 256
	defaultMaxConns = 16384
	defaultTimeout  = 10 * time.Second
	defaultIdle     = 2 * time.Minute
)

// Limits that are not for choosing.
const (
	maxHead      = 8 << 10 // bytes of a request
	minWriteRate = 8 << 10 // bytes per second
	// lingerTime and lingerBytes limit what is read of a refused request, so
	// that its answer is not lost by a reset.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
	// drainLinger is how long an idle connection may still bring a request
	// that its client sent before the drain began.
	drainLinger = 100 * time.Millisecond
)

// validate fills in what is 0 and names every mistake.
func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("static: "+format, args...)) }
	if c.Addr == "" {
		bad("Addr is empty: want host:port or unix:PATH")
	}
	if (c.Dir == "") == (c.Page.body == nil) {
		bad("want either Dir or Page")
	}
	switch ok, why := eventLoops(); {
	case c.Engine == "" && ok:
		c.Engine = EventLoop
	case c.Engine == "":
		c.Engine = Goroutines
	case c.Engine == EventLoop && !ok:
		bad("Engine is %s: %s", c.Engine, why)
	case c.Engine != EventLoop && c.Engine != Goroutines:
		bad("Engine is %q: want %s or %s", c.Engine, EventLoop, Goroutines)
	}
	if c.Threads == 0 {
		c.Threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	if c.Threads < 1 || c.Threads > maxThreads {
		bad("Threads is %d: want 0 to %d", c.Threads, maxThreads)
	}
	if c.MaxConns == 0 {
		c.MaxConns = defaultMaxConns
	}
	if c.MaxConns < 0 {
		bad("MaxConns is %d: want 0 or more", c.MaxConns)
	}
	for _, d := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{
		{"HeaderTimeout", &c.HeaderTimeout, defaultTimeout}, {"IdleTimeout", &c.IdleTimeout, defaultIdle},
		{"WriteTimeout", &c.WriteTimeout, defaultTimeout}, {"DrainTimeout", &c.DrainTimeout, defaultTimeout},
	} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
		if *d.value < 0 {
			bad("%s is %v: want 0 or more", d.name, *d.value)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return errors.Join(errs...)
}

// writeTime is how long an answer of n bytes may take.
func (c *Config) writeTime(n int64) time.Duration {
	return c.WriteTimeout + time.Duration(n/minWriteRate)*time.Second
}
