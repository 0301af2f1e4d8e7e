// Sweeps compares the adaptive sweep with an exhaustive one: the throughput at the
// recommended concurrency with the best, the runs that both need, and how often the
// interval of the optimum contains the true one.
//
//	go run ./bench/sweeps
//	go run ./bench/sweeps -servers 3000
//	go run ./bench/sweeps -repeated 20 -results sweeps.jsonl
//	go run ./bench/sweeps -repeated 10 -results sweeps.jsonl -busy -only node,lock
//	go run ./bench/sweeps -truth 15m
//
// The exhaustive sweep has every whole number up to 20, then steps of 5 %, up to the
// highest level of the adaptive sweep, with as many visits each. Simulated servers
// follow the law with 3 % noise, so the best is known.
//
// -repeated sweeps six servers so often with contend's defaults instead, and counts how
// many of the recommendations are right and how many intervals hold the knee. It goes on
// where -results ends. The knee is known by construction, or from -truth, which measures
// the curve of each other server for so long and adds its knee to a file.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	paired.Spin()
	if len(os.Args) > 1 && others[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, others[os.Args[1]](os.Args[2:]))
		os.Exit(1)
	}
	b := &bench{only: paired.Only()}
	flag.IntVar(&b.servers, "servers", 1000, "simulated servers")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	flag.IntVar(&b.repeated, "repeated", 0, "sweeps of each of the six servers, those of -results among them; 0: none")
	flag.StringVar(&b.results, "results", "", "a file to which repeated sweeps are added, and whose earlier ones count; empty: none")
	flag.BoolVar(&b.busy, "busy", false, "repeat the sweeps while another process keeps a processor busy")
	flag.DurationVar(&b.truth, "truth", 0, "how long to measure each of the servers whose knee is not known by construction; 0: not at all")
	flag.StringVar(&b.truthFile, "truths", "bench/sweeps/truth.jsonl", "the file of what -truth measured")
	paired.Main("sweeps", b.run)
}

type bench struct {
	servers            int
	seed               uint64
	repeated           int
	busy               bool
	truth              time.Duration
	only               *string
	results, truthFile string
	contend, self, dir string // programs, and a temporary folder
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	paired.PrintEnvironment(w)
	b.contend, b.dir = s.Contend, s.Dir
	if b.truth > 0 || b.repeated > 0 || b.results != "" {
		return b.knownServers(ctx, w)
	}
	fmt.Fprintf(w, "seed %d, %d simulated servers, %.0f %% noise, %d visits\n\n", b.seed, b.servers, 100*noise, visits)
	t, err := simulate(b.servers, b.seed)
	if err != nil {
		return err
	}
	share, low, high := t.coverage()
	bar(w, t.good == t.servers, "recommended ≥ %.0f %% of the best throughput: %d of %d servers, the worst %.1f %%",
		100*goodness, t.good, t.servers, 100*t.worst)
	bar(w, t.mostRuns <= runShare, "runs ≤ 1/3 of an exhaustive sweep: at most %.3f of them, %.3f in all", t.mostRuns,
		float64(t.runs)/float64(t.exhaustive))
	bar(w, share >= covered, "95 %% interval of the optimum covers it in ≥ %.0f %%: %d of %d (%.1f %% [%.1f, %.1f]); %d sweeps show no peak",
		100*covered, t.held, t.peaks, 100*share, 100*low, 100*high, t.servers-t.peaks)
	return b.knees(w)
}

// knownServers measures what is asked for of the six servers.
func (b *bench) knownServers(ctx context.Context, w io.Writer) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.truth > 0 {
		return b.measureTruths(ctx, w)
	}
	return b.sweptAgain(ctx, w)
}

func bar(w io.Writer, reached bool, format string, args ...any) {
	fmt.Fprintf(w, format+": %s\n", append(args, paired.Outcome(reached))...)
}
