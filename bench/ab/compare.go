package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"contend/bench/internal/paired"
	"contend/stat"
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
	us, them := []string{b.contend, "ab"}, []string{ab}
	first, err := b.measure(ctx, us) // also a warm-up
	if err != nil {
		return err
	}
	b.requests = max(b.requests, int(first[0]*b.block.Seconds()))
	var ours, theirs []figures
	for i := range b.pairs {
		tools := [2][]string{us, them}
		if i%2 == 1 {
			tools = [2][]string{them, us}
		}
		var pair [2]figures
		for j, tool := range tools {
			if pair[j], err = b.measure(ctx, tool); err != nil {
				return err
			}
		}
		if i%2 == 1 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		ours, theirs = append(ours, pair[0]), append(theirs, pair[1])
	}
	fmt.Fprintf(w, "%s, %d requests a block, n = %d\n", work, b.requests, b.pairs)
	for i, metric := range metrics {
		if err := b.print(w, metric, column(ours, i), column(theirs, i)); err != nil {
			return err
		}
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

func (b *bench) print(w io.Writer, metric string, ours, theirs []float64) error {
	var logs []float64
	for i := range ours {
		logs = append(logs, math.Log(ours[i]/theirs[i]))
	}
	effect, err := stat.Paired(logs, 0.95)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %-7s medians %9.3f and %9.3f, ratio %.4f", metric, paired.Median(ours), paired.Median(theirs), effect.Ratio)
	if effect.Bounded() {
		agree := "not shown to be"
		if effect.Low >= 1-b.within && effect.High <= 1+b.within {
			agree = "is"
		}
		fmt.Fprintf(w, " [%.4f, %.4f] (%.1f %%): %s within %.0f %%", effect.Low, effect.High, 100*effect.Confidence, agree, 100*b.within)
	}
	fmt.Fprintln(w)
	for _, warning := range effect.Warnings {
		fmt.Fprintf(w, "  %s: warning: %s\n", metric, warning.Text)
	}
	return nil
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
	report, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return figures{}, fmt.Errorf("%s: %w", tool[0], err)
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
		return nil, fmt.Errorf("%s: %d lines, want 102: %w", path, len(records), err)
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
