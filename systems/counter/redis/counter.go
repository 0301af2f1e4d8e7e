package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"contend/guard"
)

var _ guard.Counter = (*Counter)(nil)

// A Change is what an increment made of the counter.
type Change struct {
	Value int64
	// At is when, in Unix seconds by the clock of Redis; under redis-naive and
	// redis-getset by that of this process.
	At int64
}

type increment func(ctx context.Context, n int64) (Change, error)

// A Counter is shared through Redis. Safe for concurrent use.
//
// Its errors are ErrUnavailable, ErrIndeterminate, guard.ErrClosed, or that Redis
// says no for good: the sum would overflow, or the key holds something else. Each
// wraps its cause, and the error of a context that ended the wait. Values do not
// wrap around, but in an embedded Redis, which does not notice.
type Counter struct {
	increment         increment
	key               string
	idPrefix          string
	timeout           time.Duration
	pipelining        bool
	plain, idempotent script
	slots             chan struct{} // one for each operation that may be under way
	leads             sync.WaitGroup

	door   sync.RWMutex // held for reading by every caller
	closed bool         // under door
	once   sync.Once

	link   *connector
	counts counters
}

type counters struct {
	increments, commands, conflicts, replayed, indeterminate, refused atomic.Uint64
}

// Stats are what a counter has done.
type Stats struct {
	Increments uint64 // that returned a value
	// RoundTrips are writes to connections: a flush that carries k commands is one.
	// Greetings of new connections and probes of idle ones do not count.
	RoundTrips    uint64
	Commands      uint64 // sent for increments and loads
	Conflicts     uint64 // transactions of redis-naive that another change undid
	Replayed      uint64 // increments whose idempotency key had come before
	Indeterminate uint64 // increments with ErrIndeterminate
	Refused       uint64 // increments with any other error
}

// Open makes a counter, which keeps the value that Redis has. It does not fail when
// Redis is away: it waits for its first answer for the timeout of one operation,
// and goes on asking in the background.
func Open(cfg Config) (*Counter, error) {
	cfg, p, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	key := "{" + cfg.Key + "}"
	c := &Counter{
		key: key, idPrefix: key + ":id:", timeout: cfg.Timeout, pipelining: p.pipelining,
		slots: make(chan struct{}, p.connections()),
		plain: newScript(plainText), idempotent: newScript(onceText),
		link: newLink(cfg, p, key),
	}
	c.increment = p.make(c)
	c.link.start()
	return c, nil
}

// maxID bounds an idempotency key, in bytes: the keys of ten minutes are in memory.
const maxID = 512

// Increment adds n and returns the change. If several increments within ten minutes
// have the same id, one happens, and all return what it did; "" means no id, and
// 512 bytes are the longest.
func (c *Counter) Increment(ctx context.Context, n int64, id string) (Change, error) {
	if !c.enter() {
		return Change{}, guard.ErrClosed
	}
	defer c.door.RUnlock()
	if err := ctx.Err(); err != nil {
		return Change{}, c.count(unavailable(err))
	}
	if len(id) > maxID {
		return Change{}, c.count(fmt.Errorf("redis: id is %d bytes long; expected at most %d", len(id), maxID))
	}
	var (
		change Change
		err    error
	)
	if id != "" {
		change, err = c.incrementOnce(ctx, n, id)
	} else {
		change, err = c.increment(ctx, n)
	}
	if c.count(err) != nil {
		return Change{}, err
	}
	return change, nil
}

// Add is Increment without an id.
func (c *Counter) Add(ctx context.Context, n int64) (int64, error) {
	change, err := c.Increment(ctx, n, "")
	return change.Value, err
}

// Load returns the value.
func (c *Counter) Load(ctx context.Context) (int64, error) {
	if !c.enter() {
		return 0, guard.ErrClosed
	}
	defer c.door.RUnlock()
	if err := ctx.Err(); err != nil {
		return 0, unavailable(err)
	}
	value, err := c.get(ctx)
	return value, c.judge(ctx, err, ErrUnavailable)
}

func (c *Counter) enter() bool {
	c.door.RLock()
	if c.closed {
		c.door.RUnlock()
		return false
	}
	return true
}

// Close waits until no operation runs. It may be called more than once.
func (c *Counter) Close() error {
	c.once.Do(func() {
		c.door.Lock()
		c.closed = true
		c.door.Unlock()
		c.leads.Wait()
		c.link.close()
	})
	return nil
}

// Ready returns nil if Redis answered the latest probe, and else what was wrong.
func (c *Counter) Ready() error { return c.link.ready() }

// Stats may be called at any time, and after Close.
func (c *Counter) Stats() Stats {
	return Stats{
		Increments:    c.counts.increments.Load(),
		RoundTrips:    c.link.roundTrips.Load(),
		Commands:      c.counts.commands.Load(),
		Conflicts:     c.counts.conflicts.Load(),
		Replayed:      c.counts.replayed.Load(),
		Indeterminate: c.counts.indeterminate.Load(),
		Refused:       c.counts.refused.Load(),
	}
}

// count counts how an increment ended.
func (c *Counter) count(err error) error {
	switch {
	case err == nil:
		c.counts.increments.Add(1)
	case errors.Is(err, ErrIndeterminate):
		c.counts.indeterminate.Add(1)
	default:
		c.counts.refused.Add(1)
	}
	return err
}

// acquire waits for the right to use a connection.
func (c *Counter) acquire(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(c.timeout)
	defer patience.Stop()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable(ctx.Err())
	case <-patience.C:
		return unavailable(errors.New("too many operations are under way"))
	}
}

func (c *Counter) release() { <-c.slots }

// do sends a command and waits for the answer. A command that was not sent because
// its connection was stale is sent on another; so is one that was not sent because
// another caller, whose context has ended, was connecting for all.
func (c *Counter) do(ctx context.Context, client rueidis.Client, cmd rueidis.Completed) rueidis.RedisResult {
	if c.pipelining { // where only the context ends a wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	} else {
		ctx = within(ctx, c.timeout)
	}
	if err := c.acquire(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	defer c.release()
	for {
		c.counts.commands.Add(1)
		result := client.Do(ctx, cmd)
		if err := result.NonRedisError(); !isStale(err) && !(c.pipelining && isLate(err) && ended(ctx) == nil) {
			return result
		}
	}
}

// A timed context has a deadline for connections, and spares a timer.
type timed struct {
	context.Context
	deadline time.Time
}

func (t timed) Deadline() (time.Time, bool) { return t.deadline, true }

func within(ctx context.Context, d time.Duration) context.Context {
	deadline := time.Now().Add(d)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		return ctx
	}
	return timed{ctx, deadline}
}
