package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/load"
	"contend/protocol"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
)

// subjects are the real servers that are there.
func (b *bench) subjects(w io.Writer, contend string) map[string]trial.Arm {
	arms := map[string]trial.Arm{
		"counter": b.serving(experiment.Subject{Command: contend + " serve counter --http {{addr}}"}, "/status/atomic"),
	}
	if _, err := exec.LookPath("nginx"); err != nil {
		fmt.Fprintln(w, "  nginx: not found on PATH")
		return arms
	}
	for _, f := range experiment.Embedded() {
		if nginx, ok := f.Subjects["nginx"]; ok {
			arms["nginx, 130 kB"] = b.serving(nginx, "/index.html")
		}
	}
	return arms
}

func (b *bench) serving(s experiment.Subject, path string) trial.Arm {
	return experiment.ServerArm("", protocol.At("http://{{addr}}"+path), s, experiment.Options{Seed: b.seed})
}

func (b *bench) realServers(ctx context.Context, w io.Writer, s paired.Setup) error {
	arms := b.subjects(w, s.Contend)
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		if err := b.realServer(ctx, w, name, arms[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// realServer sweeps a server adaptively and then exhaustively.
func (b *bench) realServer(ctx context.Context, w io.Writer, name string, arm trial.Arm) error {
	plan := load.Plan{Timeout: 5 * time.Second}
	d := sweep.Design{Within: sweep.WithinBest, ExtendTo: b.limit, Visits: visits, Block: b.block, Warmup: b.block / 3, Seed: b.seed}
	adaptive, err := sweep.Run(ctx, arm, plan, d, nil)
	if err != nil {
		return err
	}
	d.Levels, d.ExtendTo = exhaustiveLevels(highest(adaptive)), 0
	exhaustive, err := sweep.Run(ctx, arm, plan, d, nil)
	if err != nil {
		return err
	}
	level, what := int(adaptive.Best.N.Value), "best measured level"
	if adaptive.Fit != nil && adaptive.Fit.Peak != nil {
		level, what = adaptive.Fit.Peak.Optimum, "optimum"
	}
	d.Levels, d.Visits = []int{level, int(exhaustive.Best.N.Value)}, sideBySide
	both, err := sweep.Run(ctx, arm, plan, d, nil)
	if err != nil {
		return err
	}
	share := at(both, level) / max(at(both, level), at(both, d.Levels[1]))
	runs, all := len(adaptive.Explored)+len(adaptive.Visits), len(exhaustive.Visits)
	fmt.Fprintf(w, "\n%s: %s %d VUs, smallest within 5 %% %s; exhaustively best %s VUs; load average %s\n", name, what, level,
		interval(adaptive.Enough.N), interval(exhaustive.Best.N), paired.LoadAverage())
	bar(w, share >= goodness, "  side by side, recommended ≥ %.0f %% of the exhaustive best: %.1f %% of %.0f/s",
		100*goodness, 100*share, at(both, d.Levels[1]))
	bar(w, float64(runs) <= runShare*float64(all), "  runs ≤ 1/3: %d of %d", runs, all)
	return nil
}

// sideBySide is how often the two recommendations are measured in the end, in
// random order: the highest of many figures of an exhaustive sweep is a lucky one.
const sideBySide = 12

func highest(c *sweep.Curve) int {
	most := 1
	for _, cell := range append(slices.Clone(c.Explored), c.Results...) {
		most = max(most, cell.Concurrency)
	}
	return most
}

// at is the mean throughput at a level.
func at(c *sweep.Curve, level int) float64 {
	for _, cell := range c.Results {
		if cell.Concurrency == level {
			return cell.ThroughputPerSec
		}
	}
	return 0
}

func interval(e usl.Estimate) string {
	if e.Interval == nil {
		return fmt.Sprintf("%.0f", e.Value)
	}
	return fmt.Sprintf("%.0f [%.0f, %.0f]", e.Value, e.Interval.Low, e.Interval.High)
}
