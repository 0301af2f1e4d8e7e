// Verdicts shows how often the verdicts of contend are right: each figure of
// the table about them in docs/benchmarks.md, on synthetic series whose truth is
// known, on noise recorded on a real machine, and on real servers.
//
//	go run ./bench/verdicts
//	go run ./bench/verdicts -only a,c,d,e,h
//	go run ./bench/verdicts -only b -equal 50 -seed 2
//	go run ./bench/verdicts -record bench/verdicts/testdata/noise.csv
//
// Without the rows b and f, which drive real servers for some 35 minutes, it
// takes about a minute. The recall of the saturation detector has a command of
// its own, bench/saturation.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == serveCommand {
		burn, _ := time.ParseDuration(os.Args[3]) // written by burning
		fmt.Fprintln(os.Stderr, serveBurning(os.Args[2], burn))
		os.Exit(1)
	}
	b := &bench{progress: os.Stderr}
	b.only = paired.Only()
	flag.IntVar(&b.equal, "equal", 100, "comparisons of equal servers in row b")
	flag.IntVar(&b.planted, "planted", 30, "comparisons with a planted difference in row f")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	record := flag.String("record", "", "record the noise of this machine in this file instead, which takes some 7 minutes")
	paired.Main("verdicts", func(ctx context.Context, w io.Writer, s paired.Setup) (err error) {
		b.out, b.contend = w, s.Contend
		if b.self, err = os.Executable(); err != nil {
			return err
		}
		return b.run(ctx, *record)
	})
}

// A bench is one run of the command.
type bench struct {
	only           *string
	equal, planted int
	seed           uint64
	out, progress  io.Writer
	contend, self  string // programs
}

// rows are groups of figures that are measured together, by their keys.
var rows = map[string]func(ctx context.Context, b *bench) error{
	"a": falseAlarmsOnRecordedNoise,
	"b": falseAlarmsOnEqualServers,
	"c": foundInSimulation,
	"d": coverage,
	"e": widths,
	"f": foundOnUnequalServers,
	"h": steadiness,
}

func (b *bench) run(ctx context.Context, record string) error {
	wanted, err := paired.Choose("only", *b.only, slices.Sorted(maps.Keys(rows)))
	if err != nil {
		return err
	}
	if record != "" {
		return b.record(ctx, record)
	}
	paired.PrintEnvironment(b.out)
	fmt.Fprintf(b.out, "seed %d; brackets hold 95 %% intervals, of a count those of Clopper and Pearson\n", b.seed)
	for _, key := range wanted {
		began := time.Now()
		if err := rows[key](ctx, b); err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
		b.note("row %s took %v", key, time.Since(began).Round(time.Second))
	}
	return nil
}

// note tells the one who waits how far it is.
func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(b.progress, format+"\n", args...)
}
