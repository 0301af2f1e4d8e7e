package guard

import (
	"context"
	"fmt"
	"time"

	"contend/hist"
)

// Stats are what a run reports about a guard in addition to the engine's
// result. They cover the whole run, warm-up included.
type Stats struct {
	// Latency holds the timed operations, each longer than the operation itself
	// by about Clock, the cost of reading the clock twice.
	Latency *hist.Histogram
	Clock   time.Duration
	// OpsPerVU are the operations done by each virtual user, in the order in
	// which they were made; Ops is their sum.
	OpsPerVU []int64
	Ops      int64
	// Jain is Jain's fairness index of OpsPerVU, from 1/n (one does all) to 1
	// (all do the same), and MinMax the smallest divided by the largest. Both
	// are 0 when there were no operations.
	Jain, MinMax float64
	// Added is the sum of the additions that returned, and Final what the guard
	// holds: they must be equal.
	Added, Final int64
}

// Check returns an error if additions were lost or made twice, which makes the
// run invalid.
func (s Stats) Check() error {
	if s.Added == s.Final {
		return nil
	}
	return fmt.Errorf("guard target: the guard holds %d after additions of %d: the run is invalid", s.Final, s.Added)
}

// Stats reads the figures. It must not be called while a VU is at work, or
// after Close.
func (t *Target) Stats(ctx context.Context) (Stats, error) {
	t.mu.Lock()
	vus := t.vus
	t.mu.Unlock()
	s := Stats{Clock: t.clock}
	for _, v := range vus {
		v.flush()
		s.OpsPerVU = append(s.OpsPerVU, v.ops)
		s.Ops += v.ops
		s.Added += v.operation.added()
	}
	s.Jain, s.MinMax = fairness(s.OpsPerVU)
	final, err := t.state.added(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("guard target: %w", err)
	}
	s.Final = final
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Latency = t.latency.Clone()
	return s, nil
}

// fairness returns (Σx)² / (n·Σx²) (Jain, Chiu and Hawe, "A Quantitative Measure
// of Fairness and Discrimination", DEC-TR-301, 1984) and min x / max x.
func fairness(ops []int64) (jain, minMax float64) {
	if len(ops) == 0 {
		return 0, 0
	}
	least, most := ops[0], ops[0]
	var sum, squares float64
	for _, n := range ops {
		least, most = min(least, n), max(most, n)
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if sum == 0 {
		return 0, 0
	}
	return sum * sum / (float64(len(ops)) * squares), float64(least) / float64(most)
}
