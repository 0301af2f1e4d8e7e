// Verdicts counts how often contend compare is right on real servers: two
// equal servers must rarely be told apart, and a server that works 25 % longer
// per request must always be found.
//
//	go run ./bench/verdicts
//	go run ./bench/verdicts -equal 100 -slower 0
//
// The equal servers are contend's counter under atomic, against itself. The
// unequal ones burn a fixed time per request, the candidate 25 % more. Every
// comparison starts the servers afresh in each of its rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/report"
	"contend/stat"
)

const (
	burn   = 40 * time.Microsecond
	slower = 1.25
)

func main() {
	equal := flag.Int("equal", 30, "comparisons of the counter with itself")
	unequal := flag.Int("slower", 10, "comparisons with a server that works 25 % longer")
	serve := flag.String("serve", "", "serve on this address instead, burning -burn per request")
	each := flag.Duration("burn", burn, "time that the server works for a request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serve != "" {
		err = fasthttp.ListenAndServe(*serve, func(*fasthttp.RequestCtx) { work(*each) })
	} else {
		err = run(ctx, os.Stdout, *equal, *unequal)
	}
	if err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench/verdicts:", err)
		os.Exit(1)
	}
}

func work(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

func run(ctx context.Context, w io.Writer, equal, unequal int) error {
	dir, err := os.MkdirTemp("", "contend-verdicts-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contend := filepath.Join(dir, "contend")
	build := exec.CommandContext(ctx, "go", "build", "-o", contend, "./cmd/contend")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build contend, which needs the project's root as working directory: %w", err)
	}
	me, err := os.Executable()
	if err != nil {
		return err
	}
	paired.PrintEnvironment(w)
	counter := contend + " serve counter --http {{addr}}"
	if err := repeat(ctx, w, equal, "equal servers", counter, counter, "http://{{addr}}/status/atomic"); err != nil {
		return err
	}
	server := me + " -serve {{addr}} -burn "
	longer := time.Duration(slower * float64(burn))
	return repeat(ctx, w, unequal, "25 % more work per request", server+burn.String(), server+longer.String(), "http://{{addr}}/")
}

// repeat runs n comparisons and counts their verdicts.
func repeat(ctx context.Context, w io.Writer, n int, title, baseline, candidate, url string) error {
	counts := map[stat.Verdict]int{}
	for i := range n {
		c, err := compare(ctx, uint64(i+1), baseline, candidate, url)
		if err != nil {
			return err
		}
		counts[c.Verdict]++
		fmt.Fprintf(w, "%s %d of %d: %s, ratio %.3f [%.3f, %.3f], p %.3f\n", title, i+1, n, c.Verdict, c.Ratio, c.Low, c.High, c.P)
		if c.Reason != nil {
			fmt.Fprintf(w, "  %s: %s\n", c.Reason.Code, c.Reason.Text)
		}
	}
	fmt.Fprintf(w, "%s: %v\n", title, counts)
	return nil
}

func compare(ctx context.Context, seed uint64, baseline, candidate, url string) (report.Comparison, error) {
	f := &experiment.File{ID: "verdicts", Title: "verdicts", Subjects: map[string]experiment.Subject{
		"baseline": {Command: baseline}, "candidate": {Command: candidate},
	}}
	f.Target.URL = url
	f.Load = experiment.Load{VUs: []int{20}, Duration: 100 * time.Millisecond, Warmup: 200 * time.Millisecond, Timeout: 5 * time.Second}
	f.Compare.Baseline = "baseline"
	if err := f.Validate(); err != nil {
		return report.Comparison{}, err
	}
	doc := new(report.Document)
	if err := f.Run(ctx, experiment.Options{Seed: seed}, doc); err != nil {
		return report.Comparison{}, err
	}
	if len(doc.Comparisons) == 0 {
		return report.Comparison{}, fmt.Errorf("no comparison came of it")
	}
	return doc.Comparisons[0], nil
}
