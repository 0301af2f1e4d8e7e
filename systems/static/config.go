package static

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"contend/setting"
)

// A Config says what to serve, where, and within which limits.
type Config struct {
	// Addr is host:port, port 0 picks a free one; or unix: and the path of a
	// socket, which is removed at the end. It must be set.
	Addr string `flag:"http" words:"*address* of the service, such as :8080 or unix:/run/static.sock"`
	// Dir is the directory to serve; empty means the page.
	Dir string
	// Page is what / answers if Dir is empty; see NewPage.
	Page Page
	// MaxConns is how many connections may be open; those beyond are answered
	// with 503 and closed. 0 means 16384.
	MaxConns int `flag:"max-conns" min:"0" words:"connections at a time; 0 means 16384"`
	// HeaderTimeout is how long a request may take to arrive, IdleTimeout how
	// long a connection may wait for the next; 0 means 10 s and 2 min.
	HeaderTimeout time.Duration `flag:"header-timeout" min:"0s" words:"how long a request may take to arrive; 0 means 10s"`
	IdleTimeout   time.Duration `flag:"idle-timeout" min:"0s" words:"how long a connection may wait for a request; 0 means 2m"`
	// WriteTimeout is how long an answer may take to leave, and beyond it one
	// second for each 8 KiB; 0 means 10 s.
	WriteTimeout time.Duration `flag:"write-timeout" min:"0s" words:"how long a response may take, plus 1s for each 8 KiB; 0 means 10s"`
	// DrainTimeout is how long requests in flight may take once Serve's
	// context is done; 0 means 10 s.
	DrainTimeout time.Duration `flag:"drain-timeout" min:"0s" words:"how long to wait for requests in flight when stopping; 0 means 10s"`
	// Logger gets what the server does and what goes wrong, but no line per
	// request; nil means no log.
	Logger *slog.Logger
}

// Limits that are not for choosing.
const (
	maxHead      = 8 << 10 // bytes of a request
	minWriteRate = 8 << 10 // bytes per second
)

// Validate returns every mistake in c but those of Dir and Page.
func (c Config) Validate() error {
	err := setting.Check(c)
	if c.Addr == "" {
		err = errors.Join(err, setting.At(&c, &c.Addr).Wrong("is missing: an address such as :8080"))
	}
	return err
}

// complete fills in what is 0, or returns every mistake.
func (c Config) complete() (Config, error) {
	const timeout, idle, conns = 10 * time.Second, 2 * time.Minute, 16384
	err := c.Validate()
	if (c.Dir == "") == (c.Page.body == nil) {
		err = errors.Join(err, errors.New("one of Dir and Page is needed"))
	}
	if err != nil {
		return c, fmt.Errorf("static: %w", err)
	}
	c.MaxConns = cmp.Or(c.MaxConns, conns)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, timeout)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, idle)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, timeout)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, timeout)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// writeTime is how long an answer of n bytes may take.
func (c *Config) writeTime(n int64) time.Duration {
	return c.WriteTimeout + time.Duration(n/minWriteRate)*time.Second
}
