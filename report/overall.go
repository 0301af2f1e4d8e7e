package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// overall says for each candidate and level all metrics in one sentence.
func overall(v *view, list []trial.Comparison) {
	var sentences []string
	for i := 0; i < len(list); {
		n := i + 1
		for n < len(list) && list[n].Candidate == list[i].Candidate && list[n].Concurrency == list[i].Concurrency {
			n++
		}
		if n-i > 1 {
			sentences = append(sentences, inAll(list[i:n]))
		}
		for _, c := range list[i:n] {
			if c.Factors != nil {
				sentences = append(sentences, inFactors(c))
			}
		}
		i = n
	}
	if len(sentences) > 0 {
		v.say("All metrics together:")
	}
	for _, s := range sentences {
		v.bullet("%s", s)
	}
}

// inAll is the sentence over the metrics of one candidate at one level: inputq
// against mutex at concurrency 10: 7.1% more throughput at 30.0% more server CPU per
// op; response time p99 inconclusive.
func inAll(list []trial.Comparison) string {
	var parts []string
	if text := differing(list); text != "" {
		parts = append(parts, text)
	}
	add := func(verdict stat.Verdict, what string) {
		if names := namesWith(list, verdict); names != "" {
			parts = append(parts, names+" "+what)
		}
	}
	for _, alike := range byMargin(list) {
		if names := namesWith(alike, stat.Equivalent); names != "" {
			parts = append(parts, fmt.Sprintf("%s the same within ±%.3g%%", names, 100*alike[0].Margin))
		}
	}
	add(stat.Inconclusive, "inconclusive")
	add(stat.Invalid, "INVALID ("+strings.Join(codesOf(list), ", ")+")")
	c := list[0]
	return fmt.Sprintf("%s against %s %s: %s", c.Candidate, c.Baseline, atConcurrency(c.Concurrency), strings.Join(parts, "; "))
}

// inFactors says what the CPU time of an operation is made of, what moved first.
func inFactors(c trial.Comparison) string {
	var moved, others []string
	for _, f := range []struct {
		what   string
		effect stat.Effect
	}{
		{"instructions", c.Factors.Instructions}, {"cycles per instruction", c.Factors.CyclesPerInstruction},
		{"time per cycle", c.Factors.TimePerCycle},
	} {
		if f.effect.P <= f.effect.Level {
			moved = append(moved, fmt.Sprintf("%s %s (%s … %s)", f.what, percent(f.effect.Ratio), percent(f.effect.Low), percent(f.effect.High)))
		} else {
			others = append(others, f.what)
		}
	}
	text := fmt.Sprintf("%s against %s %s: CPU per op %s", c.Candidate, c.Baseline, atConcurrency(c.Concurrency), percent(c.Ratio))
	if len(moved) > 0 {
		text += " = " + strings.Join(moved, " × ")
	}
	if len(others) > 0 {
		text += "; " + enumerated(others) + " inconclusive"
	}
	return text
}

// byMargin groups comparisons by what counts as the same, in the order of their
// first.
func byMargin(list []trial.Comparison) [][]trial.Comparison {
	var groups [][]trial.Comparison
	for _, c := range list {
		i := slices.IndexFunc(groups, func(g []trial.Comparison) bool { return g[0].Margin == c.Margin })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// differing lists what differs, what is gained or lost at which expense first.
func differing(list []trial.Comparison) string {
	var speed, amounts, others []string
	for _, c := range list {
		size := strings.TrimSpace(fmt.Sprintf("%.1f%%", 100*math.Abs(c.Ratio-1)))
		if low, high := math.Abs(c.Low-1), math.Abs(c.High-1); c.Metric.Kind() == metric.Events {
			size += fmt.Sprintf(" (%.1f%% to %.1f%%)", 100*min(low, high), 100*max(low, high))
		}
		switch more := c.Ratio > 1; {
		case !slices.Contains([]stat.Verdict{stat.Faster, stat.Slower, stat.More, stat.Less}, c.Verdict):
		case c.Metric.Kind() == metric.Time:
			others = append(others, fmt.Sprintf("%s %s %s", c.Metric.Words(), size, either(more, "longer", "shorter")))
		case c.Metric.Kind() == metric.Rate:
			speed = append(speed, fmt.Sprintf("%s %s %s", size, either(more, "more", "less"), c.Metric.Words()))
		default:
			words := ofServers(c.Metric)
			amounts = append(amounts, fmt.Sprintf("%s %s %s", size, either(more, words.more, words.less), c.Metric.Words()))
		}
	}
	text := strings.Join(speed, ", ")
	if text != "" && len(amounts) > 0 {
		text += " at "
	}
	text += enumerated(amounts)
	if text != "" && len(others) > 0 {
		text += "; "
	}
	return text + strings.Join(others, ", ")
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// namesWith lists the metrics with this verdict.
func namesWith(list []trial.Comparison, verdict stat.Verdict) string {
	var names []string
	for _, c := range list {
		if c.Verdict == verdict {
			names = append(names, c.Metric.Words())
		}
	}
	return enumerated(names)
}

// enumerated joins words: a, b and c.
func enumerated(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func codesOf(list []trial.Comparison) []string {
	var codes []string
	for _, c := range list {
		if c.Verdict == stat.Invalid && c.Reason != nil && !slices.Contains(codes, c.Reason.Code) {
			codes = append(codes, c.Reason.Code)
		}
	}
	return codes
}
