// Http compares contend with other generators of HTTP load: requests per
// second of the generator's CPU, against nginx with one worker on loopback.
//
//	go run ./bench/http
//	go run ./bench/http -work big -c 100 -peers fortio,ab -pairs 20
//
// Blocks of contend and of a peer alternate, and who begins alternates too. A
// pair of blocks gives one ratio; the median of the ratios and an interval
// from stat.Paired are printed. The machine's speed and its other work weigh on
// both blocks of a pair, so a ratio means something where the absolute figures
// do not. CPU time is user plus system time of the whole child process, its
// start included, as the kernel accounts it at its end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"contend/stat"
)

// options are the flags.
type options struct {
	work        string
	connections int
	block       time.Duration
	pairs       int
	peers       string
	contend     string
}

func main() {
	var o options
	flag.StringVar(&o.work, "work", "small", "what is asked for: small (61 bytes), big (130 kB) or connect (small, a new connection for each request)")
	flag.IntVar(&o.connections, "c", 50, "connections")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block in whole seconds")
	flag.IntVar(&o.pairs, "pairs", 10, "pairs of blocks for each peer")
	flag.StringVar(&o.peers, "peers", "fortio,wrk,ab", "whom to compare with: fortio, wrk, ab, h2load")
	flag.StringVar(&o.contend, "contend", "", "a binary of contend; empty builds ./cmd/contend")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench/http:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) error {
	if o.block < time.Second || o.block%time.Second != 0 {
		return fmt.Errorf("-block %v is not a number of whole seconds", o.block)
	}
	dir, err := os.MkdirTemp("", "contend-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, ok := paths[o.work]
	if !ok {
		return fmt.Errorf("-work %q is none of small, big, connect", o.work)
	}
	if o.contend == "" {
		o.contend = filepath.Join(dir, "contend")
		if err := build(ctx, o.contend); err != nil {
			return err
		}
	}
	server, err := startNginx(dir)
	if err != nil {
		return err
	}
	defer server.stop()
	b := bench{options: o, url: "http://" + server.address + path}
	us, _ := b.tool(contend)
	us.path = o.contend
	fmt.Fprintf(w, "%s against %s, %d connections, blocks of %v, %d pairs\n", o.work, server.version, o.connections, o.block, o.pairs)
	printEnvironment(w)
	for _, name := range strings.Split(o.peers, ",") {
		peer, err := b.find(name)
		if errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(w, "%s: not found on PATH or in ~/go/bin\n", name)
			continue
		}
		if err != nil {
			return err
		}
		if err := b.compare(ctx, w, us, peer); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "load average now %s\n", loadAverage())
	return nil
}

func build(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/contend")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/contend (run this from the project's root): %w\n%s", err, out)
	}
	return nil
}

// compare alternates blocks of us and of peer and prints what they say.
func (b bench) compare(ctx context.Context, w io.Writer, us, peer tool) error {
	var ours, theirs, ratios, logs []float64
	for i := range b.pairs {
		order := []tool{us, peer}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		rate := map[string]float64{}
		for _, t := range order {
			m, err := t.measure(ctx, b.block)
			if err != nil {
				return err
			}
			rate[t.name] = m.perCPUSecond()
		}
		ratio := rate[us.name] / rate[peer.name]
		ours = append(ours, rate[us.name])
		theirs = append(theirs, rate[peer.name])
		ratios = append(ratios, ratio)
		logs = append(logs, math.Log(ratio))
	}
	effect, err := stat.Paired(logs, 0.95)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: requests per generator-CPU-s: contend %.0f, %s %.0f; ratio: median %.3f",
		peer.describe(), median(ours), peer.name, median(theirs), median(ratios))
	if effect.Bounded() {
		fmt.Fprintf(w, ", %.1f %% interval %.3f to %.3f", 100*effect.Confidence, effect.Low, effect.High)
	}
	fmt.Fprintf(w, ", n = %d\n", len(ratios))
	for _, warning := range effect.Warnings {
		fmt.Fprintf(w, "%s: warning: %s\n", peer.name, warning.Text)
	}
	return nil
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
