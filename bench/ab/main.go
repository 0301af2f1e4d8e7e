// Ab measures whether contend ab and Apache Bench agree if the server is the
// bottleneck: transactions per second, and mean, median and 99th percentile of the
// latency.
//
//	go run ./bench/ab
//	go run ./bench/ab -work busy -burn 50us -c 50 -pairs 40
//
// Both get the same flags and take turns in short blocks against a server of
// this program that runs on one core: /delay responds after 5 ms, and /busy works
// for each response, so it is saturated. There the result includes what a client
// costs its server, which shows if the work is short. If taskset is installed, the
// server gets the first core and the generators the others.
// Latencies are read from the files of -e, since ab's tables have whole
// milliseconds only; the mean is that of their percentages, by the trapezoidal
// rule. On a machine with other work, run it by "chrt -r 1".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

// options are the flags.
type options struct {
	work        string
	connections int
	burn, block time.Duration
	pairs       int
	within      float64
	contend     string
}

// serverCommand makes this program the server.
const serverCommand = "serve"

func main() {
	if len(os.Args) == 4 && os.Args[1] == serverCommand {
		burn, _ := time.ParseDuration(os.Args[3]) // written below
		fmt.Fprintln(os.Stderr, listen(os.Args[2], burn))
		os.Exit(1)
	}
	var o options
	flag.StringVar(&o.work, "work", "delay,busy", "what the server does: delay (5 ms), busy")
	flag.DurationVar(&o.burn, "burn", 200*time.Microsecond, "work of /busy for each answer")
	flag.IntVar(&o.connections, "c", 20, "connections")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block, about")
	flag.IntVar(&o.pairs, "pairs", 20, "pairs of blocks for each work")
	flag.Float64Var(&o.within, "within", 0.03, "difference within which they agree")
	paired.Main("ab", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		o.contend = s.Contend
		return run(ctx, w, s.Dir, o)
	})
}

const delay = 5 * time.Millisecond

// listen serves on one core.
func listen(address string, burn time.Duration) error {
	runtime.GOMAXPROCS(1)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat("x", 61)) }
	mux.HandleFunc("/delay", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(delay)
		answer(w)
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		for start := time.Now(); time.Since(start) < burn; {
		}
		answer(w)
	})
	return http.ListenAndServe(address, mux)
}

func run(ctx context.Context, w io.Writer, dir string, o options) error {
	ab, err := paired.Find("ab")
	if err != nil {
		return fmt.Errorf("ab: %w (it is in the package apache2-utils or httpd-tools)", err)
	}
	taskset, _ := paired.Find("taskset")
	if runtime.NumCPU() < 2 {
		taskset = ""
	}
	var cpus []int // of the server
	if taskset != "" {
		cpus = []int{0}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	address, stop, err := paired.Serve(ctx, cpus, self, serverCommand, "{{addr}}", o.burn.String())
	if err != nil {
		return err
	}
	defer stop()
	paired.PrintEnvironment(w)
	pinned := "the server has the first core, the generators the others"
	if taskset == "" {
		pinned = "nothing is pinned, for there is no taskset or one core only"
	}
	fmt.Fprintf(w, "contend ab against ab, %d connections, blocks of about %v, %d pairs, who begins alternates; %s; busy works %v\n",
		o.connections, o.block, o.pairs, pinned, o.burn)
	for work := range strings.SplitSeq(o.work, ",") {
		b := bench{options: o, dir: dir, url: "http://" + address + "/" + work, taskset: taskset}
		if err := b.compare(ctx, w, work, ab); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "load average now %s\n", paired.LoadAverage())
	return nil
}
