// Package queue is the way of uplinks through Redis: the streams that gateways
// write and routers read, those that routers write for one another, and those of
// downlinks.
//
// Keys: ran:partitions (how many streams the intake has), ran:uplinks:N (one of
// them), ran:uplinks:bad (what could not be used), ran:lease:N (who reads one),
// ran:instances and ran:instance:ID (who is alive), ran:customer:ID (uplinks on
// their way to the instance that holds the customer's socket), ran:downlinks and
// ran:downlinks:results. Redis 6.2 or newer, or Valkey.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Config is where the Redis is.
type Config struct {
	// URL is "" for an embedded Redis, which keeps nothing and is no measure of
	// speed, or embedded://HOST:PORT for one at this address; "managed" for a
	// private redis-server or valkey-server of the PATH, which keeps an append-only
	// file and ends with this process; else a redis://, rediss:// or unix:// address.
	URL string
	// Dir is where a managed Redis keeps its data; "" is a directory that goes
	// with it.
	Dir string
	// Volatile has a managed Redis keep nothing but in memory.
	Volatile bool
	// Log may be nil.
	Log *slog.Logger
}

// Managed is the URL of a private redis-server.
const Managed = "managed"

// Redis is a connection to one, and the Redis itself if it is ours. Safe for
// concurrent use.
type Redis struct {
	client rueidis.Client
	url    string
	log    *slog.Logger
	// stop ends a Redis that is ours.
	stop     func() error
	embedded bool

	mu    sync.Mutex
	conns map[net.Conn]bool // of wires
}

// Open connects to the Redis of the configuration, or starts it.
func Open(ctx context.Context, cfg Config) (*Redis, error) {
	r := &Redis{url: cfg.URL, log: cfg.Log, stop: func() error { return nil }, conns: map[net.Conn]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var err error
	address, embedded := strings.CutPrefix(cfg.URL, "embedded://")
	switch {
	case embedded || cfg.URL == "":
		r.url, r.stop, err = startEmbedded(address)
		r.embedded = true
	case cfg.URL == Managed:
		r.url, r.stop, err = startManaged(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if err := r.connect(ctx); err != nil {
		return nil, fmt.Errorf("queue: %w", errors.Join(err, r.stop()))
	}
	return r, nil
}

func (r *Redis) connect(ctx context.Context) error {
	opt, err := rueidis.ParseURL(r.url)
	if err != nil {
		return err
	}
	opt.DisableCache = true // an embedded Redis has none of it, and we nothing to cache
	opt.ForceSingleClient = true
	opt.AlwaysRESP2 = true // an embedded Redis wants subscriptions on a connection of their own
	opt.PipelineMultiplex = -1
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = 64<<10, 64<<10
	opt.Dialer.Timeout = 5 * time.Second
	r.client, err = rueidis.NewClient(opt)
	if err != nil {
		return fmt.Errorf("no Redis at %s: %w", withoutPassword(r.url), err)
	}
	if err := r.do(ctx, "PING").Error(); err != nil {
		r.client.Close()
		return fmt.Errorf("no Redis at %s: %w", withoutPassword(r.url), err)
	}
	return nil
}

func withoutPassword(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// URL is the address at which other processes of this machine find this Redis.
func (r *Redis) URL() string { return r.url }

// Embedded tells whether this Redis lives in this process.
func (r *Redis) Embedded() bool { return r.embedded }

// Close ends the connections, and the Redis if it is ours.
func (r *Redis) Close() error {
	r.client.Close()
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.mu.Unlock()
	if err := r.stop(); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// keep has Close close a connection, unless the func that it returns did.
func (r *Redis) keep(conn net.Conn) (closeIt func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[conn] = true
	return func() {
		_ = conn.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, conn)
	}
}

func (r *Redis) cmd(args ...string) rueidis.Completed {
	return r.client.B().Arbitrary(args...).Build()
}

func (r *Redis) do(ctx context.Context, args ...string) rueidis.RedisResult {
	return r.client.Do(ctx, r.cmd(args...))
}

// refused tells whether Redis itself, and not the way to it, said no, and would
// say it again.
func refused(err error) bool {
	var (
		reply *rueidis.RedisError
		wired errReply
	)
	if !errors.As(err, &reply) && !errors.As(err, &wired) {
		return false
	}
	text := string(wired)
	if reply != nil {
		text = reply.Error()
	}
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "LOADING", "OOM", "BUSY", "MISCONF", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS":
		return false
	}
	return true
}

// wait sleeps unless ctx ends, and tells whether it slept.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A backoff is how long to wait after the next failure in a row.
type backoff time.Duration

const (
	firstWait   = backoff(20 * time.Millisecond)
	longestWait = backoff(time.Second)
)

func (b *backoff) wait(ctx context.Context) bool {
	*b = min(max(*b*2, firstWait), longestWait)
	return wait(ctx, time.Duration(*b))
}
