// Uplink measures the way of uplinks: the table in bench/README.md. Redis, router,
// generator and sink are processes on this machine; Redis is a redis-server without an
// append-only file.
//
//	go run ./bench/uplink
//	go run ./bench/uplink -only flat,no-acks -runs 9
//	go run ./bench/uplink -only memory -length 5m
//	go run ./bench/uplink -only ready -db postgres://…
//
// It takes about fifteen minutes, seven of them for the memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/internal/redisserver"
	"contend/pace"
	"contend/systems/uplink/demo"
	"contend/systems/uplink/sink"
)

func main() {
	b := &bench{}
	only := paired.Only()
	flag.IntVar(&b.runs, "runs", 5, "runs of each row, in turns")
	flag.StringVar(&b.db, "db", "", "an empty PostgreSQL database for the row ready; empty means SQLite in a file")
	flag.DurationVar(&b.length, "length", 5*time.Minute, "how long the memory is watched")
	paired.Main("uplink", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		b.out, b.contend = w, s.Contend
		var err error
		if b.wanted, err = paired.Choose("only", *only, keys()); err != nil {
			return err
		}
		return b.run(ctx)
	})
}

type bench struct {
	wanted  []string
	runs    int
	length  time.Duration
	db      string
	out     io.Writer
	contend string
}

// A row is one way of sending, and what is asked of it.
type row struct {
	key, title string
	generator  []string
	noAck      bool
	devices    int // 0: one
	pacer      *pace.Pacer
	expect     int64
	figures    []figure
	seen       []*demo.Result
}

// A figure is a bar for one number of a run.
type figure struct {
	name  string
	of    func(*demo.Result) float64
	unit  string
	bar   float64
	least bool // the bar is the least, not the most
}

var (
	rate = func(r *demo.Result) float64 { return r.Load.ThroughputPerSec }
	p50  = func(r *demo.Result) float64 { return r.Load.Response.Quantile(0.5).Seconds() * 1e3 }
	p99  = func(r *demo.Result) float64 { return r.Load.Response.Quantile(0.99).Seconds() * 1e3 }
	mean = func(r *demo.Result) float64 { return r.Load.Response.Mean().Seconds() * 1e3 }
)

func rows() []*row {
	return []*row{
		{key: "flat", title: "flat, 100 000, with acks; published 8018/s", generator: []string{"flat", "-n", "100000"}, expect: 100_000,
			figures: []figure{{"uplinks", rate, "/s", 80_000, true}}},
		{key: "no-acks", title: "flat, 100 000, no acks, trust reduction off; published 8131/s", generator: []string{"flat", "-n", "100000"}, expect: 100_000, noAck: true,
			figures: []figure{{"uplinks", rate, "/s", 100_000, true}}},
		{key: "devices", title: "flat, 100 000 of 1000 devices that are trusted, with acks", generator: []string{"flat", "-n", "100000", "--devices", "1000"}, expect: 100_000, devices: 1000,
			figures: []figure{{"uplinks", rate, "/s", 80_000, true}}},
		{key: "rate", title: "8000/s for 10 s, with acks; published, flat at about that pace: 0.16 ms / 169 ms", generator: []string{"rate", "-r", "8000", "-n", "80000"},
			pacer: pace.Constant(8000), expect: 80_000,
			figures: []figure{{"response p50", p50, "ms", 0.5, false}, {"response p99", p99, "ms", 10, false}}},
		{key: "batch", title: "10 batches of 10 000, 1 s apart, with acks; published 406 ms", generator: []string{"batch", "-b", "10", "-n", "10000", "-d", "1s"}, expect: 100_000,
			figures: []figure{{"mean latency", mean, "ms", 80, false}}},
	}
}

// keys of the rows, in their order.
func keys() []string {
	list := []string{"functions"}
	for _, r := range rows() {
		list = append(list, r.key)
	}
	return append(list, "memory", "ready")
}

func (b *bench) wants(key string) bool { return slices.Contains(b.wanted, key) }

