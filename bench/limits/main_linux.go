// Limits measures what contend run needs and how punctual it is, against its own
// static server on loopback: start lag of the open model at 10 000/s, memory at 100
// and 10 000 connections, and the growth of memory in a long run.
//
//	go run ./bench/limits
//	go run ./bench/limits -growth 10m
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	var l limits
	flag.IntVar(&l.runs, "runs", 10, "runs at 10 000/s, of 3 s each")
	flag.DurationVar(&l.growth, "growth", time.Minute, "length of the run whose memory is watched")
	paired.Main("limits", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		l.contend = s.Contend
		return l.measure(ctx, w)
	})
}

type limits struct {
	contend string
	runs    int
	growth  time.Duration
}

func (l limits) measure(ctx context.Context, w io.Writer) error {
	address, stop, err := paired.Serve(ctx, nil, l.contend, "serve", "static", "--http", "{{addr}}", "--size", "61B", "--threads", "1")
	if err != nil {
		return err
	}
	defer stop()
	url := "http://" + address + "/"
	paired.PrintEnvironment(w)
	return errors.Join(l.lag(ctx, w, url), l.memory(ctx, w, url), l.grow(ctx, w, url))
}

func (l limits) lag(ctx context.Context, w io.Writer, url string) error {
	var p50, p99 []float64
	for range l.runs {
		out, err := paired.Output(exec.CommandContext(ctx, l.contend, "run", "--json", "-c", "50", "--rate", "10000", "-d", "3s", url), paired.Doubted)
		if err != nil {
			return err
		}
		if _, wrong, err := paired.CountContend(out); err != nil || wrong > 0 {
			return errors.Join(err, fmt.Errorf("%d wrong or missing answers", wrong))
		}
		var document struct {
			Results []struct {
				StartLag struct {
					P50 float64 `json:"p50"`
					P99 float64 `json:"p99"`
				} `json:"start_lag_ns"`
			}
		}
		if err := json.Unmarshal(out, &document); err != nil {
			return err
		}
		p50 = append(p50, document.Results[0].StartLag.P50/1000)
		p99 = append(p99, document.Results[0].StartLag.P99/1000)
	}
	fmt.Fprintf(w, "start lag at 10 000/s, 50 connections: p50 %.0f µs, p99 %.0f µs (medians of %d runs; p99 of each: %.0f); bar 200 µs\n",
		paired.Median(p50), paired.Median(p99), l.runs, p99)
	return nil
}

func (l limits) memory(ctx context.Context, w io.Writer, url string) error {
	for _, x := range []struct{ connections, bar int }{{100, 25}, {10_000, 200}} {
		cmd := exec.CommandContext(ctx, l.contend, "run", "-c", strconv.Itoa(x.connections), "-d", "5s", url)
		if _, err := paired.Output(cmd, paired.Doubted); err != nil {
			return err
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return errors.New("this system does not tell the memory of a process")
		}
		fmt.Fprintf(w, "memory at %d connections: at most %.1f MB resident; bar %d MB\n", x.connections, float64(usage.Maxrss)*1024/1e6, x.bar)
	}
	return nil
}

var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// grow prints the resident memory of one run at ten moments.
func (l limits) grow(ctx context.Context, w io.Writer, url string) error {
	cmd := exec.CommandContext(ctx, l.contend, "run", "-c", "100", "--rate", "5000", "-d", l.growth.String(), url)
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Fprintf(w, "memory over %v at 5000/s, 100 connections, in MB:", l.growth)
	for range 10 {
		select {
		case <-ctx.Done():
		case <-time.After(l.growth * 99 / 1000):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if found := resident.FindSubmatch(status); err == nil && found != nil {
			kB, _ := strconv.ParseFloat(string(found[1]), 64)
			fmt.Fprintf(w, " %.1f", kB*1024/1e6)
		}
	}
	fmt.Fprintln(w)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != paired.Doubted {
		return err
	}
	return nil
}
