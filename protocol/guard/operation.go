package guard

import (
	"context"
	"math/rand/v2"
	"time"

	"contend/guard"
)

// An operation belongs to one VU. It runs many times per call, so that the call
// through the interface is not what is measured.
type operation interface {
	// run does n operations, or fewer and an error.
	run(n int) (done int, err error)
	// added returns the sum of what it has added so far.
	added() int64
}

// counter is the state of a design whose additions return the value.
type counter struct {
	guard.Counter
	kind Kind
}

func (c counter) added(ctx context.Context) (int64, error) { return c.Load(ctx) }

func (c counter) operation(random *rand.Rand) operation {
	if c.kind == ReadMostly {
		return &reading{counter: c.Counter, untilWrite: random.IntN(readsPerWrite + 1)}
	}
	return &adding{counter: c.Counter}
}

// adding serves Add and AddGet: a Counter returns the value in any case.
type adding struct {
	counter guard.Counter
	sum     int64
}

func (a *adding) added() int64 { return a.sum }

func (a *adding) run(n int) (int, error) {
	ctx := context.Background()
	for i := range n {
		if _, err := a.counter.Add(ctx, 1); err != nil {
			a.sum += int64(i)
			return i, err
		}
	}
	a.sum += int64(n)
	return n, nil
}

// reading serves ReadMostly. VUs start at different points of the cycle.
type reading struct {
	counter    guard.Counter
	untilWrite int
	sum        int64
}

func (r *reading) added() int64 { return r.sum }

func (r *reading) run(n int) (int, error) {
	ctx := context.Background()
	for i := range n {
		if r.untilWrite > 0 {
			r.untilWrite--
			if _, err := r.counter.Load(ctx); err != nil {
				return i, err
			}
			continue
		}
		if _, err := r.counter.Add(ctx, 1); err != nil {
			return i, err
		}
		r.untilWrite = readsPerWrite
		r.sum++
	}
	return n, nil
}

// adder is the state of a design whose additions return nothing.
type adder struct {
	guard.Adder
	kind Kind
}

func (a adder) added(context.Context) (int64, error) { return a.Load(), nil }
func (a adder) Close() error                         { return nil }

func (a adder) operation(random *rand.Rand) operation {
	if a.kind == ReadMostly {
		return &summing{adder: a.Adder, untilWrite: random.IntN(readsPerWrite + 1)}
	}
	return &blind{adder: a.Adder}
}

// blind is adding without a value.
type blind struct {
	adder guard.Adder
	sum   int64
}

func (b *blind) added() int64 { return b.sum }

func (b *blind) run(n int) (int, error) {
	for range n {
		b.adder.Add(1)
	}
	b.sum += int64(n)
	return n, nil
}

// summing is reading with an Adder.
type summing struct {
	adder      guard.Adder
	untilWrite int
	sum        int64
}

func (s *summing) added() int64 { return s.sum }

func (s *summing) run(n int) (int, error) {
	for range n {
		if s.untilWrite > 0 {
			s.untilWrite--
			s.adder.Load()
			continue
		}
		s.adder.Add(1)
		s.untilWrite = readsPerWrite
		s.sum++
	}
	return n, nil
}

// protected is the state of the critical sections.
type protected struct {
	sections int64
	noise    uint64 // keeps the compiler from dropping the work
}

type sections struct {
	guard.Exclusive[protected]
	turns int
}

func (s sections) added(ctx context.Context) (sum int64, err error) {
	err = s.Do(ctx, func(t *protected) { sum = t.sections })
	return sum, err
}

func (s sections) operation(*rand.Rand) operation {
	turns := s.turns
	return &section{exclusive: s.Exclusive, body: func(t *protected) {
		t.noise = burn(t.noise, turns)
		t.sections++
	}}
}

type section struct {
	exclusive guard.Exclusive[protected]
	body      func(*protected)
	sum       int64
}

func (s *section) added() int64 { return s.sum }

func (s *section) run(n int) (int, error) {
	ctx := context.Background()
	for i := range n {
		if err := s.exclusive.Do(ctx, s.body); err != nil {
			s.sum += int64(i)
			return i, err
		}
	}
	s.sum += int64(n)
	return n, nil
}

// burn keeps a core busy without touching memory, by turns of the xorshift64
// generator (Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14),
// 2003). Each turn needs the one before.
func burn(x uint64, turns int) uint64 {
	x |= 1 // 0 would stay 0
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// turnsFor returns how many turns of burn last d, at least 1, and what burn left.
// It takes the fastest of several tries, because whatever disturbs a try makes it
// longer.
func turnsFor(d time.Duration) (n int, noise uint64) {
	const tries, turns = 50, 20_000
	best := time.Hour
	for range tries {
		start := time.Now()
		noise = burn(noise, turns)
		best = min(best, time.Since(start))
	}
	return max(1, int(float64(d)*turns/float64(max(best, 1))+0.5)), noise
}
