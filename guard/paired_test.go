package guard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/guard"
	"contend/internal/testenv"
)

// pairBlock is how long one arm of a pair runs.
const pairBlock = 20 * time.Millisecond

// BenchmarkPaired compares two designs by pairs of short blocks in ABBA order and
// reports the median of the ratios of their operations per second, candidate to
// baseline, with the quartiles. Each b.N is one pair; ns/op is of no use here.
func BenchmarkPaired(b *testing.B) {
	for _, c := range []struct {
		baseline, candidate string
		callers             int
		section             time.Duration
	}{
		{"bare-mutex", "mutex", 1, 0},
		{"bare-mutex", "mutex", 100, 0},
		{"bare-inputq", "inputq", 100, 0},
		{"inputq", "inputq-pooled", 100, 0},
		{"inputq", "inputq-batch", 2, 0},
		{"inputq", "inputq-batch", 100, 0},
		{"inputq", "inputq-batch", 1000, 0},
		{"mutex", "combining", 100, 0},
		{"mutex", "combining", 2, 200 * time.Nanosecond},
		{"mutex", "combining", 100, 200 * time.Nanosecond},
		{"mutex", "combining", 1000, 200 * time.Nanosecond},
	} {
		b.Run(fmt.Sprintf("%s-to-%s/callers=%d/section=%v", c.candidate, c.baseline, c.callers, c.section),
			func(b *testing.B) {
				base, cand := newArm(b, c.baseline, c.section), newArm(b, c.candidate, c.section)
				var ratios, baseNs, candNs []float64
				for i := 0; b.Loop(); i++ {
					first, second := base, cand
					if i%2 == 1 {
						first, second = cand, base
					}
					x, y := first.nsPerOp(c.callers), second.nsPerOp(c.callers)
					if i%2 == 1 {
						x, y = y, x
					}
					ratios, baseNs, candNs = append(ratios, x/y), append(baseNs, x), append(candNs, y)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(quantile(ratios, 0.25), "ratio-q1")
				b.ReportMetric(quantile(ratios, 0.5), "ratio-median")
				b.ReportMetric(quantile(ratios, 0.75), "ratio-q3")
				b.ReportMetric(quantile(baseNs, 0.5), "baseline-ns")
				b.ReportMetric(quantile(candNs, 0.5), "candidate-ns")
			})
	}
}

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(q*float64(len(x)-1)+0.5)]
}

// An arm is one operation on a guard that lives as long as the benchmark.
type arm func()

func newArm(b *testing.B, design string, section time.Duration) arm {
	b.Helper()
	ctx := context.Background()
	switch design {
	case "bare-mutex":
		return bareMutex(b)
	case "bare-inputq":
		return bareInputQ(b)
	}
	if section == 0 {
		d, err := guard.Lookup(design)
		testenv.Must(b, err)
		c := d.NewCounter()
		b.Cleanup(func() { c.Close() })
		return func() { _, _ = c.Add(ctx, 1) }
	}
	e, err := guard.NewExclusive(design, int64(0))
	testenv.Must(b, err)
	b.Cleanup(func() { e.Close() })
	turns := turnsFor(section)
	f := func(n *int64) { *n += burn(turns) }
	return func() { _ = e.Do(ctx, f) }
}

// nsPerOp is the wall time of a block divided by the operations of all callers.
func (op arm) nsPerOp(callers int) float64 {
	var (
		total atomic.Int64
		stop  atomic.Bool
		wg    sync.WaitGroup
	)
	start := time.Now()
	for range callers {
		wg.Go(func() {
			var n int64
			for ; !stop.Load(); n++ {
				op()
			}
			total.Add(n)
		})
	}
	time.Sleep(pairBlock)
	stop.Store(true)
	wg.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(total.Load())
}

// burn keeps a core busy without touching memory and returns 1.
func burn(turns int) int64 {
	x := uint64(turns)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return int64(x&1 | 1)
}

// turnsFor is the number of turns that last d: the best of several tries, because
// whatever disturbs a try makes it longer.
func turnsFor(d time.Duration) int {
	const turns = 20_000
	var (
		best = time.Hour
		sink int64
	)
	for range 100 {
		start := time.Now()
		sink += burn(turns)
		best = min(best, time.Since(start))
	}
	return int(d * turns / best * time.Duration(min(1, sink)))
}
