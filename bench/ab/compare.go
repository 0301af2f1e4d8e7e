package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"contend/bench/internal/paired"
)

// A bench is the options with what they lead to.
type bench struct {
	options
	dir, url, taskset string
	requests          int // of a block
}

// metrics are what is compared, in this order.
var metrics = [...]string{"TPS", "mean", "median", "p99"}

// figures are those of one block.
type figures [len(metrics)]float64

// compare runs the pairs of one work and prints what they gave.
func (b *bench) compare(ctx context.Context, w io.Writer, work, ab string) error {
	b.requests = 20 * b.connections
	tools := [][]string{{b.contend, "ab"}, {ab}}
	first, err := b.measure(ctx, tools[0]) // also a warm-up
	if err != nil {
		return err
	}
	b.requests = max(b.requests, int(first[0]*b.block.Seconds()))
	blocks, err := paired.Alternate(len(tools), b.pairs, func(which int) (figures, error) {
		return b.measure(ctx, tools[which])
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %d requests a block\n", work, b.requests)
	for i, metric := range metrics {
		r, err := paired.NewRatio(column(blocks[0], i), column(blocks[1], i))
		if err != nil {
			return err
		}
		verdict := fmt.Sprintf("not shown to be within %.0f %%", 100*b.within)
		if r.Bounded() && r.Low >= 1-b.within && r.High <= 1+b.within {
			verdict = fmt.Sprintf("is within %.0f %%", 100*b.within)
		}
		fmt.Fprintf(w, "  %-7s medians %9.3f and %9.3f, %s\n", metric, paired.Median(r.Ours), paired.Median(r.Theirs), r.Report(verdict))
	}
	return nil
}

func column(blocks []figures, i int) []float64 {
	var values []float64
	for _, f := range blocks {
		values = append(values, f[i])
	}
	return values
}

var (
	perSecond = regexp.MustCompile(`(?m)^Requests per second: +([\d.]+)`)
	allRight  = regexp.MustCompile(`(?m)^Failed requests: +0$`)
)

// measure runs one block.
func (b *bench) measure(ctx context.Context, tool []string) (figures, error) {
	file := filepath.Join(b.dir, "served.csv")
	args := append(tool, "-q", "-k", "-n", strconv.Itoa(b.requests), "-c", strconv.Itoa(b.connections), "-e", file, b.url)
	if b.taskset != "" {
		args = append([]string{b.taskset, "-c", "1-" + strconv.Itoa(runtime.NumCPU()-1)}, args...)
	}
	report, err := paired.Output(exec.CommandContext(ctx, args[0], args[1:]...))
	if err != nil {
		return figures{}, err
	}
	tps := perSecond.FindSubmatch(report)
	if tps == nil || !allRight.Match(report) {
		return figures{}, fmt.Errorf("%s: failed requests, or another report than ab's:\n%s", tool[0], report)
	}
	var f figures
	if f[0], err = strconv.ParseFloat(string(tps[1]), 64); err != nil {
		return f, err
	}
	served, err := readServed(file)
	if err != nil {
		return f, err
	}
	for p := range 100 {
		f[1] += (served[p] + served[p+1]) / 2 / 100
	}
	f[2], f[3] = served[50], served[99]
	return f, nil
}

// readServed reads a file of -e: milliseconds by percentage, 0 to 100.
func readServed(path string) ([]float64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) != 102 {
		return nil, fmt.Errorf("%s has %d lines; expected 102: %w", path, len(records), err)
	}
	var served []float64
	for _, r := range records[1:] {
		ms, err := strconv.ParseFloat(r[1], 64)
		if err != nil {
			return nil, err
		}
		served = append(served, ms)
	}
	return served, nil
}
