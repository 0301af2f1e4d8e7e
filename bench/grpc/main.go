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
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	var b paired.Blocks
	b.Flags(2*time.Second, 12)
	names := flag.String("table", "calls,connect", "which tables: calls (connections kept), connect (one for each call)")
	paired.Main("grpc", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		return run(ctx, w, s, bench{b, *names})
	})
}

// A bench is what the flags say.
type bench struct {
	paired.Blocks
	tables string
}

func run(ctx context.Context, w io.Writer, s paired.Setup, b bench) error {
	seconds, err := b.Seconds()
	if err != nil {
		return err
	}
	address, err := paired.FreeAddress()
	if err != nil {
		return err
	}
	stop, err := paired.Serve(ctx, address, s.Contend, "serve", "counter", "--grpc", address, "--guard", "mutex")
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "unary calls of %s, blocks of %v, %d rounds, each begun by another tool\n", method, b.Length, b.Rounds)
	paired.PrintEnvironment(w)
	for name := range strings.SplitSeq(b.tables, ",") {
		rows, ok := tables[name]
		if !ok {
			return fmt.Errorf("-table %q is neither calls nor connect", name)
		}
		for _, x := range rows {
			x.dir, x.address, x.seconds = s.Dir, address, seconds
			if err := b.row(ctx, w, s, x); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "\nload average now %s\n", paired.LoadAverage())
	return nil
}

// row compares contend with the peers of one row.
func (b bench) row(ctx context.Context, w io.Writer, s paired.Setup, x work) error {
	fmt.Fprintf(w, "\n%s\n", x)
	ours := x.contend()
	ours.Path = s.Contend
	paths, err := paired.FindAll(w, x.peers)
	if err != nil {
		return err
	}
	tools := []paired.Tool{ours}
	for _, name := range x.peers {
		path, ok := paths[name]
		if !ok {
			continue
		}
		tool, err := peerTools[name](x)
		if err != nil {
			return err
		}
		tool.Name, tool.Path, tool.Version = name, path, name+" "+version(path)
		tools = append(tools, tool)
	}
	return paired.Report(ctx, w, tools, b.Rounds, x.bars)
}
