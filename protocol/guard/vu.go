package guard

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"contend/errkind"
	"contend/guard"
	"contend/load"
)

// sampleEvery is the mean number of operations from one timed operation to the
// next: two clock readings cost about as much as ten uncontended additions, so
// one in 256 slows a batch down by some per cent at most.
const sampleEvery = 256

// sampling is sampleEvery, or fewer operations if these are so long that the
// clock does not matter compared with 50 µs of them.
func sampling(section time.Duration) int {
	if section == 0 {
		return sampleEvery
	}
	return int(min(max(50*time.Microsecond/section, 1), sampleEvery))
}

type vu struct {
	target    *Target
	operation operation
	random    *rand.Rand
	ops       int64 // operations done
	sampled   int   // one operation in this many is timed
	untimed   int   // operations until the next timed one
	samples   [64]time.Duration
	pending   int // samples not yet recorded
}

var _ load.VU = (*vu)(nil)

// Do performs one batch. The operations get a context that cannot end, because a
// design may take a slower path for one that can; ctx is looked at in between.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	for left := v.target.config.Batch; left > 0; {
		if err := ctx.Err(); err != nil {
			return load.Outcome{}, err
		}
		n := min(left, v.untimed)
		done, err := v.operation.run(n)
		v.ops += int64(done)
		v.untimed -= n
		left -= n
		if err == nil && v.untimed == 0 && left > 0 {
			err = v.timed()
			left--
		}
		if err != nil {
			return load.Outcome{}, failure(err)
		}
	}
	return load.Outcome{Ops: int64(v.target.config.Batch)}, nil
}

func (v *vu) timed() error {
	start := time.Now()
	done, err := v.operation.run(1)
	v.samples[v.pending] = time.Since(start)
	v.ops += int64(done)
	v.untimed = v.gap()
	if err != nil {
		return err
	}
	if v.pending++; v.pending == len(v.samples) {
		v.flush()
	}
	return nil
}

func (v *vu) flush() {
	v.target.record(v.samples[:v.pending])
	v.pending = 0
}

// gap draws the number of operations to the next timed one, uniformly with mean
// sampled-1. A fixed gap could keep step with something periodic.
func (v *vu) gap() int { return v.random.IntN(2*v.sampled - 1) }

func failure(err error) error {
	if errors.Is(err, guard.ErrClosed) {
		return &errkind.Error{Kind: errkind.Closed, Err: err}
	}
	return err
}
