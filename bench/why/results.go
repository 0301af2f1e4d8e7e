package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/trial"
	"contend/why"
	"contend/why/gotrace"
)

// A result is what one diagnosis said.
type result struct {
	Pair   string   `json:"pair"`
	Named  []string `json:"named,omitempty"` // what it names first: of waiting, of work
	Detail string   `json:"detail,omitempty"`
	AddsUp bool     `json:"adds_up"` // the named rows, within the interval of all
	// MoreCPU, Overhead and TraceOverhead are shares of the baseline's CPU time, and of the throughput.
	MoreCPU       float64       `json:"more_cpu"`
	Overhead      float64       `json:"overhead"`
	TraceOverhead float64       `json:"trace_overhead,omitempty"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Error         string        `json:"error,omitempty"`
}

func resultOf(d *trial.Diagnosis) (result, error) {
	if len(d.Explanations) == 0 {
		return result{}, errors.New(strings.Join(append(slices.Clone(d.Missing), d.Failed), "; "))
	}
	e := d.Explanations[0]
	sum := e.CPU.Value - e.Unnamed()
	return result{
		Named: said(e), Detail: inShort(e), AddsUp: sum >= e.CPU.Low && sum <= e.CPU.High,
		MoreCPU: e.CPU.Value / e.CPU.BaselineValue, Overhead: d.Overhead, TraceOverhead: d.TraceOverhead, Elapsed: d.Elapsed,
	}, nil
}

func inShort(e why.Explanation) string {
	text := fmt.Sprintf("CPU %+.0f ns [%.0f, %.0f], wait %+.0f ns [%.0f, %.0f]", e.CPU.Value, e.CPU.Low, e.CPU.High, e.Wait.Value, e.Wait.Low, e.Wait.High)
	for _, w := range e.Waits[:min(len(e.Waits), 4)] {
		text += fmt.Sprintf("; %+.0f ns %s in %s (%+.2g goroutines)", w.Value, w.For, w.Name, w.Goroutines.Value)
	}
	for _, b := range e.Blocked[:min(len(e.Blocked), 4)] {
		text += fmt.Sprintf("; %+.0f ns in %s", b.Value, b.Name)
	}
	for _, r := range e.Rows[:min(len(e.Rows), 4)] {
		text += fmt.Sprintf("; %+.0f ns %s (%s)", r.Value, r.Name, strings.Join(r.Functions, ", "))
	}
	return text
}

// said are the causes that an explanation names first, of work and of waiting.
func said(e why.Explanation) []string {
	var first []string
	switch {
	case len(e.Waits) > 0:
		first = append(first, string(e.Waits[0].For))
	case len(e.Blocked) > 0:
		first = append(first, e.Blocked[0].Name)
	case e.Wait.Excludes0():
		first = append(first, waiting)
	}
	if e.Processors[0] != e.Processors[1] {
		first = append(first, string(gotrace.Processor)) // a page says so, whether goroutines wait for one or not
	}
	if len(e.Rows) > 0 {
		first = append(first, e.Rows[0].Name)
	}
	return first
}

// right reports whether the cause was named first, or nothing of equal servers.
func (r result) right(p pair) bool {
	if p.equal() {
		return r.Error == "" && len(r.Named) == 0
	}
	return slices.ContainsFunc(r.Named, func(cause string) bool { return slices.Contains(p.kinds, cause) })
}

// barRuns are the runs for which the bars say how many have to be right.
const barRuns = 20

// write writes what the results of a pair add up to.
func (p pair) write(w io.Writer, all []result) {
	var runs, right, failed, adding int
	var more, overhead, traced, elapsed []float64
	for _, r := range all {
		if r.Pair != p.name {
			continue
		}
		runs++
		if r.right(p) {
			right++
		}
		if r.Error != "" {
			failed++
			continue
		}
		if r.AddsUp {
			adding++
		}
		more, overhead = append(more, 100*r.MoreCPU), append(overhead, 1-r.Overhead)
		traced, elapsed = append(traced, 1-r.TraceOverhead), append(elapsed, r.Elapsed.Seconds())
	}
	if runs == 0 {
		return
	}
	what, least := "first", 18
	if p.equal() {
		what, least = "nothing named", 19
	}
	outcome := paired.Outcome(right*barRuns >= runs*least)
	if runs < barRuns {
		outcome = fmt.Sprintf("too few for the bar of %d of %d", least, barRuns)
	}
	fmt.Fprintf(w, "%-13s  %s %s, %s; rows add up within the interval in %d; %d failed\n", p.name, what, paired.Counted(right, runs), outcome, adding, failed)
	if runs > failed {
		fmt.Fprintf(w, "%15smedians: CPU an operation %+.1f %%; throughput %.3f while sampled", "", paired.Median(more), paired.Median(overhead))
		if slices.Min(traced) < 1 {
			fmt.Fprintf(w, ", %.3f while traced", paired.Median(traced))
		}
		fmt.Fprintf(w, ", of that before; %.0f s a diagnosis\n", paired.Median(elapsed))
	}
}