func (b *bench) run(ctx context.Context) error {
	paired.PrintEnvironment(b.out)
	if b.wants("functions") {
		if err := b.functions(ctx); err != nil {
			return err
		}
	}
	list := slices.DeleteFunc(rows(), func(r *row) bool { return !b.wants(r.key) })
	for range b.runs {
		for _, r := range list {
			result, err := demo.Run(ctx, b.config(r))
			if err != nil {
				return fmt.Errorf("row %s: %w", r.key, err)
			}
			if result.Lost > 0 || result.Unsolved > 0 {
				return fmt.Errorf("row %s: %d lost, %d unsolved: %s", r.key, result.Lost, result.Unsolved, result.LastError)
			}
			r.seen = append(r.seen, result)
		}
	}
	for _, r := range list {
		r.print(b.out)
	}
	if b.wants("memory") {
		if err := b.memory(ctx); err != nil {
			return err
		}
	}
	if b.wants("ready") {
		return b.ready(ctx)
	}
	return nil
}

func (b *bench) config(r *row) demo.Config {
	c := demo.Config{Self: []string{b.contend}, Redis: redisserver.Managed, Generator: r.generator,
		Sink: sink.Config{Seed: 1, Devices: r.devices, Expect: r.expect, NoAck: r.noAck, Pacer: r.pacer, Idle: 20 * time.Second}}
	switch {
	case r.noAck:
		c.Router = []string{"--no-trust-reduction", "--trust-start", "2"}
	case r.devices > 0:
		c.Router = []string{"--trust-start", "2"}
	}
	c.Generator = append(slices.Clone(c.Generator), "--seed", "1")
	return c
}

// print writes the medians of a row and what used the CPU.
func (r *row) print(w io.Writer) {
	if len(r.seen) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s (median of %d runs)\n", r.title, len(r.seen))
	for _, f := range r.figures {
		got, values := r.median(f.of), r.values(f.of)
		fmt.Fprintf(w, "  %s: %.4g %s [%.4g to %.4g], bar %s %.6g %s: %s\n", f.name, got, f.unit, slices.Min(values), slices.Max(values),
			map[bool]string{true: "≥", false: "≤"}[f.least], f.bar, f.unit, paired.Outcome(got == f.bar || f.least == (got >= f.bar)))
	}
	fmt.Fprint(w, "  CPU per uplink:")
	all := 0.0
	for i, p := range r.seen[0].Parts {
		each := r.median(func(d *demo.Result) float64 { return d.Parts[i].CPU.Seconds() * 1e6 / float64(d.Distinct) })
		all += each
		fmt.Fprintf(w, " %s %.2f µs,", p.Name, each)
	}
	busy := r.median(func(d *demo.Result) float64 {
		used := time.Duration(0)
		for _, p := range d.Parts {
			used += p.CPU
		}
		return used.Seconds() / d.Total.Seconds() / float64(runtime.NumCPU())
	})
	fmt.Fprintf(w, " together %.2f µs; %d cores were %.0f %% busy with it\n", all, runtime.NumCPU(), 100*busy)
	fmt.Fprintf(w, "  challenges of %d entries at first, %.3g on average; %.4g bytes per message\n", r.seen[0].FirstChallenge,
		r.seen[0].MeanChallenge, float64(r.seen[0].Bytes)/float64(r.seen[0].Uplinks))
}

func (r *row) values(of func(*demo.Result) float64) []float64 {
	var values []float64
	for _, result := range r.seen {
		values = append(values, of(result))
	}
	return values
}

func (r *row) median(of func(*demo.Result) float64) float64 { return paired.Median(r.values(of)) }

// functions shows the figures of single functions.
func (b *bench) functions(ctx context.Context) error {
	for _, f := range []struct{ pattern, room, bar string }{
		{"UplinkMIC$", "lorawan", "MIC with a prepared key: ≤ 150 ns, 0 allocations"},
		{"Solve$", "sink", "solving a challenge, parsing excluded: ≤ 10 µs at 4096 entries; published about 0.13 s"},
		{"Devices$/^(By(DevEUI|Addr|AddrWarm)|Unknown)$", "table", "look-up among 10 million devices, one alone and, Warm, those of a batch as the router does them: ≤ 200 ns, ≤ 100 bytes per device on top of the row; Unknown needs the first of the two accesses only"},
	} {
		fmt.Fprintln(b.out, "\n"+f.bar)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", f.pattern, "-benchmem", "-count", "3", "./systems/uplink/"+f.room)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", f.room, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "Benchmark") {
				fmt.Fprint(b.out, "  "+line)
			}
		}
	}
	return nil
}
