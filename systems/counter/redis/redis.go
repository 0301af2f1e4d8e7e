// Package redis holds counters that many processes share through one Redis.
//
// A counter is one hash, whose fields counter, status and lastChanged one
// command or one transaction changes together, so that they cannot disagree:
//
//	{contend:counter}         counter 7, status 1, lastChanged 1700000000
//	{contend:counter}:id:ID   what the increment with this idempotency key got
//
// The braces keep the keys of a counter on one node of a cluster. Redis 5 or newer, or
// Valkey. A user of access lists needs +evalsha +eval +get +set +hget +hset +hincrby
// +time +exists on these keys; +watch +unwatch +multi +exec for redis-naive; and
// +cluster|slots in a cluster.
//
// What Redis loses, the counter loses: after a failover to a replica that lags
// behind, values come a second time. Redis is trusted: its replies are taken as true.
package redis

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"time"

	"contend/internal/redisserver"
	"contend/setting"
)

// A Design is one way to share a counter.
type Design struct {
	Name, Summary string
	// Control marks a negative control: it loses updates, and exists so that
	// tests can show that they notice.
	Control bool
}

// Designs returns those that users may choose.
func Designs() []Design {
	var chosen []Design
	for _, p := range plans() {
		if !p.Control {
			chosen = append(chosen, p.Design)
		}
	}
	return chosen
}

// Lookup finds a design by name, in any letter case, the negative control
// included. The error is a *setting.Mistake.
func Lookup(name string) (Design, error) {
	p, err := lookup(name)
	return p.Design, err
}

func lookup(name string) (plan, error) {
	var names []string
	for _, p := range plans() {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
		if !p.Control {
			names = append(names, p.Name)
		}
	}
	m := setting.NotOneOf(name, names)
	m.Setting.Name = "design"
	return plan{}, m
}

// A plan is how a design is built.
type plan struct {
	Design
	pipelining bool // concurrent commands share a connection
	dedicating bool // an increment holds a connection for many round trips
	make       func(*Counter) increment
}

func plans() []plan {
	return []plan{
		{Design: Design{Name: "redis-naive",
			Summary: "WATCH, a GET and a SET for each field, EXEC: a round trip each"},
			dedicating: true, make: func(c *Counter) increment { return c.transact }},
		{Design: Design{Name: "redis-script",
			Summary: "one script call for each increment, on pooled connections"},
			make: func(c *Counter) increment { return c.script }},
		{Design: Design{Name: "redis-pipelined",
			Summary: "the same script; concurrent calls of a process share a pipeline"},
			pipelining: true, make: func(c *Counter) increment { return c.script }},
		{Design: Design{Name: "redis-combining",
			Summary: "concurrent increments of a process share one script call"},
			make: func(c *Counter) increment { return (&combiner{c: c}).increment }},
		{Design: Design{Name: "redis-getset", Control: true,
			Summary: "GET, then SET of the sum: loses updates"},
			make: func(c *Counter) increment { return c.overwrite }},
	}
}

// A Config says which counter is shared, and how.
type Config struct {
	Server *redisserver.Server
	Design string // of Lookup
	// Key names the counter; "" means contend:counter.
	Key string `json:"key" flag:"redis-counter" default:"contend:counter" words:"*name* of the counter in Redis"`
	// Timeout bounds one operation on Redis, including connecting; 0 means 1 s. An
	// increment under redis-combining can last twice as long, because the batch
	// before its own may have to time out first; so can one before which Redis has
	// to be sent the script.
	Timeout time.Duration `json:"timeout" flag:"redis-timeout" default:"1s" min:"1ms" max:"1m" words:"time limit for one Redis operation"`
	// Log gets when Redis goes away and when it answers again; nil means no log.
	Log *slog.Logger
}

// Check returns the mistakes in what has a default.
func (cfg Config) Check() error {
	err := setting.Check(cfg)
	if n := len(cfg.Key); n < 1 || n > 128 || strings.ContainsFunc(cfg.Key, func(c rune) bool { return c <= ' ' || c > '~' || c == '{' || c == '}' }) {
		err = errors.Join(err, setting.At(&cfg, &cfg.Key).OutOf(cfg.Key, "1 to 128 printable ASCII characters but spaces and braces"))
	}
	return err
}

// complete returns the configuration with its defaults.
func (cfg Config) complete() (Config, plan, error) {
	var mistakes []error
	if cfg.Server == nil {
		mistakes = append(mistakes, errors.New("no server"))
	}
	p, err := lookup(cfg.Design)
	if err != nil {
		mistakes = append(mistakes, err)
	}
	var defaults Config
	setting.Defaults(&defaults)
	cfg.Key, cfg.Timeout = cmp.Or(cfg.Key, defaults.Key), cmp.Or(cfg.Timeout, defaults.Timeout)
	mistakes = append(mistakes, cfg.Check())
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return cfg, p, errors.Join(mistakes...)
}
