package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"contend/bench/internal/foreign"
	"contend/bench/internal/paired"
)

// A known server is one whose knee is known.
type known struct {
	name    string
	knee    float64 // by construction; 0: it is measured (-truth)
	command func(ctx context.Context, b *bench) (string, error)
}

// knowns are the servers that are swept again and again. Of 8 at a time, 2 ms each, eight callers keep all busy and none
// waits. Where 1 ms of 4 is behind a lock, so do four.
var knowns = []known{
	{"pool", 8, own("-slots 8 -hold 2ms")},
	{"net/http", 0, own("-burn 20us")},
	{"lock", 4, own("-slots 1 -hold 1ms -before 3ms")},
	{"node", 0, otherwise("node", 20_000)},
	{"python", 0, otherwise("python, asyncio", 1_000)},
	{"nginx", 0, func(_ context.Context, b *bench) (string, error) {
		return fmt.Sprintf("%s %s {{addr}} %s", b.self, nginxCommand, b.dir), nil
	}},
}

// own is this program as a server.
func own(flags string) func(context.Context, *bench) (string, error) {
	return func(_ context.Context, b *bench) (string, error) {
		return fmt.Sprintf("%s %s %s {{addr}}", b.self, holdCommand, flags), nil
	}
}

func otherwise(name string, steps int64) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) { return foreign.Command(ctx, b.dir, name, steps) }
}

// The first words with which this program is something else than the benchmark.
const (
	holdCommand  = "hold"
	nginxCommand = "nginx"
)

// others are what follows them.
var others = map[string]func(args []string) error{holdCommand: serveHolding, nginxCommand: becomeNginx}

// serveHolding serves requests that sleep, take one of so many slots to sleep in, and keep a thread busy.
func serveHolding(args []string) error {
	f := flag.NewFlagSet(holdCommand, flag.ContinueOnError)
	slots := f.Int("slots", 1, "requests that hold at the same time")
	hold, before, burn := f.Duration("hold", 0, ""), f.Duration("before", 0, ""), f.Duration("burn", 0, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	free, answer := make(chan struct{}, *slots), make([]byte, 100)
	return http.ListenAndServe(f.Arg(0), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(*before)
		if *hold > 0 {
			free <- struct{}{}
			time.Sleep(*hold)
			<-free
		}
		for start := time.Now(); time.Since(start) < *burn; {
		}
		_, _ = w.Write(answer)
	}))
}

// becomeNginx replaces this process; an address and a folder follow.
func becomeNginx(args []string) error {
	dir, err := os.MkdirTemp(args[1], "nginx")
	if err != nil {
		return err
	}
	binary, config, err := paired.Nginx(fmt.Sprintf("server { listen %s backlog=1024; location / { return 200 '%s'; } }", args[0], paired.SmallBody), dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return err
	}
	return syscall.Exec(binary, []string{binary, "-p", dir, "-c", path, "-e", filepath.Join(dir, "error.log")}, os.Environ())
}
