package fleet

import (
	"context"
	"time"
)

// A clock is how far a worker's clock is ahead of the coordinator's, known to within bound.
type clock struct{ ahead, bound time.Duration }

// For a clock the quickest of up to 8 exchanges counts; many workers get fewer each, as they delay the start. So
// many workers are asked at once: more would only wait for each other.
const (
	mostExchanges = 8
	allExchanges  = 400
	atOnce        = 16
)

// clockOf learns a worker's clock. If an order left at t1, came at t2, was answered at t3 and its reply
// came at t4, the clock is ahead by ((t2 − t1) + (t3 − t4)) ÷ 2, and off by at most half of the
// round trip, (t4 − t1) − (t3 − t2), however that is divided (RFC 5905, section 8).
func (f *Fleet) clockOf(ctx context.Context, worker string, exchanges int) (best clock, err error) {
	for i := range exchanges {
		r, err := f.ask(ctx, worker, &order{})
		if err != nil {
			return clock{}, err
		}
		one := clock{((r.Got - r.asked) + (r.Sent - r.came)) / 2, ((r.came - r.asked) - (r.Sent - r.Got)) / 2}
		if i == 0 || one.bound < best.bound {
			best = one
		}
	}
	return best, nil
}

// until is the clock known before and after a run: its drift between the two is within the bound.
func (c clock) until(after clock) clock {
	return clock{c.ahead, max(c.bound, after.bound) + (after.ahead - c.ahead).Abs()}
}
