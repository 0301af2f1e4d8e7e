// History plays histories of commits, each measured for a minute on machines of four speeds, and
// counts the false alerts and how soon a step is told of.
//
//	go run ./bench/history
//	go run ./bench/history -histories 100 -only counts
//
// Rounds are drawn from those that bench/verdicts recorded of equal servers: as they were for the
// two slower machines, and narrower for the others.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/bench/internal/recorded"
	"contend/bench/internal/simulate"
	"contend/history/change"
	"contend/stat"
)

func main() {
	b := bench{out: os.Stdout}
	flag.IntVar(&b.histories, "histories", 1000, "histories of each kind")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	flag.StringVar(&b.folder, "recorded", "bench/verdicts/testdata", "folder with the recorded blocks")
	flag.StringVar(&b.only, "only", "", "`text` that the names of the machines to play contain")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		stop()
		fmt.Fprintf(os.Stderr, "bench/history: %v\n", err)
		os.Exit(1)
	}
}

type bench struct {
	histories int
	seed      uint64
	folder    string
	only      string
	out       io.Writer
}

const (
	commits = 200
	drift   = 0.01 // of the machine, from commit to commit
	moved   = 0.01 // by how much another machine favours the anchor
	// share of steps that are to be found within so many commits.
	share, within = 0.95, 3
	// base is how many commits there are before a step.
	base = 40
)

// A machine is how its rounds differ.
type machine struct {
	name, file string
	block      time.Duration // length of the recorded blocks
	spread     float64       // of its rounds; 0: as recorded
	perMinute  int           // rounds
}

// Rounds of quiet.csv take 0.8 s, those of noise.csv 3.2 s. A quiet machine's spread is that of bench/README.md.
var machines = []machine{
	{"quiet, servers apart", "quiet.csv", 50 * time.Millisecond, 0.02, 64},
	{"in use", "quiet.csv", 50 * time.Millisecond, 0.04, 64},
	{"virtual, as recorded", "quiet.csv", 50 * time.Millisecond, 0, 75},
	{"busy, as recorded", "noise.csv", 100 * time.Millisecond, 0, 18},
}

// builds differ by 0.2 to 0.4% in time, and hardly by counts, of some programs by more.
var timedBuilds, countedBuilds, jitteringBuilds = [2]float64{0.002, 0.004}, [2]float64{0.0001, 0.0003}, [2]float64{0.0005, 0.0005}

// jitter is the share of builds whose counts differ by 3 times as much.
const jitter = 0.05

func (b bench) run(ctx context.Context) error {
	fmt.Fprintf(b.out, "%d histories of %d commits each, seed %d; brackets hold 95%% intervals\n", b.histories, commits, b.seed)
	for _, m := range machines {
		rounds, err := m.rounds(b.folder)
		if err != nil {
			return err
		}
		h := simulate.History{Commits: commits, Rounds: rounds, PerCommit: m.perMinute, Build: timedBuilds, Drift: drift, Options: change.Times()}
		b.falsely(ctx, m.name, h)
		h.Moved = moved
		b.falsely(ctx, m.name+", another from the middle on", h)
		h.Moved = 0
		b.smallest(ctx, m.name, h, []float64{0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15})
	}
	h := simulate.History{Commits: commits, Build: countedBuilds, Jitter: jitter, Options: change.Counts()}
	b.falsely(ctx, "counts", h)
	b.smallest(ctx, "counts", h, []float64{0.003, 0.004, 0.005})
	h.Build = jitteringBuilds
	b.falsely(ctx, "counts that jitter", h)
	b.smallest(ctx, "counts that jitter", h, []float64{0.003, 0.004, 0.005})
	return ctx.Err()
}

// falsely shows the false alerts of histories in which no commit changes anything.
func (b bench) falsely(ctx context.Context, name string, h simulate.History) {
	if !strings.Contains(name, b.only) {
		return
	}
	told := b.play(ctx, h)
	low, high := stat.Binomial(told.False, told.Commits, 0.95)
	fmt.Fprintf(b.out, "%s: %d false alerts in %d commits, %.2f [%.2f, %.2f] in 1,000; %.1f repetitions in each history\n", name, told.False,
		told.Commits, 1000*float64(told.False)/float64(told.Commits), 1000*low, 1000*high, float64(told.Repetitions)/float64(told.Histories))
}

// smallest shows how often steps are told of, from the smallest to the first that nearly always is within 1 commit.
func (b bench) smallest(ctx context.Context, name string, h simulate.History, steps []float64) {
	if !strings.Contains(name, b.only) {
		return
	}
	h.Commits, h.At = base+len(simulate.Told{}.Within), base
	for _, step := range steps {
		h.Step = math.Log1p(step)
		told := b.play(ctx, h)
		of := func(n int) float64 { return 100 * float64(told.Within[n-1]) / float64(told.Histories) }
		fmt.Fprintf(b.out, "%s: a step of %.1f%% told within 1, %d and 10 commits: %.1f, %.1f, %.1f%%\n", name, 100*step, within, of(1), of(within), of(10))
		if of(1) >= 100*share || ctx.Err() != nil {
			return
		}
	}
}

// play divides histories among a few goroutines.
func (b bench) play(ctx context.Context, h simulate.History) simulate.Told {
	const parts = 20
	all := make([]simulate.Told, parts)
	free := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i := range all {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() == nil {
				all[i] = simulate.Histories(h, max(1, b.histories/parts), b.seed+uint64(i))
			}
		})
	}
	wg.Wait()
	var sum simulate.Told
	for _, t := range all {
		sum.Histories += t.Histories
		sum.Commits += t.Commits
		sum.Repetitions += t.Repetitions
		sum.False += t.False
		for i, n := range t.Within {
			sum.Within[i] += n
		}
	}
	return sum
}

// rounds are the log-ratios of the recorded servers' throughput, with the mean 0 and the machine's spread.
func (m machine) rounds(folder string) ([]float64, error) {
	path := filepath.Join(folder, m.file)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := recorded.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	at := slices.IndexFunc(all, func(n recorded.Noise) bool { return n.Length == m.block })
	if at < 0 {
		return nil, fmt.Errorf("%s has no blocks of %v", path, m.block)
	}
	var logs []float64
	mean, squares := 0.0, 0.0
	for _, pairs := range all[at].Rounds {
		ops := map[string]int64{}
		for _, p := range pairs {
			ops[p[0].Arm] += p[0].Ops
			ops[p[1].Arm] += p[1].Ops
		}
		logs = append(logs, math.Log(float64(ops["b"])/float64(ops["a"])))
		mean += logs[len(logs)-1] / float64(len(all[at].Rounds))
	}
	for i := range logs {
		logs[i] -= mean
		squares += logs[i] * logs[i]
	}
	if m.spread > 0 {
		factor := m.spread / math.Sqrt(squares/float64(len(logs)-1))
		for i := range logs {
			logs[i] *= factor
		}
	}
	return logs, nil
}
