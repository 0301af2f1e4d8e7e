package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"
)

const (
	// yields is how often a batch that may be sent waits for callers who could run
	// and join it, as long as some do. One yield lets all that can run now go first.
	yields = 4
	// goal is how many callers a batch waits for, if at the rate at which they have
	// joined they come within longest: each call costs Redis and this process the
	// same, for how many it may be. Where they do not come after all, it is tried
	// less and less often, up to every rarest batches.
	goal    = 32
	longest = time.Millisecond
	rarest  = 1 << 10
)

// A combiner has one script call under way at a time. Increments that come during it
// form the next batch; its first caller starts a goroutine that sends it. A caller
// that has been alone for two calls makes them as under redis-script.
type combiner struct {
	c      *Counter
	flight sync.Mutex // held while a call is under way
	// The rest of these is under flight.
	crowd   int       // who made the last call
	sent    time.Time // when that was
	skip    int       // how many batches are not to wait for the goal
	penalty int       // what skip was after the last wait in vain

	mu     sync.Mutex
	open   *batch        // the next caller joins it; nil: a new one begins
	wanted chan struct{} // closed by the caller that brings the batch to the goal; nil if nobody waits
}

// A batch reserves a range of values by one call: the k-th caller gets what the
// counter was before, and the sum of what the first k add.
type batch struct {
	sums    []int64 // what each caller adds; once sealed, what all up to it add
	callers int     // that have not left
	span    int64   // of all who ever joined, the sum of the absolute values: no overflow
	sealed  bool    // about to be sent
	few     [16]int64

	done   chan struct{} // closed when the fields below are set
	before int64
	at     int64
	err    error
}

func (b *combiner) increment(ctx context.Context, n int64) (Change, error) {
	if b.flight.TryLock() {
		if b.crowd <= 1 && b.size() == 0 {
			b.crowd = 1
			defer b.flight.Unlock()
			return b.c.script(ctx, n)
		}
		b.flight.Unlock()
	}
	q, place := b.join(n)
	if q == nil {
		return b.c.script(ctx, n)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		if err := b.leave(q, place, ctx.Err()); err != nil {
			return Change{}, err
		}
	}
	switch {
	case q.err == nil:
		return Change{Value: q.before + q.sums[place], At: q.at}, nil
	case isRefusal(q.err) && len(q.sums) > 1:
		return b.c.script(ctx, n) // each gets its own verdict
	}
	return Change{}, q.err
}

// join returns a batch and the place in it, or nil for a number so large that a sum
// could overflow.
func (b *combiner) join(n int64) (*batch, int) {
	size := max(n, -n)
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.open
	if size < 0 || q != nil && q.span > math.MaxInt64-size {
		return nil, 0
	}
	if q == nil {
		q = &batch{done: make(chan struct{})}
		q.sums = q.few[:0]
		b.open = q
		b.c.leads.Go(func() { b.lead(q) })
	}
	q.span += size
	q.callers++
	q.sums = append(q.sums, n)
	if len(q.sums) == goal && b.wanted != nil {
		close(b.wanted)
	}
	return q, len(q.sums) - 1
}

// leave takes a caller out whose context has ended, unless it is too late. It returns
// nil if there is an answer already.
func (b *combiner) leave(q *batch, place int, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-q.done:
		return nil
	default:
	}
	if q.sealed {
		return fmt.Errorf("%w: %w", ErrIndeterminate, cause)
	}
	q.sums[place] = 0
	q.callers--
	return unavailable(cause)
}

// lead sends a batch when its turn comes.
func (b *combiner) lead(q *batch) {
	b.flight.Lock()
	b.gather()
	b.linger()
	total, callers := b.seal(q)
	b.crowd, b.sent = callers, time.Now()
	if callers > 0 {
		var change Change
		change, q.err = b.c.script(context.Background(), total)
		q.before, q.at = change.Value-total, change.At
	}
	b.flight.Unlock()
	close(q.done)
}

// gather lets callers join who can run now.
func (b *combiner) gather() {
	for range yields {
		before := b.size()
		runtime.Gosched()
		if b.size() == before {
			return
		}
	}
}

// linger waits for the goal if it is near.
func (b *combiner) linger() {
	have := b.size()
	if have <= 1 || have >= goal || time.Since(b.sent)*time.Duration(goal-have) > longest*time.Duration(have) {
		return
	}
	if b.skip > 0 {
		b.skip--
		return
	}
	if b.await() {
		b.penalty = 0
		return
	}
	b.penalty = min(2*b.penalty+1, rarest)
	b.skip = b.penalty
}

// await reports whether the batch has reached the goal.
func (b *combiner) await() bool {
	reached := make(chan struct{})
	b.mu.Lock()
	if len(b.open.sums) >= goal {
		b.mu.Unlock()
		return true
	}
	b.wanted = reached
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wanted = nil
	}()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-reached:
		return true
	case <-timer.C:
		return false
	}
}

// size is how many have joined the next batch.
func (b *combiner) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		return 0
	}
	return len(b.open.sums)
}

// seal ends the joining, and returns the sum and for how many callers it is.
func (b *combiner) seal(q *batch) (total int64, callers int) {
	b.mu.Lock()
	b.open, q.sealed = nil, true
	b.mu.Unlock()
	for i, n := range q.sums {
		total += n
		q.sums[i] = total
	}
	return total, q.callers
}

// isRefusal reports whether Redis said no for good to the sum.
func isRefusal(err error) bool {
	return !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrIndeterminate)
}
