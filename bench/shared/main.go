// Shared measures what sharing a counter costs: the table in docs/choosing.md. The
// generator, the servers and one redis-server that they share are processes on this
// machine. The redis-server is private, on a Unix socket, and writes an append-only file
// that the kernel flushes. The variants of a row are alive together and driven in turn.
//
//	go run ./bench/shared
//	go run ./bench/shared -only busy -rounds 20
//	go run ./bench/shared -only alone,commands
//
// It takes about nine minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/internal/redisserver"
	"contend/load"
	"contend/metric"
	"contend/protocol"
	"contend/trial"
)

func main() {
	b := &bench{only: paired.Only()}
	flag.IntVar(&b.rounds, "rounds", 12, "rounds of fresh servers; an interval needs at least 6")
	flag.IntVar(&b.pairs, "pairs", 4, "blocks of each arm in a round")
	flag.DurationVar(&b.block, "block", 500*time.Millisecond, "length of a block")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	paired.Main("shared", b.run)
}

// A bench is one run of the command.
type bench struct {
	only          *string
	rounds, pairs int
	block         time.Duration
	seed          uint64

	out     io.Writer
	contend string
	redis   *redisserver.Server
}

// connections is the number of VUs, each with a connection of its own, at which
// the published counter was driven.
const connections = 80

// The arms; script is the baseline of the others.
const (
	memory    = "mutex"
	naive     = "redis-naive"
	script    = "redis-script"
	combining = "redis-combining"
)

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) (err error) {
	b.out, b.contend = w, s.Contend
	rows := map[string]func(context.Context) error{"busy": b.busy, "alone": b.alone, "commands": b.commands}
	keys, err := paired.Choose("only", *b.only, []string{"busy", "alone", "commands"})
	if err != nil {
		return err
	}
	if b.redis, err = redisserver.Open(ctx, redisserver.Config{URL: redisserver.Managed}); err != nil {
		return err
	}
	defer b.redis.Close()
	paired.PrintEnvironment(w)
	for _, key := range keys {
		if err := rows[key](ctx); err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
	}
	return nil
}

// arm is a server with one design.
func (b *bench) arm(design string) trial.Arm {
	command, path := b.contend+" serve counter --http {{addr}} --guard "+design, "/status/"+memory
	if design != memory {
		command, path = command+" --redis-timeout 10s --redis "+b.redis.URL(), "/status"
	}
	subject := experiment.Subject{Command: command, Ready: experiment.Ready{HTTP: "/ready"}}
	return experiment.ServerArm(design, protocol.At("http://{{addr}}"+path).With("expect_status", "200"), subject, experiment.Options{Seed: b.seed})
}

func (b *bench) plan(vus int) load.Plan {
	return load.Plan{VUs: vus, Warmup: b.block, Duration: b.block, Grace: load.DefaultGrace, Timeout: 10 * time.Second}
}

// compare drives the arms in turn; the first is what they are compared with.
func (b *bench) compare(ctx context.Context, vus int, m metric.Name, designs ...string) (*table, error) {
	var arms []trial.Arm
	for _, design := range designs {
		arms = append(arms, b.arm(design))
	}
	d := trial.NewDesign()
	d.Rounds, d.Pairs, d.Block, d.Warmup, d.Levels = b.rounds, b.pairs, b.block, b.block, []int{vus}
	d.Metrics, d.Seed = []metric.Name{m}, b.seed
	trials, err := trial.Compare(ctx, arms, b.plan(vus), d, nil)
	if err != nil {
		return nil, err
	}
	return newTable(trials, m)
}

// busy is the row of many connections.
func (b *bench) busy(ctx context.Context) error {
	fmt.Fprintf(b.out, "\nbusy: %d connections over HTTP\n", connections)
	t, err := b.compare(ctx, connections, metric.Throughput, script, combining, naive, memory)
	if err != nil {
		return err
	}
	t.print(b.out)
	for _, x := range []struct {
		over, under string
		bar         float64
	}{{combining, script, 2}, {combining, memory, 0.7}, {script, naive, 3}} {
		if err := t.ratio(b.out, x.over, x.under, bar{x.bar, true}); err != nil {
			return err
		}
	}
	return nil
}

// alone is the row of one caller, where nothing can be combined.
func (b *bench) alone(ctx context.Context) error {
	fmt.Fprintln(b.out, "\nalone: 1 connection over HTTP, p99 of the response time")
	t, err := b.compare(ctx, 1, "response_p99_ns", script, combining)
	if err != nil {
		return err
	}
	t.print(b.out)
	return t.ratio(b.out, combining, script, bar{1.5, false})
}
