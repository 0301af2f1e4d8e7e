package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"contend/internal/perf"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

const (
	countedVUs = 8
	// moreInstructions is by how much the candidate's user instructions exceed those
	// of the baseline.
	moreInstructions = 0.01
	// farIterations are so many that the cost of an iteration exceeds the noise.
	farIterations = 5000
	// mostTime is how long a comparison by instructions may take.
	mostTime = 20 * time.Second
)

// iterateCommand makes this program a server that does arithmetic for each request;
// an address and the number of iterations follow.
const iterateCommand = "iterate"

// serveIterating serves requests of so many iterations each with net/http.
func serveIterating(address, iterations string) error {
	n, err := strconv.Atoi(iterations)
	if err != nil {
		return err
	}
	return http.ListenAndServe(address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		x := uint64(1)
		for range n {
			x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator: each step needs the one before
		}
		runtime.KeepAlive(x)
	}))
}

// iterating are a server without iterations and one with so many.
func (b *bench) iterating(iterations int) servers {
	command := func(n int) string { return fmt.Sprintf("%s %s {{addr}} %d", b.self, iterateCommand, n) }
	return servers{map[string]string{baseline: command(0), candidate: command(iterations)}, "http://{{addr}}/"}
}

// canCount returns a *perf.UnavailableError where instructions cannot be counted.
func canCount() error {
	counters, err := perf.Own(perf.Instructions)
	if err != nil {
		return err
	}
	return counters.Close()
}

// byInstructions is what contend compare --metric server_instructions_per_op does.
func byInstructions() shape {
	d := trial.NewDesign()
	return shape{rounds: d.Rounds, pairs: d.Pairs, warmup: d.Warmup, metrics: []metric.Name{metric.ServerInstructions}, vus: countedVUs}
}

// byThroughput takes about as long.
func byThroughput() shape {
	s := byInstructions()
	s.block, s.warmup, s.metrics = 50*time.Millisecond, 200*time.Millisecond, []metric.Name{metric.Throughput}
	return s
}

// foundByInstructions compares a server with one that executes 1 % more instructions,
// by these, and by throughput for as long.
func foundByInstructions(ctx context.Context, b *bench) error {
	if err := canCount(); err != nil {
		return err
	}
	iterations, err := b.calibrateIterations(ctx, moreInstructions)
	if err != nil {
		return err
	}
	counted, byTime := newCompared(), newCompared()
	for i := range b.planted {
		title, seed := fmt.Sprintf("1 %% more instructions, %d of %d", i+1, b.planted), b.seed+uint64(3000+i)
		counted.compare(ctx, b, title+", counted", seed, byInstructions(), b.iterating(iterations))
		byTime.compare(ctx, b, title+", timed", seed, byThroughput(), b.iterating(iterations))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	f := atLeast("1 % more user instructions, planted in real servers, called MORE", counted.verdicts[stat.More], counted.total()+counted.failed, 0.9)
	f.bar += fmt.Sprintf(" in at most %v each", mostTime)
	f.reached = f.reached && counted.longest <= mostTime
	b.show("i", f)
	fmt.Fprintf(b.out, "     %v\n     the same by throughput: %v\n", counted, byTime)
	return nil
}

// falseAlarmsOnInstructions compares a server with itself by what it executes.
func falseAlarmsOnInstructions(ctx context.Context, b *bench) error {
	if err := canCount(); err != nil {
		return err
	}
	equal := newCompared()
	for i := range b.equal {
		title, seed := fmt.Sprintf("equal servers, counted, %d of %d", i+1, b.equal), b.seed+uint64(4000+i)
		equal.compare(ctx, b, title, seed, byInstructions(), b.iterating(0))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b.show("j", atMost("equal servers told apart by instructions", equal.verdicts[stat.More]+equal.verdicts[stat.Less], equal.total(), 9, 100))
	fmt.Fprintf(b.out, "     %v\n", equal)
	return nil
}

// calibrateIterations returns how many iterations are this share of all user
// instructions for a request of the server without any.
func (b *bench) calibrateIterations(ctx context.Context, share float64) (int, error) {
	t, err := b.compare(ctx, b.seed, byInstructions(), b.iterating(farIterations))
	if err != nil {
		return 0, fmt.Errorf("calibration: %w", err)
	}
	c := first(t)
	iterations, err := iterationsFor(share, c.Ratio)
	if err != nil {
		return 0, fmt.Errorf("calibration: %w", err)
	}
	fmt.Fprintf(b.out, "     a request takes %.0f user instructions, and %d iterations make %s of that: %d for %.3g %% more\n",
		c.BaselineValue, farIterations, interval(c.Effect), iterations, 100*share)
	return iterations, nil
}

// iterationsFor returns how many iterations are a share of all instructions;
// farIterations made this ratio.
func iterationsFor(share, ratio float64) (int, error) {
	if !(ratio > 1) {
		return 0, fmt.Errorf("%d iterations are not more instructions: ratio %v", farIterations, ratio)
	}
	return int(math.Round(share * farIterations / (ratio - 1))), nil
}

// compared are comparisons of the same servers.
type compared struct {
	*outcomes
	ratios  []float64 // logarithms
	longest time.Duration
}

func newCompared() *compared { return &compared{outcomes: newTally()} }

func (all *compared) compare(ctx context.Context, b *bench, title string, seed uint64, of shape, servers servers) {
	began := time.Now()
	t, err := b.compare(ctx, seed, of, servers)
	if ctx.Err() != nil {
		return
	}
	all.longest = max(all.longest, time.Since(began))
	c := first(t)
	all.addReal(b, title, c, err)
	if c.Bounded() {
		all.ratios = append(all.ratios, math.Log(c.Ratio))
	}
}

// String has what the comparisons came to, the middle of their estimates, and how long
// they took.
func (all *compared) String() string {
	text := all.outcomes.String()
	if middle, err := stat.Paired(all.ratios, 0.95); err == nil {
		text += fmt.Sprintf("; estimates from %.4f to %.4f, middle %s", math.Exp(slices.Min(all.ratios)), math.Exp(slices.Max(all.ratios)), interval(middle))
	}
	return text + fmt.Sprintf("; longest comparison %.1f s", all.longest.Seconds())
}

// interval writes the ratio, with its interval where there is one.
func interval(e stat.Effect) string {
	if !e.Bounded() {
		return fmt.Sprintf("%.4f", e.Ratio)
	}
	return fmt.Sprintf("%.4f [%.4f, %.4f]", e.Ratio, e.Low, e.High)
}
