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
	"sync"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver"
)

// Redis is a client of a Redis server, and the server itself if it was started here.
// Safe for concurrent use.
type Redis struct {
	*redisserver.Server
	client rueidis.Client
	log    *slog.Logger

	mu    sync.Mutex
	conns map[net.Conn]bool // of wires
}

// Open connects to the Redis of the configuration, or starts it. It has to be one
// server: sentinels and clusters are not supported. A nil log means none.
func Open(ctx context.Context, cfg redisserver.Config, log *slog.Logger) (*Redis, error) {
	server, err := redisserver.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	r := &Redis{Server: server, log: log, conns: map[net.Conn]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if err := r.connect(ctx); err != nil {
		return nil, fmt.Errorf("queue: %w", errors.Join(err, server.Close()))
	}
	return r, nil
}

func (r *Redis) connect(ctx context.Context) (err error) {
	opt := r.Options()
	opt.ForceSingleClient = true
	opt.PipelineMultiplex = -1
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = 64<<10, 64<<10
	r.client, err = rueidis.NewClient(opt)
	if err != nil {
		return fmt.Errorf("no Redis at %s: %w", r.Place(), err)
	}
	if err := r.do(ctx, "PING").Error(); err != nil {
		r.client.Close()
		return fmt.Errorf("no Redis at %s: %w", r.Place(), err)
	}
	return nil
}

// Ping says why Redis cannot be used now, or nil.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.do(ctx, "PING").Error(); err != nil {
		return fmt.Errorf("no Redis at %s: %w", r.Place(), err)
	}
	return nil
}

// Close ends the connections, and the Redis if it is ours.
func (r *Redis) Close() error {
	r.client.Close()
	r.mu.Lock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.mu.Unlock()
	if err := r.Server.Close(); err != nil {
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

// doAll sends commands together and returns the first error among the replies.
func (r *Redis) doAll(ctx context.Context, cmds []rueidis.Completed) error {
	for _, reply := range r.client.DoMulti(ctx, cmds...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// refused tells whether Redis itself, and not the way to it, said no, and would
// say it again.
func refused(err error) bool {
	var reply *rueidis.RedisError
	var own errReply
	return (errors.As(err, &reply) || errors.As(err, &own)) && !redisserver.IsTransient(err.Error())
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
