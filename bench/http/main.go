// Http compares contend with other generators of HTTP load: requests per second
// of the generator's CPU, against nginx with one worker on loopback.
//
//	go run ./bench/http                     all tables
//	go run ./bench/http -table small,big -rounds 20
//
// How it is measured is said in bench/internal/paired. Peers come from packages
// (wrk, apache2-utils, nghttp2-client), go install (fortio, bombardier) and cargo
// install (oha); one that cannot be found is named.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"contend/bench/internal/bare"
	"contend/bench/internal/paired"
)

// options are the flags.
type options struct {
	tables  string
	block   time.Duration
	rounds  int
	contend string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		runBare(os.Args[2:])
		return
	}
	var o options
	flag.StringVar(&o.tables, "table", strings.Join(tableNames(), ","), "which tables")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block in whole seconds")
	flag.IntVar(&o.rounds, "rounds", 12, "rounds of a block for each tool; at most 30 minutes a row")
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
	if o.contend == "" {
		o.contend = filepath.Join(dir, "contend")
		if err := paired.BuildContend(ctx, o.contend); err != nil {
			return err
		}
	}
	server, err := startNginx(dir)
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Fprintf(w, "%s with one worker, blocks of %v, %d rounds, each begun by another tool\n", server.version, o.block, o.rounds)
	paired.PrintEnvironment(w)
	for name := range strings.SplitSeq(o.tables, ",") {
		table, ok := tables[name]
		if !ok {
			return fmt.Errorf("-table %q is none of %s", name, strings.Join(tableNames(), ", "))
		}
		fmt.Fprintf(w, "\n%s: %s\n", name, table.title)
		for _, row := range table.rows {
			if err := o.row(ctx, w, table.with(row, server)); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "\nload average now %s\n", paired.LoadAverage())
	return nil
}

// row compares contend with the peers of one row.
func (o options) row(ctx context.Context, w io.Writer, x work) error {
	fmt.Fprintf(w, "%s\n", x)
	x.seconds = int(o.block / time.Second)
	ours := contendTool(x)
	ours.Path = o.contend
	var peers []paired.Tool
	for _, name := range x.peers {
		tool := peerTools[name](x)
		var err error
		if tool.Path, err = find(name); errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(w, "  %s: not found on PATH, in ~/go/bin or in ~/.cargo/bin\n", name)
			continue
		} else if err != nil {
			return err
		}
		tool.Name, tool.Version = name, name+" "+version(name, tool.Path)
		peers = append(peers, tool)
	}
	comparisons, err := paired.Compare(ctx, ours, peers, o.rounds)
	if err != nil {
		return err
	}
	for _, c := range comparisons {
		c.Print(w, x.bars[c.Theirs.Name])
	}
	return nil
}

// bareCommand makes this program the bare loop, a process of its own like any
// other tool.
const bareCommand = "bare-loop"

func runBare(args []string) {
	f := flag.NewFlagSet(bareCommand, flag.ExitOnError)
	address := f.String("addr", "", "host:port")
	connections := f.Int("c", 1, "connections")
	d := f.Duration("d", time.Second, "how long")
	_ = f.Parse(args) // it exits
	n, err := bare.Run(*address, *connections, *d)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d answers\n", n)
}
