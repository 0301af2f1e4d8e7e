package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"contend/systems/uplink/message"
)

const (
	group = "router"

	defaultBatch    = 256
	defaultLease    = 15 * time.Second
	defaultInFlight = 100_000
)

// IntakeConfig is how an instance reads uplinks.
type IntakeConfig struct {
	// Instance is the name of this router, of letters, digits and "-_.:". An instance that
	// is restarted under its old name goes on at once with what it had not finished; the
	// entries of any other name wait until it is known to be dead. If two have the same
	// name the older stops. "" is a random name.
	Instance string
	// Partitions is used if this Redis has no intake yet; 0 is 8.
	Partitions int
	// Batch is how many entries of a partition are read at once; 0 is 256.
	Batch int
	// Linger is the least time between a read that found something, but less than it could take, and the
	// next: under load uplinks arrive in groups, and Redis, the router and its customers are not woken for
	// each of them. On average it delays an uplink by half of it. 0: no time.
	Linger time.Duration
	// Lease is how long a silent instance keeps its partitions, and is thought to
	// live; 0 is 15 s. It says so six times in that time, and when it was not heard of for a moment
	// more, what it had in hand and nothing happened to for a lease is claimed.
	Lease time.Duration
	// InFlight is how many entries may be unsettled before reading pauses; a read
	// that is under way comes on top. 0 is 100 000.
	InFlight int
	// Backlog is how many uplinks may wait for a customer; 0 is 100 000.
	Backlog int
	// AckRead acknowledges entries when they are read and not when they are settled,
	// because the Redis ends with this process and could give them to nobody. An
	// embedded one looks through all that is pending again and again.
	AckRead bool
	// HandOver, if set, is called before partitions are given to other instances, and after some were taken over and
	// before they are read: uplinks that handle got and did not send must have been given to Forward when
	// it returns, and further ones must follow them there. Others of their addresses come from other instances.
	HandOver func()
	// Forwarded, if set, is called with uplinks that were given to Forward when they are in their customer's stream or were dropped.
	Forwarded func([]*message.Uplink)
	// Alone says that no other instance may read uplinks of this Redis: it would know
	// other devices.
	Alone bool
	// NearlyFull, if set, is called about every second while Redis is: entries that are not settled keep
	// others in its memory.
	NearlyFull func()
}

