// Http compares contend with other generators of HTTP load: requests per
// second of the generator's CPU, against nginx with one worker on loopback.
//
//	go run ./bench/http
//	go run ./bench/http -work big -c 100 -peers fortio,ab -pairs 20
//
// How it is measured is said in bench/internal/paired.
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

	"contend/bench/internal/paired"
)

// options are the flags.
type options struct {
	work        string
	connections int
	block       time.Duration
	pairs       int
	peers       string
	contend     string
}

func main() {
	var o options
	flag.StringVar(&o.work, "work", "small", "what is asked for: small (61 bytes), big (130 kB) or connect (small, a new connection for each request)")
	flag.IntVar(&o.connections, "c", 50, "connections")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block in whole seconds")
	flag.IntVar(&o.pairs, "pairs", 10, "pairs of blocks for each peer")
	flag.StringVar(&o.peers, "peers", "fortio,wrk,ab", "whom to compare with: fortio, wrk, ab, h2load")
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
	path, ok := paths[o.work]
	if !ok {
		return fmt.Errorf("-work %q is none of small, big, connect", o.work)
	}
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
	b := bench{options: o, url: "http://" + server.address + path}
	us, _ := b.tool(contend)
	us.Path = o.contend
	fmt.Fprintf(w, "%s against %s, %d connections, blocks of %v, %d pairs\n", o.work, server.version, o.connections, o.block, o.pairs)
	paired.PrintEnvironment(w)
	for _, name := range strings.Split(o.peers, ",") {
		peer, err := b.find(name)
		if errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(w, "%s: not found on PATH or in ~/go/bin\n", name)
			continue
		}
		if err != nil {
			return err
		}
		c, err := paired.Compare(ctx, us, peer, b.pairs)
		if err != nil {
			return err
		}
		c.Print(w)
	}
	fmt.Fprintf(w, "load average now %s\n", paired.LoadAverage())
	return nil
}
