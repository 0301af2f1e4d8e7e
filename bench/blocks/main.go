// Blocks shows how the length of the blocks changes what a round of a
// comparison can see: the counter against itself over HTTP, each length with the
// same measured time in each round, all lengths in each round in random order.
//
//	go run ./bench/blocks
//	go run ./bench/blocks -rounds 24 -lengths 20ms,100ms -each 2s
//
// The spread of a pair is the standard deviation of ln(candidate ÷ baseline) over
// all pairs; that of a round is the one of the rounds' estimates, which is what a
// verdict is made of.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

func main() {
	s := study{}
	var lengths string
	flag.IntVar(&s.rounds, "rounds", 16, "rounds of fresh servers for each length")
	flag.DurationVar(&s.each, "each", time.Second, "measured time of each arm in a round")
	flag.StringVar(&lengths, "lengths", "10ms,20ms,50ms,100ms,200ms,500ms,1s", "lengths of a block")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of all random choices")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, os.Stdout, strings.Split(lengths, ",")); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench/blocks:", err)
		os.Exit(1)
	}
}

type study struct {
	rounds int
	each   time.Duration
	seed   uint64
}

// spreads are the data of one length.
type spreads struct {
	length        time.Duration
	pairs, rounds []float64 // log-ratios
}

func (s study) run(ctx context.Context, w io.Writer, lengths []string) error {
	dir, err := os.MkdirTemp("", "contend-blocks-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contend := filepath.Join(dir, "contend")
	build := exec.CommandContext(ctx, "go", "build", "-o", contend, "./cmd/contend")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build contend, which needs the project's root as working directory: %w", err)
	}
	var all []*spreads
	for _, text := range lengths {
		length, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		all = append(all, &spreads{length: length})
	}
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "seed %d, %d rounds, %v of each arm per round\n", s.seed, s.rounds, s.each)
	random := rand.New(rand.NewPCG(s.seed, 4))
	for round := range s.rounds {
		for _, i := range random.Perm(len(all)) {
			if err := s.round(ctx, contend, all[i], random.Uint64()); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, s.rounds)
	}
	return table(w, all)
}

func (s study) round(ctx context.Context, contend string, into *spreads, seed uint64) error {
	counter := experiment.Subject{Command: contend + " serve counter --http {{addr}}"}
	f := &experiment.File{ID: "blocks", Title: "blocks", Subjects: map[string]experiment.Subject{"a": counter, "b": counter}}
	f.Target.URL = "http://{{addr}}/status/atomic"
	f.Load = experiment.Load{VUs: []int{20}, Duration: into.length, Warmup: 200 * time.Millisecond, Timeout: 5 * time.Second}
	f.Compare = experiment.Compare{Baseline: "a", Rounds: 1, Pairs: max(1, int(s.each/into.length)), Metrics: []trial.Metric{trial.Throughput}}
	if err := f.Validate(); err != nil {
		return err
	}
	doc := new(report.Document)
	if err := f.Run(ctx, experiment.Options{Seed: seed}, doc); err != nil {
		return err
	}
	into.rounds = append(into.rounds, doc.Comparisons[0].RoundLogRatios...)
	values := map[int]map[string]float64{}
	for _, b := range doc.Trials[0].Blocks {
		if values[b.Pair] == nil {
			values[b.Pair] = map[string]float64{}
		}
		values[b.Pair][b.Arm] = b.ThroughputPerSec
	}
	for _, v := range values {
		if v["a"] > 0 && v["b"] > 0 {
			into.pairs = append(into.pairs, math.Log(v["b"]/v["a"]))
		}
	}
	return nil
}

func table(w io.Writer, all []*spreads) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "block\tpairs\tspread of a pair\tspread of a round\tif pairs were independent\t")
	for _, s := range all {
		pairs, err := summary(s.pairs)
		if err != nil {
			return err
		}
		rounds, err := summary(s.rounds)
		if err != nil {
			return err
		}
		per := len(s.pairs) / len(s.rounds)
		fmt.Fprintf(t, "%v\t%d\t%.2f %%\t%.2f %%\t%.2f %%\t\n", s.length, per, 100*pairs.SD, 100*rounds.SD, 100*pairs.SD/math.Sqrt(float64(per)))
	}
	return t.Flush()
}

func summary(values []float64) (stat.Summary, error) {
	sample, err := stat.NewSample(values)
	if err != nil {
		return stat.Summary{}, err
	}
	return sample.Summary(0.95)
}