func (c *IntakeConfig) fill() error {
	if c.Instance == "" {
		c.Instance = newNonce()
	}
	c.Batch = cmp.Or(c.Batch, defaultBatch)
	c.Lease = cmp.Or(c.Lease, defaultLease)
	c.InFlight = cmp.Or(c.InFlight, defaultInFlight)
	c.Backlog = cmp.Or(c.Backlog, defaultBacklog)
	if c.Forwarded == nil {
		c.Forwarded = func([]*message.Uplink) {}
	}
	if c.HandOver == nil {
		c.HandOver = func() {}
	}
	var errs []error
	if strings.Trim(c.Instance, letters) != "" || len(c.Instance) > 100 {
		errs = append(errs, fmt.Errorf("instance is %.40q; expected up to 100 letters, digits, dots, colons, hyphens and underscores", c.Instance))
	}
	if c.Batch < 0 || c.Lease < time.Millisecond || c.InFlight < 0 || c.Backlog < 0 {
		errs = append(errs, fmt.Errorf("batch is %d, lease %s, in flight %d, backlog %d; expected more than 0",
			c.Batch, c.Lease, c.InFlight, c.Backlog))
	}
	return errors.Join(errs...)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

func newNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// An Intake reads the uplinks of the partitions that this instance owns, and those that other
// instances forward to its customers. Safe for concurrent use.
//
// Lock order: that of a relay before mu, mu before those of a source or of a sourceSet, and these
// last, one at a time.
type Intake struct {
	redis  *Redis
	cfg    IntakeConfig
	nonce  string // tells two processes of the same name apart
	parts  []*source
	owned  *sourceSet
	holder holders
	aside  *relay[badEntry]

	flying   atomic.Int64
	relayed  atomic.Int64  // what all relays hold
	landed   broadcast     // something flies no more
	acksWait chan struct{} // something is to be acknowledged; holds one signal
	beatNow  chan struct{} // the heartbeat must not wait; holds one signal
	lookNow  chan struct{} // nor the keeper
	changed  atomic.Bool   // what we hold changed since the others heard of it

	saidHolds atomic.Int64 // of how many customers the others can know that we hold a socket
	said      broadcast    // they can know something else

	mu        sync.Mutex
	customers map[string]*source
	byIndex   []*source // of the customers
	forwarded *sourceSet
	malformed map[string]uint64
	leaving   map[*source]*departure
	arriving  map[*source]*arrival
	cause     error // why it stopped unasked
	memory    Memory

	memories map[string]Memory    // of servers, by their addresses, as tidy saw them last
	absent   map[string]time.Time // instances that the keeper does not see, since when
	readers  []string             // that the keeper saw last
	touch    time.Time            // since when the keeper found Redis each time; zero: not the last time
	beats    uint64               // how often it said that we live
	clockOff bool                 // the clocks differ, and the log says so
	doubt    time.Duration        // when the keeper should look again, as an absent one may be dead then

	count    counters
	stop     context.CancelFunc
	ctx      context.Context // ends with Close, or when the name is taken
	routines sync.WaitGroup
}

type counters struct {
	read, claimed, poison, lost atomic.Uint64
	acked, unknown, trimmed     atomic.Uint64
	forwarded, dropped, errors  atomic.Uint64
	moved                       atomic.Uint64
}

// Stats are counts since the start, and current sizes.
type Stats struct {
	Read      uint64            // entries from Redis, redeliveries included
	Malformed map[string]uint64 // set aside, by the first bad field
	Poison    uint64            // set aside as poison messages: delivered too often
	Claimed   uint64            // read again: of dead instances, or our own of an earlier life
	Lost      uint64            // gone from the stream before they were delivered again
	Acked     uint64
	Unknown   uint64 // acknowledgements of what was not in flight
	Trimmed   uint64
	Forwarded uint64 // to the streams of customers
	Moved     uint64 // to the partitions of their addresses
	Dropped   uint64 // instead of either, or later, because too many wait there
	Errors    uint64 // of Redis, or of the way to it
	// ClockAhead is by how much our clock is ahead of Redis's.
	ClockAhead time.Duration
	InFlight   int // delivered to us, and not settled or not acknowledged
	// In the partitions of this instance, at most a few seconds ago: entries
	// delivered to anybody and not acknowledged, and those not delivered yet.
	Pending, Lag int64
	Partitions   []int
}

// ErrNameTaken ends an intake: another process runs under the name of its instance.
var ErrNameTaken = errors.New("queue: another process runs under the name of this instance")

// ErrAlone refuses an instance where another one runs, if either has to be alone.
var ErrAlone = errors.New("one instance has to be alone")

// NewIntake joins the instances of the Redis; Close leaves them. It fails with ErrAlone
// until others have left, or were silent for their Lease.
func NewIntake(ctx context.Context, r *Redis, cfg IntakeConfig) (*Intake, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	n, err := partitions(ctx, r, cfg.Partitions)
	if err != nil {
		return nil, err
	}
	cfg.Partitions = n
	in := &Intake{
		redis: r, cfg: cfg, nonce: newNonce(), owned: newSourceSet(), forwarded: newSourceSet(),
		acksWait: make(chan struct{}, 1), beatNow: make(chan struct{}, 1), lookNow: make(chan struct{}, 1),
		customers: map[string]*source{}, malformed: map[string]uint64{}, leaving: map[*source]*departure{}, arriving: map[*source]*arrival{},
		absent: map[string]time.Time{},
	}
	for i := range n {
		s := newSource(keyUplinks+strconv.Itoa(i), i)
		s.relay = in.relayTo(s, in.move, in.dropStrays)
		in.parts = append(in.parts, s)
	}
	in.aside = in.newAside()
	in.holder.init()
	if err := in.join(ctx); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	in.ctx, in.stop = context.WithCancel(context.WithoutCancel(ctx))
	in.routines.Go(in.live)
	in.routines.Go(in.keep)
	in.routines.Go(in.listen)
	in.routines.Go(in.acknowledge)
	in.routines.Go(in.tidy)
	in.forwarded.start()
	in.routines.Go(func() { in.read(in.ctx, in.forwarded) })
	return in, nil
}

// Instance returns the name of this instance.
func (in *Intake) Instance() string { return in.cfg.Instance }

// Run reads the partitions that this instance owns until ctx ends, and then
// returns nil. It calls handle with every batch, one at a time; the slice is
// handle's only for the call, the uplinks are its own. It must be called only
// once. Ack goes on working after it, until Close. The error is ErrNameTaken.
func (in *Intake) Run(ctx context.Context, handle func([]*message.Uplink)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.ctx, cancel)()
	for _, s := range in.parts {
		s.handle = handle
	}
	in.owned.start()
	in.wakeKeeper()
	in.read(ctx, in.owned)
	in.wakeKeeper()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.cause
}

// Close sends the acknowledgements that wait, gives up the partitions and leaves.
// What is still in flight comes again, to whoever reads its stream then.
// The end of ctx cuts it short.
func (in *Intake) Close(ctx context.Context) error {
	in.flush(ctx)
	in.mu.Lock()
	in.stop() // after which background starts nothing
	in.mu.Unlock()
	in.routines.Wait()
	err := in.flushAll(ctx)
	return errors.Join(err, in.leave(ctx))
}

// Stats returns a snapshot.
func (in *Intake) Stats() Stats {
	c := &in.count
	st := Stats{
		Read: c.read.Load(), Poison: c.poison.Load(), Claimed: c.claimed.Load(), Lost: c.lost.Load(),
		Acked: c.acked.Load(), Unknown: c.unknown.Load(), Trimmed: c.trimmed.Load(),
		Forwarded: c.forwarded.Load(), Moved: c.moved.Load(), Dropped: c.dropped.Load(), Errors: c.errors.Load(), InFlight: int(in.flying.Load()), ClockAhead: in.clockAhead(),
	}
	in.mu.Lock()
	st.Malformed = maps.Clone(in.malformed)
	in.mu.Unlock()
	for _, s := range in.owned.list() {
		s.mu.Lock()
		st.Pending += s.pending
		st.Lag += s.lag
		s.mu.Unlock()
		st.Partitions = append(st.Partitions, s.index)
	}
	return st
}

func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
