// Package guard drives a design of contend/guard in this process.
//
// An iteration is a batch of operations, because one operation takes less time
// than reading the clock. The iterations give the throughput. Latency comes from
// single operations chosen at random, about one in 256, which are timed one by
// one; the cost of the two clock readings is measured and printed next to it, not
// subtracted.
package guard

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"contend/guard"
	"contend/hist"
	"contend/load"
)

// A Target drives one guard. NewVU may be called concurrently.
type Target struct {
	config Config
	state  shared
	clock  time.Duration

	mu      sync.Mutex // protects what follows
	latency *hist.Histogram
	vus     []*vu
}

var (
	_ load.LocalTarget = (*Target)(nil)
	_ io.Closer        = (*Target)(nil)
)

// New makes the guard that c names. Close ends it.
func New(c Config) (*Target, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("guard target: %w", err)
	}
	c = c.withDefaults()
	state, err := newShared(c)
	if err != nil {
		return nil, fmt.Errorf("guard target: %w", err)
	}
	return &Target{config: c, state: state, clock: clockPair(), latency: hist.New()}, nil
}

// Config returns the settings with nothing left to default.
func (t *Target) Config() Config { return t.config }

// Local says that the target runs in this process.
func (t *Target) Local() {}

// NewVU makes a virtual user. Its first random choices follow from Config.Seed
// and id.
func (t *Target) NewVU(_ context.Context, id int) (load.VU, error) {
	v := &vu{
		target:  t,
		random:  rand.New(rand.NewPCG(t.config.Seed, uint64(id))),
		sampled: sampling(t.config.Section),
	}
	v.untimed = v.gap()
	v.operation = t.state.operation(v.random)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.vus = append(t.vus, v)
	return v, nil
}

// Close closes the guard; a virtual user that is still at work gets an error of
// kind Closed.
func (t *Target) Close() error { return t.state.Close() }

// record adds samples to the common histogram. VUs do not have their own,
// because a histogram takes 270 kB and there may be a thousand VUs.
func (t *Target) record(samples []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range samples {
		t.latency.Record(d)
	}
}

// clockPair is the median time between two readings of the clock in a row.
func clockPair() time.Duration {
	pairs := make([]time.Duration, 1001)
	for i := range pairs {
		start := time.Now()
		pairs[i] = time.Since(start)
	}
	slices.Sort(pairs)
	return pairs[len(pairs)/2]
}

// shared is the state under the guard.
type shared interface {
	// operation returns what one VU does.
	operation(random *rand.Rand) operation
	// added returns the sum of all additions.
	added(ctx context.Context) (int64, error)
	Close() error
}

func newShared(c Config) (shared, error) {
	if c.Kind == Section {
		turns, noise := turnsFor(c.Section)
		e, err := guard.NewExclusive(c.Design, protected{noise: noise})
		return sections{e, turns}, err
	}
	design, err := guard.Lookup(c.Design)
	if err != nil {
		return nil, err
	}
	if design.NewCounter == nil {
		return adder{design.NewAdder(), c.Kind}, nil
	}
	return counter{design.NewCounter(), c.Kind}, nil
}
