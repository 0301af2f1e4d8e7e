package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"contend/bench/internal/paired"
	"contend/bench/internal/recorded"
	"contend/metric"
	"contend/trial"
)

// record drives the counter against itself and writes each block to a file.
func (b *bench) record(ctx context.Context, path string) error {
	var text bytes.Buffer
	now := func() string { return time.Now().UTC().Format(time.DateTime) }
	fmt.Fprintf(&text, "# The counter under atomic against itself over HTTP, %d connections, from %s UTC on\n# ", vus, now())
	paired.PrintEnvironment(&text)
	fmt.Fprintln(&text, recorded.Columns)
	lengths, err := paired.Choose("lengths", *b.lengths, []string{"20ms", "50ms", "100ms"})
	if err != nil {
		return err
	}
	for _, s := range []shape{
		{rounds: 120, pairs: 16, block: 20 * time.Millisecond, warmup: 100 * time.Millisecond},
		{rounds: 120, pairs: 8, block: 50 * time.Millisecond, warmup: 100 * time.Millisecond},
		{rounds: 60, pairs: 16, block: 100 * time.Millisecond, warmup: 100 * time.Millisecond},
	} {
		if !slices.Contains(lengths, s.block.String()) {
			continue
		}
		b.note("%d rounds with blocks of %v, from %s UTC on", s.rounds, s.block, now())
		s.metrics = []metric.Name{metric.Throughput, metric.ServerCPUPerOp}
		trials, err := b.compare(ctx, b.seed, s, b.counters())
		if err != nil {
			return err
		}
		if len(trials.Blocks) != 2*s.rounds*s.pairs {
			return fmt.Errorf("blocks of %v were stretched, because a first response took long: repeat it on a quiet machine", s.block)
		}
		writeNoise(&text, trials)
	}
	fmt.Fprintf(&text, "# until %s UTC\n", now())
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return err
	}
	if _, err := recorded.Parse(&text); err != nil {
		return fmt.Errorf("what was recorded cannot be used: %w", err)
	}
	return nil
}

// writeNoise writes the blocks in their order.
func writeNoise(text *bytes.Buffer, t *trial.Trials) {
	arms := map[string]string{t.Arms[0]: "a", t.Arms[1]: "b"}
	for _, b := range t.Blocks {
		fmt.Fprintf(text, "%d,%d,%d,%s,%d,%d,%d\n", t.Design.Block.Milliseconds(), b.Round, b.Pair, arms[b.Arm],
			b.Duration.Microseconds(), b.Ops, int64(b.Server.CPUSec*1e6))
	}
}
