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
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/bare"
	"contend/bench/internal/paired"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		runBare(os.Args[2:])
		return
	}
	var b paired.Blocks
	b.Flags(2*time.Second, 12)
	names := flag.String("table", strings.Join(tableNames(), ","), "which tables")
	only := flag.Int("c", 0, "only the rows of so many connections; 0: all")
	paired.Main("http", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		return run(ctx, w, s, bench{b, *names, *only})
	})
}

// A bench is what the flags say.
type bench struct {
	paired.Blocks
	tables string
	only   int
}

func run(ctx context.Context, w io.Writer, s paired.Setup, b bench) error {
	seconds, err := b.Seconds()
	if err != nil {
		return err
	}
	server, err := startNginx(ctx, s.Dir)
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Fprintf(w, "%s with one worker, blocks of %v, %d rounds, each begun by another tool\n", server.version, b.Length, b.Rounds)
	paired.PrintEnvironment(w)
	for name := range strings.SplitSeq(b.tables, ",") {
		table, ok := tables[name]
		if !ok {
			return fmt.Errorf("-table %q is none of %s", name, strings.Join(tableNames(), ", "))
		}
		fmt.Fprintf(w, "\n%s: %s\n", name, table.title)
		for _, row := range table.rows {
			if b.only != 0 && row.connections != b.only {
				continue
			}
			x := table.with(row, server)
			x.seconds = seconds
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
	fmt.Fprintf(w, "%s\n", x)
	ours := contendTool(x)
	ours.Path = s.Contend
	paths, err := paired.FindAll(w, slices.DeleteFunc(slices.Clone(x.peers), func(name string) bool { return name == bareCommand }))
	if err != nil {
		return err
	}
	if paths[bareCommand], err = os.Executable(); err != nil {
		return err
	}
	tools := []paired.Tool{ours}
	for _, name := range x.peers {
		if path, ok := paths[name]; ok {
			tool := peerTools[name](x)
			tool.Name, tool.Path, tool.Version = name, path, name+" "+version(name, path)
			tools = append(tools, tool)
		}
	}
	return paired.Report(ctx, w, tools, b.Rounds, x.bars)
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
