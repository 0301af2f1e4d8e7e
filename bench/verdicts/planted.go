package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"contend/stat"
	"contend/trial"
)

const (
	baseBurn = 40 * time.Microsecond // the baseline's work for a request
	planted  = 0.95                  // throughput of the candidate ÷ that of the baseline

	// calibrated is how many comparisons rest on one calibration: the machine drifts.
	calibrated = 10
)

// burnCommand makes this program a server that burns for each request; an
// address and the time follow.
const burnCommand = "burn"

// serveBurning serves requests that each keep a thread busy for a time.
func serveBurning(address, each string) error {
	burn, err := time.ParseDuration(each)
	if err != nil {
		return err
	}
	return fasthttp.ListenAndServe(address, func(*fasthttp.RequestCtx) {
		for start := time.Now(); time.Since(start) < burn; {
		}
	})
}

// foundOnUnequalServers compares a server with one that works longer, by so much
// that the throughput is 5 % lower under this very load. A comparison ends when
// its interval is narrow enough to show half of that, or after 40 rounds, which
// take less than two minutes.
func foundOnUnequalServers(ctx context.Context, b *bench) error {
	s := shape{rounds: 40, pairs: 10, block: 50 * time.Millisecond, warmup: 400 * time.Millisecond, precision: 0.025}
	sum := newTally()
	var estimates []float64 // logarithms
	var extras []time.Duration
	var longest time.Duration
	for i := 0; i < b.planted && ctx.Err() == nil; i++ {
		if i%calibrated == 0 || len(extras) == 0 {
			seen, err := b.slowdowns(ctx, b.seed+uint64(1000+i), b.burning(), vus)
			var extra time.Duration
			if err == nil {
				extra, err = extraFor(seen, planted)
			}
			if err != nil {
				b.note("%v", err)
			} else {
				extras = append(extras, extra)
			}
		}
		began := time.Now()
		c, err := b.plant(ctx, b.seed+uint64(2000+i), s, extras)
		if ctx.Err() != nil {
			break
		}
		longest = max(longest, time.Since(began))
		sum.addReal(b, fmt.Sprintf("planted difference %d of %d", i+1, b.planted), c, err)
		if err == nil && c.Ratio > 0 {
			estimates = append(estimates, math.Log(c.Ratio))
		}
	}
	b.show("f", atLeast("5 % less throughput, planted in real servers, called SLOWER", sum.verdicts[stat.Slower], sum.total()+sum.failed, 0.9))
	fmt.Fprintf(b.out, "     %v; longest comparison %v (bar 2m0s)\n", sum, longest.Round(time.Second))
	if len(estimates) > 0 {
		fmt.Fprintf(b.out, "     mean estimate of the ratio %.4f, calibrated to %.2f by %v to %v more than %v per request\n",
			math.Exp(mean(estimates)), planted, slices.Min(extras), slices.Max(extras), baseBurn)
	}
	return ctx.Err()
}

// plant compares the server with one that works longer by the last of the
// calibrated times.
func (b *bench) plant(ctx context.Context, seed uint64, s shape, extras []time.Duration) (trial.Comparison, error) {
	if len(extras) == 0 {
		return trial.Comparison{}, errors.New("there is no calibration")
	}
	t, err := b.compare(ctx, seed, s, b.burning().working(extras[len(extras)-1]))
	return first(t), err
}

// burning are servers that burn.
func (b *bench) burning() worker { return worker{b.self, burnCommand, baseBurn} }

func armOf(extra time.Duration) string {
	if extra == 0 {
		return candidate
	}
	return fmt.Sprintf("plus-%dns", extra.Nanoseconds())
}

// A slowdown is the throughput ratio that extra work led to.
type slowdown struct {
	extra time.Duration
	ratio float64
}

// extraFor returns the extra work for a ratio. The time of a request grows in
// proportion to the extra work, by a factor k that says how far the server is
// the limit: 1/ratio − 1 = k·extra, fitted by least squares through the origin.
func extraFor(seen []slowdown, ratio float64) (time.Duration, error) {
	var xy, xx float64
	for _, s := range seen {
		x := float64(s.extra)
		xy += x * (1/s.ratio - 1)
		xx += x * x
	}
	if !(xy > 0) {
		return 0, errors.New("more work did not lower the throughput")
	}
	return time.Duration(math.Round((1/ratio - 1) * xx / xy)), nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
