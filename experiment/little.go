package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// analyses runs the analyses that the file names, in its order.
func (r *runner) analyses(ctx context.Context, entry *report.Experiment) error {
	for _, name := range r.Analyses {
		r.analysing(name)
		list, err := analysisTable()[name](r, ctx)
		if err != nil {
			return fmt.Errorf("analysis %s: %w", name, err)
		}
		entry.Analyses = append(entry.Analyses, list...)
	}
	return nil
}

// analysing tells which analysis is under way, and where it is.
func (r *runner) analysing(what string) {
	if r.options.Observe != nil {
		r.options.Observe(trial.Progress{Done: 1, Label: "analysis " + what, Between: true})
	}
}

// analysisTable holds the analyses that a file can name.
func analysisTable() map[string]func(*runner, context.Context) ([]report.Analysis, error) {
	return map[string]func(*runner, context.Context) ([]report.Analysis, error){
		"ab":           (*runner).comparedWithAB,
		"little":       (*runner).little,
		"guard_bound":  (*runner).guardBound,
		"guarantees":   (*runner).guarantees,
		roundTripsName: (*runner).roundTrips,
	}
}

// The figures that Little's law is read from: an RPC time and an iteration time.
const (
	callTime      metric.Name = "exchange_mean_ns"
	iterationTime metric.Name = "response_mean_ns"
)

// little re-reads published tables by Little's law: how many calls the server
// really held, and where the iterations' time went.
func (r *runner) little(context.Context) ([]report.Analysis, error) {
	var list []report.Analysis
	for _, p := range r.Published {
		a := report.Analysis{
			Name:  "little",
			Title: "Little's law on the published figures: " + p.Title,
			Columns: []string{"variant", "concurrency", "iterations/s", "mean call", "mean iteration",
				"calls in flight", "share outside the call"},
		}
		reading := littleReading{lowest: 1, throughput: map[int]map[string]float64{}}
		for _, row := range p.Rows {
			reading.add(p, row, &a)
		}
		if len(a.Rows) > 0 {
			a.Sentence = reading.sentences(len(a.Rows))
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, errNoRows
	}
	return list, nil
}

// littleReading is what the rows have in common.
type littleReading struct {
	lowest, highest float64 // share of the iteration outside the call
	mostInFlight    float64
	atVUs, maxVUs   int
	saturated       int                        // rows that describe the generator
	throughput      map[int]map[string]float64 // by VUs and arm
}

func (l *littleReading) add(p Published, row []string, a *report.Analysis) {
	x, ok1 := p.number(row, metric.Throughput)
	call, ok2 := p.number(row, callTime)
	cycle, ok3 := p.number(row, iterationTime)
	vus, err := strconv.Atoi(p.cell(row, vusColumn))
	if !ok1 || !ok2 || !ok3 || err != nil {
		return
	}
	o, err := stat.Little(float64(vus), x, time.Duration(call), time.Duration(cycle))
	if err != nil {
		return
	}
	if finding.GeneratorSaturated.In(o.Warnings) {
		l.saturated++
	}
	l.lowest, l.highest = min(l.lowest, o.ShareOutside), max(l.highest, o.ShareOutside)
	if o.CallsInFlight > l.mostInFlight {
		l.mostInFlight, l.atVUs = o.CallsInFlight, vus
	}
	l.maxVUs = max(l.maxVUs, vus)
	arm := p.cell(row, armColumn)
	if l.throughput[vus] == nil {
		l.throughput[vus] = map[string]float64{}
	}
	l.throughput[vus][arm] = x
	a.Rows = append(a.Rows, []string{arm, unit.Count(vus), unit.Number(x), unit.Duration(call),
		unit.Duration(cycle), fmt.Sprintf("%.1f", o.CallsInFlight), fmt.Sprintf("%.0f%%", 100*o.ShareOutside)})
}

func (l *littleReading) sentences(rows int) []string {
	list := []string{fmt.Sprintf(
		"The server never held more than %.1f calls at once (at concurrency %d), although up to %d callers were running: calls in flight = rate × mean call time (Little's law).",
		l.mostInFlight, l.atVUs, l.maxVUs)}
	outside := fmt.Sprintf("Between %.0f%% and %.0f%% of each iteration was spent outside the call", 100*l.lowest, 100*l.highest)
	if l.saturated < rows {
		return append(list, outside+".")
	}
	list = append(list, outside+", in the load generator: its own speed was measured, not the server's.")
	if flip := l.flip(); flip != "" {
		list = append(list, flip)
	}
	return append(list, "INVALID generator_saturated: these figures decide nothing about the server or its guard.")
}

// flip gives the range of the difference between two arms if its sign changes
// from level to level; "" if it does not.
func (l *littleReading) flip() string {
	var lowest, highest float64
	var names []string
	for _, arms := range l.throughput {
		if names = slices.Sorted(maps.Keys(arms)); len(names) != 2 {
			return ""
		}
		difference := arms[names[0]]/arms[names[1]] - 1
		lowest, highest = min(lowest, difference), max(highest, difference)
	}
	if lowest >= 0 || highest <= 0 {
		return ""
	}
	return fmt.Sprintf("The winner changes with the concurrency: %s differs from %s by %.1f%% to %+.1f%%, from one run each.",
		names[0], names[1], 100*lowest, 100*highest)
}
