package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"contend/bench/internal/paired"
	"contend/trial"
)

// counterKey and counterField are where the servers keep their counter.
const (
	counterKey   = "{contend:counter}"
	counterField = "counter"
)

// commands is the row of what Redis does for an increment.
func (b *bench) commands(ctx context.Context) error {
	fmt.Fprintf(b.out, "\ncommands: what Redis' INFO commandstats counts for an increment, %d connections over HTTP\n", connections)
	each := map[string]float64{}
	for _, design := range []string{naive, script, combining} {
		before, err := b.asked(ctx)
		if err != nil {
			return err
		}
		if _, err := trial.Measure(ctx, b.arm(design), b.plan(connections)); err != nil {
			return err
		}
		after, err := b.asked(ctx)
		if err != nil {
			return err
		}
		increments := float64(after.counter - before.counter)
		if increments <= 0 {
			return fmt.Errorf("%s: the counter went from %d to %d", design, before.counter, after.counter)
		}
		fmt.Fprintf(b.out, "  %s:", design)
		for _, name := range slices.Sorted(maps.Keys(after.calls)) {
			if n := after.calls[name] - before.calls[name]; n > 0 && counts(name) {
				each[design] += float64(n) / increments
				fmt.Fprintf(b.out, " %s %.4f,", name, float64(n)/increments)
			}
		}
		fmt.Fprintf(b.out, " together %.4f, those in scripts included\n", each[design])
	}
	share := each[combining] / each[script]
	fmt.Fprintf(b.out, "  %s ÷ %s: %.4f, bar ≤ 0.1: %s\n", combining, script, share, paired.Outcome(share <= 0.1))
	return nil
}

// counts reports whether a command is part of an increment without an idempotency
// key, and not of making a connection or of checking whether it is open.
func counts(name string) bool {
	name, _, _ = strings.Cut(name, "|")
	return !slices.Contains([]string{"ping", "hello", "client", "info", "auth", "select", "quit", "script", "command", "cluster", "exists"}, name)
}

// An asked is what Redis was asked for so far, and how far the counter is.
type asked struct {
	calls   map[string]int64 // by command
	counter int64
}

func (b *bench) asked(ctx context.Context) (asked, error) {
	client, err := rueidis.NewClient(b.redis.Options())
	if err != nil {
		return asked{}, err
	}
	defer client.Close()
	stats, err := client.Do(ctx, client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return asked{}, err
	}
	a := asked{calls: map[string]int64{}}
	a.counter, err = client.Do(ctx, client.B().Hget().Key(counterKey).Field(counterField).Build()).AsInt64()
	if err != nil && !rueidis.IsRedisNil(err) {
		return asked{}, err
	}
	for line := range strings.Lines(stats) {
		if err := a.add(strings.TrimSpace(line)); err != nil {
			return asked{}, err
		}
	}
	return a, nil
}

// add takes a line such as cmdstat_hget:calls=21,usec=42,…; others are no
// figures of a command.
func (a asked) add(line string) error {
	rest, ok := strings.CutPrefix(line, "cmdstat_")
	name, figures, found := strings.Cut(rest, ":calls=")
	if !ok || !found {
		return nil
	}
	calls, _, _ := strings.Cut(figures, ",")
	n, err := strconv.ParseInt(calls, 10, 64)
	if err != nil {
		return fmt.Errorf("INFO commandstats: %q", line)
	}
	a.calls[name] = n
	return nil
}
