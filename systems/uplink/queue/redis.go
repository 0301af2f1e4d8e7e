// Package queue is the way of uplinks through Redis: the streams that gateways
// write and routers read, those that routers write for one another, and those of
// downlinks.
//
// Keys:
//
//	ran:partitions              how many streams the intake has
//	ran:secret                  what routers draw challenges with
//	ran:uplinks:N               one of the streams
//	ran:uplinks:bad             entries that could not be used
//	ran:lease:N                 which router reads a stream
//	ran:instances,
//	ran:instance:ID             which routers are alive
//	ran:customer:ID             uplinks on their way to the router that has the customer's socket
//	ran:downlinks               downlinks for gateways
//	ran:open:{ran:downlinks}    which of them are open
//	ran:shares:{ran:downlinks}  how many of each customer
//	ran:downlinks:results       what gateways report
//
// It needs Redis 6.2 or newer, or Valkey: one server, one with sentinels, or a cluster, over
// whose slots the partitions are spread as their keys hash.
package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver"
)

// Redis is a client of a Redis server, and the server itself if it was started here.
// Safe for concurrent use.
type Redis struct {
	*redisserver.Server
	// Replicas is how many replicas of a server must have uplinks that are written there, by producers and for
	// customers, before they count as written; 0: none. It is set before first use.
	Replicas int
	// MostDownlinks is how many downlinks may be open, of all customers; 0: 20 000. It is
	// set before first use, and the same in all instances.
	MostDownlinks int

	client rueidis.Client
	single bool // one server, which our own reader of replies reads; else the client knows where a key is
	log    *slog.Logger

	mu    sync.Mutex
	conns map[net.Conn]bool // of wires
}

// Open connects to the Redis of the configuration, or starts it. A nil log means none.
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

// mostRedirections is how often in a row a command follows a cluster's word that its key is elsewhere; then it fails, and is
// sent again as after other failures. Without a limit two nodes that name each other would have it for ever, without a pause.
const mostRedirections = 5

func (r *Redis) connect(ctx context.Context) (err error) {
	opt := r.Options()
	r.single = len(opt.InitAddress) == 1 && opt.Sentinel.MasterSet == ""
	opt.ForceSingleClient = r.single
	if !r.single {
		opt.ClusterOption.MaxMovedRedirections = mostRedirections
		opt.Dialer.Timeout = silentFor // all commands for a server wait until a connection to it has shaken hands, whatever their contexts say
	}
	opt.PipelineMultiplex = -1
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = 64<<10, 64<<10
	r.client, err = rueidis.NewClient(opt)
	if err != nil {
		return r.Explain(err)
	}
	if err := r.Ping(ctx); err != nil {
		r.client.Close()
		return err
	}
	return nil
}

// Ping says why Redis cannot be used now, or nil: of a cluster, the node that has the number of partitions.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.do(ctx, "GET", keyPartitions).Error(); err != nil && !rueidis.IsRedisNil(err) {
		return r.Explain(err)
	}
	return nil
}

// agreed returns the value of a key on which all clients agree: the first proposal.
func (r *Redis) agreed(ctx context.Context, key, proposal string) (string, error) {
	value, err := r.do(ctx, "GET", key).ToString()
	if rueidis.IsRedisNil(err) {
		if err := r.client.Do(ctx, r.evenFull("SET", key, proposal, "NX")).Error(); err != nil && !rueidis.IsRedisNil(err) {
			return "", fmt.Errorf("queue: %w", r.Explain(err))
		}
		value, err = r.do(ctx, "GET", key).ToString()
	}
	if err != nil {
		return "", fmt.Errorf("queue: %s: %w", key, r.Explain(err))
	}
	return value, nil
}

// keySecret is what routers on one Redis draw challenges with.
const keySecret = "ran:secret"

// Secret returns 32 random bytes, the same for all that use this Redis.
func (r *Redis) Secret(ctx context.Context) (secret [32]byte, err error) {
	rand.Read(secret[:]) // never fails
	agreed, err := r.agreed(ctx, keySecret, string(secret[:]))
	if err == nil && len(agreed) != len(secret) {
		err = fmt.Errorf("queue: %s in Redis has %d bytes; expected %d", keySecret, len(agreed), len(secret))
	}
	copy(secret[:], agreed)
	return secret, err
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

// cmd is a command, which a cluster takes where its key is.
func (r *Redis) cmd(args ...string) rueidis.Completed {
	at := keyAt(args)
	if at == 0 {
		return r.client.B().Arbitrary(args...).Build()
	}
	return r.client.B().Arbitrary(args[:at]...).Keys(args[at]).Args(args[at+1:]...).Build()
}

// keyAt is where among the words of a command its only key is; 0: it has none.
func keyAt(args []string) int {
	switch args[0] {
	case "PUBLISH", "FLUSHALL", "INFO":
		return 0
	case "EVAL":
		return 3
	case "XGROUP", "XINFO":
		return 2
	case "XREAD", "XREADGROUP":
		return 1 + slices.Index(args, "STREAMS")
	}
	return 1
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

// promptly bounds what is asked of a cluster, where a server may be silent and the others must not wait for it. A
// single server may take its time.
func (r *Redis) promptly(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.single {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, silentFor)
}

// isExhausted says that a stream has had an entry of lastID.
func isExhausted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "exhausted the last possible ID")
}

// hasNoGroup says that there is no stream, or no group of it, so nothing is pending.
func hasNoGroup(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "no such key") || strings.Contains(err.Error(), "NOGROUP"))
}

// refused reports whether Redis itself, and not the way to it, said no, and would
// say it again. A client of a cluster finds out where a key has moved, and routers empty a stream that is exhausted.
func (r *Redis) refused(err error) bool {
	var reply *rueidis.RedisError
	var own errReply
	var more []string
	if !r.single {
		more = []string{"MOVED", "ASK"}
	}
	return (errors.As(err, &reply) || errors.As(err, &own)) && !isExhausted(err) && !redisserver.IsTransient(err.Error(), more...)
}

// wait sleeps unless ctx ends, and reports whether it slept.
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
