// Script runs k6 scripts with k6 and with contend.
//
//	go run ./bench/script -same                       does contend do what k6 does?
//	go run ./bench/script -same -only login,cookies
//	go run ./bench/script -same -self                 does k6 do the same twice?
//	go run ./bench/script -same -scripts DIR          scripts of others, against a server that answers anything
//	go run ./bench/script                             iterations per second of the generator's CPU
//	go run ./bench/script -table get -rounds 20
//	go run ./bench/script -planted 20                 does a comparison by a script name the slower request?
//	go run ./bench/script -serve 127.0.0.1:8080       the scripts' server, to try them
//
// With -same each script of testdata runs once with either tool, against a server that
// records requests. Requests in the order of each virtual user, iterations, checks,
// thresholds and the exit are compared. What k6 does is observed, not written down. The
// tables are measured as in bench/internal/paired; idle is memory per virtual user. k6
// comes from go install go.k6.io/k6@v1.8.1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"contend/bench/internal/paired"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == workCommand {
		if err := serveWork(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var c paired.Comparison
	c.Flags()
	alike := flag.Bool("same", false, "compare what the tools do, not what it costs")
	only := flag.String("only", "", "with -same: the scripts to run, as in login,cookies; empty: all")
	others := flag.String("scripts", "", "with -same: a folder of other scripts than testdata; without k6 contend alone runs them")
	self := flag.Bool("self", false, "put k6 in the place of contend, too: what differs then, differs by chance")
	times := flag.Int("planted", 0, "only compare so often servers of which one does 5 % more, in one request of five, and equal ones")
	serve := flag.String("serve", "", "only serve what the scripts ask, at this address, and print what is asked")
	paired.Main("script", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		if *serve != "" {
			return show(ctx, w, *serve)
		}
		if *times > 0 {
			return planted(ctx, w, s.Contend, *times)
		}
		t, err := find(s.Contend, *self)
		switch {
		case *alike && *others != "":
			return sameStrangers(ctx, w, t, *others) // without k6 what contend does
		case err != nil:
			return err
		case *alike && *only == "":
			return same(ctx, w, t, nil)
		case *alike:
			return same(ctx, w, t, strings.Split(*only, ","))
		}
		return speed(ctx, w, t, &c)
	})
}

// find returns both tools, k6 twice if self is set.
func find(binary string, self bool) (tools, error) {
	peer := paired.Tool{Name: "k6"}
	path, err := paired.Find(peer.Name)
	if err != nil {
		return tools{ours: contend(binary)}, fmt.Errorf("k6: %w; go install go.k6.io/k6@v1.8.1 has it", err)
	}
	peer.Path = path
	t := tools{contend(binary), k6(path), peer.Version(), binary}
	if self {
		t.ours = t.theirs
	}
	return t, nil
}

// show serves until ctx is done and prints each request.
func show(ctx context.Context, w io.Writer, address string) error {
	rec := &recorder{each: func(r request) { fmt.Fprintln(w, r) }}
	server := newServer(rec, service())
	server.Addr = address
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	fmt.Fprintf(w, "BASE=http://%s\n", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
