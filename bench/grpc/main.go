// Grpc compares contend with other generators of gRPC load: unary calls per
// second of the generator's CPU, against contend's own counter.
//
//	go run ./bench/grpc
//	go run ./bench/grpc -table calls -rounds 20
//
// h2load sends prepared frames and does not read grpc-status; the others do. How
// it is measured is said in bench/internal/paired. h2load comes from the package
// nghttp2-client, ghz and k6 from go install; one that is missing is named.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
	var o options
	flag.StringVar(&o.tables, "table", "calls,connect", "which tables: calls (connections kept), connect (one for each call)")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block in whole seconds")
	flag.IntVar(&o.rounds, "rounds", 12, "rounds of a block for each tool; at most 30 minutes a row")
	flag.StringVar(&o.contend, "contend", "", "a binary of contend; empty builds ./cmd/contend")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench/grpc:", err)
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
	address, stop, err := serve(ctx, o.contend)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "unary calls of %s, blocks of %v, %d rounds, each begun by another tool\n", method, o.block, o.rounds)
	paired.PrintEnvironment(w)
	for name := range strings.SplitSeq(o.tables, ",") {
		rows, ok := tables[name]
		if !ok {
			return fmt.Errorf("-table %q is neither calls nor connect", name)
		}
		for _, x := range rows {
			x.dir, x.address, x.seconds = dir, address, int(o.block/time.Second)
			if err := o.row(ctx, w, x); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "\nload average now %s\n", paired.LoadAverage())
	return nil
}

// row compares contend with the peers of one row.
func (o options) row(ctx context.Context, w io.Writer, x work) error {
	fmt.Fprintf(w, "\n%s\n", x)
	ours := x.contend()
	ours.Path = o.contend
	var peers []paired.Tool
	for _, name := range x.peers {
		path, err := paired.Find(name)
		if errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(w, "  %s: not found on PATH, in ~/go/bin or in ~/.cargo/bin\n", name)
			continue
		}
		if err != nil {
			return err
		}
		tool, err := peerTools[name](x)
		if err != nil {
			return err
		}
		tool.Name, tool.Path, tool.Version = name, path, name+" "+version(path)
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

// serve starts the counter and returns once it accepts connections.
func serve(ctx context.Context, contend string) (address string, stop func(), err error) {
	if address, err = paired.FreeAddress(); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, contend, "serve", "counter", "--grpc", address, "--guard", "mutex")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return address, stop, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("contend serve counter does not listen on %s", address)
}
