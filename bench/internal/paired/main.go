package paired

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"contend/stat"
	"contend/subject"
)

// A Setup is what every benchmark of contend has: a binary of it and a folder
// that is removed at the end.
type Setup struct {
	Contend string
	Dir     string
}

// Main parses the flags, those of the benchmark and -contend, builds contend
// unless a binary is given, and runs the benchmark, which SIGINT ends. It ends
// the process if there is an error.
func Main(name string, run func(ctx context.Context, w io.Writer, s Setup) error) {
	var s Setup
	flag.StringVar(&s.Contend, "contend", "", "a binary of contend; empty builds ./cmd/contend")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, run); err != nil {
		stop()
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", name, err)
		os.Exit(1)
	}
}

func (s Setup) run(ctx context.Context, run func(ctx context.Context, w io.Writer, s Setup) error) (err error) {
	if s.Dir, err = os.MkdirTemp("", "contend-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(s.Dir)
	if s.Contend == "" {
		s.Contend = filepath.Join(s.Dir, "contend")
		if err := buildContend(ctx, s.Contend); err != nil {
			return err
		}
	}
	return run(ctx, os.Stdout, s)
}

// Only defines -only, a list of rows.
func Only() *string {
	return flag.String("only", "", "the rows to show, as in a,b; empty: all")
}

// Choose returns the names in a list such as a,c, which must be among all; all for "".
func Choose(flag, list string, all []string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-%s is %q; expected %s", flag, name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// Chosen returns those of all that -only names, in its order; all for "".
func Chosen[T any](only string, all []T, name func(T) string) ([]T, error) {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	wanted, err := Choose("only", only, names)
	if err != nil {
		return nil, err
	}
	var chosen []T
	for _, name := range wanted {
		chosen = append(chosen, all[slices.Index(names, name)])
	}
	return chosen, nil
}

// Outcome reports whether a bar was reached.
func Outcome(reached bool) string {
	if reached {
		return "reached"
	}
	return "MISSED"
}

// Counted writes how often something was seen, with the 95 % interval of its chance.
func Counted(hits, of int) string {
	low, high := stat.Binomial(hits, of, 0.95)
	return fmt.Sprintf("%d of %d (%.1f %% [%.1f, %.1f])", hits, of, 100*float64(hits)/float64(max(1, of)), 100*low, 100*high)
}

// Blocks are the flags of a comparison in blocks.
type Blocks struct {
	Length time.Duration
	Rounds int
}

// Flags defines -block and -rounds.
func (b *Blocks) Flags(length time.Duration, rounds int) {
	flag.DurationVar(&b.Length, "block", length, "length of a block in whole seconds")
	flag.IntVar(&b.Rounds, "rounds", rounds, "rounds of a block for each tool; at most 30 minutes a row")
}

// Seconds returns the length of a block, which peers take in whole seconds only.
func (b Blocks) Seconds() (int, error) {
	if b.Length < time.Second || b.Length%time.Second != 0 {
		return 0, fmt.Errorf("-block %v is not a number of whole seconds", b.Length)
	}
	return int(b.Length / time.Second), nil
}

// Serve starts a server, whose command contains {{addr}}, and returns once that
// address accepts connections. The server may use the CPUs given; none: all.
func Serve(ctx context.Context, cpus []int, command ...string) (address string, stop func(), err error) {
	server, err := subject.Start(ctx, subject.Config{Command: command, CPUs: cpus})
	if err != nil {
		return "", nil, err
	}
	return server.Addr(""), func() { _ = server.Stop(context.Background()) }, nil
}
