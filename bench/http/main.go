// Http compares contend with other generators of HTTP load: requests per second
// of the generator's CPU, against nginx with one worker on loopback.
//
//	go run ./bench/http                     all tables
//	go run ./bench/http -table small,big -rounds 20
//
// Package bench/internal/paired has the method. Peers come from packages (wrk,
// apache2-utils, nghttp2-client), go install (fortio, bombardier) and cargo install
// (oha); missing ones are named.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"contend/bench/internal/bare"
	"contend/bench/internal/paired"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		runBare(os.Args[2:])
		return
	}
	var c paired.Comparison
	c.Flags()
	paired.Main("http", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		seconds, err := c.Seconds()
		if err != nil {
			return err
		}
		server, err := startNginx(ctx)
		if err != nil {
			return err
		}
		defer server.stop()
		fmt.Fprintf(w, "%s with one worker, ", server.version)
		return c.Print(ctx, w, server.tables(s.Contend, seconds))
	})
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
