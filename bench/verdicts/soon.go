package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// workCommand makes this program a server of net/http that works for each request; an
// address and the time follow.
const workCommand = "work"

// usualWork is what the baseline does for a request.
const usualWork = 50 * time.Microsecond

// serveWorking serves requests that each keep a thread busy for a time.
func serveWorking(address, each string) error {
	work, err := time.ParseDuration(each)
	if err != nil {
		return err
	}
	answer := make([]byte, 100)
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for start := time.Now(); time.Since(start) < work; {
		}
		_, _ = w.Write(answer)
	}))
}

// A soon is a difference, and how soon the right verdict on it is due.
type soon struct {
	vus    int
	less   float64       // throughput of the candidate, as a share; 0: the servers are equal
	within time.Duration // nine of ten verdicts; 0: no bar
	share  float64       // of the comparisons that must be right
}

func (s soon) right() stat.Verdict {
	if s.less == 0 {
		return stat.Equivalent
	}
	return stat.Slower
}

func (s soon) String() string {
	if s.less == 0 {
		return fmt.Sprintf("equal servers, %d connections", s.vus)
	}
	return fmt.Sprintf("%.0f %% less throughput, %d connections", 100*s.less, s.vus)
}

// dueSoon takes the time that comparisons as contend compare makes them take to the right
// verdict on servers of net/http.
func dueSoon(ctx context.Context, b *bench) error {
	list := []soon{
		{8, 0.3, 10 * time.Second, 0.9}, {8, 0.1, 15 * time.Second, 0.9}, {8, 0.05, 30 * time.Second, 0.9}, {8, 0, 40 * time.Second, 0.8},
		{1, 0.3, 0, 0.9}, {1, 0, 0, 0.8}, {100, 0.3, 0, 0.9}, {100, 0, 0, 0.8},
	}
	const seldom = 4 // from here on a third as many
	tallies, took, scatter := make([]*outcomes, len(list)), make([][]float64, len(list)), make([][]float64, len(list))
	for i := range list {
		tallies[i] = newTally()
	}
	seen := map[int][]slowdown{} // by connections
	for n := range b.soon {
		for i, s := range list {
			if i >= seldom && n%3 != 0 {
				continue
			}
			if seen[s.vus] == nil {
				slower, err := b.slowdowns(ctx, b.seed+uint64(i), b.foreign(), s.vus)
				if err != nil {
					return err
				}
				seen[s.vus] = slower
			}
			var extra time.Duration
			if s.less > 0 {
				var err error
				if extra, err = extraFor(seen[s.vus], 1-s.less); err != nil {
					return err
				}
			}
			d := trial.NewDesign()
			began := time.Now()
			t, err := b.compare(ctx, b.seed+uint64(1000*n+i), shape{pairs: d.Pairs, warmup: d.Warmup, vus: s.vus}, b.foreign().working(extra))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c := first(t)
			tallies[i].addReal(b, fmt.Sprintf("%v, %d", s, n+1), c, err)
			if err == nil && c.Verdict == s.right() {
				took[i] = append(took[i], time.Since(began).Seconds())
			}
			if c.Spread != nil {
				scatter[i] = append(scatter[i], c.Spread.Block)
			}
		}
	}
	for i, s := range list {
		right := len(took[i])
		f := atLeast(fmt.Sprintf("%v: %s", s, s.right()), right, tallies[i].total()+tallies[i].failed, s.share)
		if s.within > 0 {
			f.what += fmt.Sprintf(", nine of ten within %v", s.within)
			f.reached = f.reached && quantile(took[i], 0.9) <= s.within.Seconds()
		}
		b.show("n", f)
		fmt.Fprintf(b.out, "     %v; right ones after %.1f s (median), %.1f s (nine of ten), %.1f s (all); pairs of blocks scatter by %.1f %%\n",
			tallies[i], quantile(took[i], 0.5), quantile(took[i], 0.9), quantile(took[i], 1), 100*quantile(scatter[i], 0.5))
	}
	return nil
}

// quantile returns the smallest value that so many are at most; 0 of none.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[max(0, int(math.Ceil(share*float64(len(values))))-1)]
}

// A worker makes servers that work for a time on each request.
type worker struct {
	program, command string
	least            time.Duration // what the baseline works
}

func (b *bench) foreign() worker { return worker{b.self, workCommand, usualWork} }

// working are the server and one for each of the times that it works longer; a time of 0 is
// a candidate just like the server.
func (w worker) working(longer ...time.Duration) servers {
	command := func(each time.Duration) string { return fmt.Sprintf("%s %s {{addr}} %v", w.program, w.command, each) }
	list := servers{map[string]string{baseline: command(w.least)}, "http://{{addr}}/"}
	for _, extra := range longer {
		list.commands[armOf(extra)] = command(w.least + extra)
	}
	return list
}

// slowdowns measures two servers that work much longer, whose ratios stand out from the
// noise, beside the baseline, with so many connections.
func (b *bench) slowdowns(ctx context.Context, seed uint64, w worker, vus int) ([]slowdown, error) {
	far := []time.Duration{w.least / 4, w.least / 2}
	s := shape{rounds: 33, pairs: 4, block: 50 * time.Millisecond, warmup: 200 * time.Millisecond, precision: 0.03,
		metrics: []metric.Name{metric.Throughput}, vus: vus}
	t, err := b.compare(ctx, seed, s, w.working(far...))
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	var seen []slowdown
	for _, extra := range far {
		for _, c := range t.Comparisons {
			if c.Candidate == armOf(extra) && c.Ratio > 0 {
				seen = append(seen, slowdown{extra, c.Ratio})
				b.note("calibration: %v: ratio %.3f [%.3f, %.3f]", c.Candidate, c.Ratio, c.Low, c.High)
			}
		}
	}
	return seen, nil
}
