package paired

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

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
		if err := BuildContend(ctx, s.Contend); err != nil {
			return err
		}
	}
	return run(ctx, os.Stdout, s)
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
