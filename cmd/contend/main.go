// Contend says which of two servers is faster, and whether the number can be trusted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"contend/internal/cli"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // a second signal ends the process at once
	os.Exit(cli.Main(ctx, os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
