// Sweeps compares the adaptive sweep with an exhaustive one: the throughput at the
// recommended concurrency with the best, the runs that both need, and how often the
// interval of the optimum contains the true one.
//
//	go run ./bench/sweeps
//	go run ./bench/sweeps -servers 3000 -real=false
//
// The exhaustive sweep has every whole number up to 20, then steps of 5 %, up to the
// highest level of the adaptive sweep, with as many visits each. Simulated servers
// follow the law with 3 % noise, so the best is known. On real ones both
// recommendations are measured again, side by side, because the highest of many numbers
// is a lucky one. The simulated bars must hold anywhere, the real ones need a quiet
// machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	b := &bench{}
	flag.IntVar(&b.servers, "servers", 1000, "simulated servers")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	flag.BoolVar(&b.real, "real", true, "sweep the counter and nginx, too")
	flag.DurationVar(&b.block, "block", 300*time.Millisecond, "real servers: measured length of a visit")
	flag.IntVar(&b.limit, "limit", 128, "real servers: highest level")
	paired.Main("sweeps", b.run)
}

type bench struct {
	servers, limit int
	seed           uint64
	real           bool
	block          time.Duration
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	paired.PrintEnvironment(w)
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
	if err := b.knees(w); err != nil || !b.real {
		return err
	}
	return b.realServers(ctx, w, s)
}

func bar(w io.Writer, reached bool, format string, args ...any) {
	fmt.Fprintf(w, format+": %s\n", append(args, paired.Outcome(reached))...)
}
