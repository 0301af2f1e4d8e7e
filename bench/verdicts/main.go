// Verdicts measures how often contend's verdicts are right: the table in
// bench/README.md, on synthetic series with a known truth, on noise recorded on a
// real machine, and on real servers.
//
//	go run ./bench/verdicts
//	go run ./bench/verdicts -only a,c,d,e,h,l,m
//	go run ./bench/verdicts -only b -equal 50 -seed 2
//	go run ./bench/verdicts -only i,j,k -planted 30 -equal 100 -rounds 100
//	go run ./bench/verdicts -only n -soon 30 -results verdicts.jsonl -old OTHER/contend
//	go run ./bench/verdicts -only o -tails 30 -results tails.jsonl
//	go run ./bench/verdicts -record bench/verdicts/testdata/quiet.csv -lengths 50ms
//
// It takes about three minutes without the rows b, f, n and o, which drive real servers
// for about two hours, and i, j and k, which count instructions of real servers for an
// hour. The recall of the saturation detector has a command of its own, bench/saturation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"contend/bench/internal/paired"
	"contend/internal/perf"
)

func main() {
	if len(os.Args) == 4 && serve[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, serve[os.Args[1]](os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	b := &bench{progress: os.Stderr}
	b.only = paired.Only()
	flag.IntVar(&b.equal, "equal", 100, "comparisons of equal servers in the rows b and j")
	flag.IntVar(&b.planted, "planted", 30, "comparisons with a planted difference in the rows f and i")
	flag.IntVar(&b.rounds, "rounds", 100, "rounds of fresh servers in row k")
	flag.IntVar(&b.soon, "soon", 30, "comparisons of each kind in row n; 0: none, the table of -results alone")
	flag.StringVar(&b.old, "old", "", "an older contend that row n sets beside this one; empty: none")
	flag.IntVar(&b.tails, "tails", 30, "comparisons of each kind in row o, those of -results among them; 0: the table of -results alone")
	flag.StringVar(&b.results, "results", "", "a file to which the verdicts of row n, or of row o, are added, and whose earlier ones count; empty: none")
	flag.StringVar(&b.differences, "differences", "", "those of row n, as in 30%/equal; empty: all")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	b.lengths = flag.String("lengths", "", "comma-separated lengths of the blocks to record: 20ms, 50ms, 100ms; empty: all")
	record := flag.String("record", "", "record the noise of this machine in this file instead, which takes some 10 minutes")
	paired.Main("verdicts", func(ctx context.Context, w io.Writer, s paired.Setup) (err error) {
		b.out, b.contend = w, s.Contend
		if b.self, err = os.Executable(); err != nil {
			return err
		}
		if b.folder, err = os.MkdirTemp("", "verdicts"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
		return b.run(ctx, *record)
	})
}

// A bench is one run of the command.
type bench struct {
	only, lengths  *string
	equal, planted int
	rounds, soon   int
	tails          int
	old, results   string
	differences    string
	costs          map[string]float64 // of a request, by language and callers
	folder         string             // a temporary one
	seed           uint64
	out, progress  io.Writer
	contend, self  string // programs
}

// serve are the commands that make this program a server, whose address and work for
// each request follow.
var serve = map[string]func(address, work string) error{burnCommand: serveBurning, iterateCommand: serveIterating, workCommand: serveWorking, tailCommand: serveTail}

// rows are groups of figures that are measured together, by their keys.
var rows = map[string]func(ctx context.Context, b *bench) error{
	"a": falseAlarmsOnRecordedNoise,
	"b": falseAlarmsOnEqualServers,
	"c": foundInSimulation,
	"d": coverage,
	"e": widths,
	"f": foundOnUnequalServers,
	"h": steadiness,
	"i": foundByInstructions,
	"j": falseAlarmsOnInstructions,
	"k": undisturbed,
	"l": coveredTogether,
	"m": endedEarly,
	"n": dueSoon,
	"o": tails,
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
		err := rows[key](ctx, b)
		if unavailable := (*perf.UnavailableError)(nil); errors.As(err, &unavailable) {
			fmt.Fprintf(b.out, "%s  not measured: %v\n", key, unavailable)
			continue
		}
		if err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
		b.note("row %s took %v", key, time.Since(began).Round(time.Second))
	}
	return nil
}

// note prints the progress.
func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(b.progress, format+"\n", args...)
}
