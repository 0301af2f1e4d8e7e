package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/load"
	"contend/metric"
	"contend/search"
	"contend/trial"
)

// A Search is the highest arrival rate of an arm within objectives.
type Search struct {
	Place
	search.Result
}

// AddSearch takes a search into the document.
func (d *Document) AddSearch(at Place, s *search.Result) {
	d.Searches = append(d.Searches, Search{at, *s})
	if s.Found != nil {
		d.addCells(at, []trial.Cell{*s.Found})
	}
}

// searchLine says what each search came to.
func (d *Document) searchLine() (line string, refused []string) {
	var parts []string
	for _, s := range d.Searches {
		parts = append(parts, saidRate(s.Result))
		if s.Verdict == search.RateInvalid && s.Reason != nil {
			refused = append(refused, s.Reason.Code)
		}
	}
	return strings.Join(parts, "; "), refused
}

// saidRate says a search in a sentence.
func saidRate(s search.Result) string {
	of := ""
	if s.Arm != "" {
		of = s.Arm + ": "
	}
	why := ""
	if s.Reason != nil {
		why = s.Reason.Text
	}
	var plan load.Plan
	if s.Alone != nil {
		plan = s.Alone.Plan
	}
	within := fmt.Sprintf("with at most %.3g%% of the arrivals never started or unfinished", 100*plan.AllowedUnfinished())
	if len(s.Design.Objectives) > 0 {
		within = "within " + strings.Join(s.Design.Objectives, ", ")
	}
	line := string(s.Verdict) + ": " + of
	switch s.Verdict {
	case search.RateFound:
		return line + fmt.Sprintf("%s is the highest rate %s: it passed %s attempts, %s passed %s: %s", rate(s.HeldPerSec), within,
			ofAttempts(s, s.HeldPerSec, search.Held), rate(s.MissedPerSec), ofAttempts(s, s.MissedPerSec, search.Held), why)
	case search.RateAtLeast:
		if s.MissedPerSec == 0 {
			return line + fmt.Sprintf("%s %s: %s", rate(s.HeldPerSec), within, why)
		}
		return line + fmt.Sprintf("%s %s; above it the load generator was the bottleneck, at %s: %s", rate(s.HeldPerSec), within, rate(s.MissedPerSec), why)
	case search.RateMissed:
		return line + fmt.Sprintf("not even %s is %s: %s", rate(s.MissedPerSec), within, why)
	case search.RateInvalid:
		code := ""
		if s.Reason != nil {
			code = " (" + s.Reason.Code + ")"
		}
		return fmt.Sprintf("%s%s: %s%s", s.Verdict, code, of, why)
	}
	if s.TimeUp != nil {
		return line + fmt.Sprintf("after %s too little time is left for the next; it needs %s", plural(len(s.Attempts), "attempt"), s.TimeUp.Lacks) + between(s)
	}
	return line + fmt.Sprintf("no final rate after %s", plural(len(s.Attempts), "attempt")) + between(s)
}

// ofAttempts counts those at a rate with an outcome: 3 of 4.
func ofAttempts(s search.Result, perSec float64, outcome search.Outcome) string {
	with, all := 0, 0
	for _, p := range s.Attempts {
		if p.RatePerSec == perSec {
			all++
			if p.Outcome == outcome {
				with++
			}
		}
	}
	return fmt.Sprintf("%d of %d", with, all)
}

// between is how far an unfinished search came.
func between(s search.Result) string {
	text := ""
	if s.HeldPerSec > 0 {
		text += fmt.Sprintf("; %s passed", rate(s.HeldPerSec))
	}
	if s.MissedPerSec > 0 {
		text += fmt.Sprintf("; %s failed %s", rate(s.MissedPerSec), ofAttempts(s, s.MissedPerSec, search.Missed))
	}
	return text
}

func rate(perSec float64) string { return perSec4(perSec) + "/s" }

// perSec4 keeps the four digits that rates are rounded to.
func perSec4(x float64) string {
	if x >= 999.5 {
		return metric.Number(x)
	}
	return fmt.Sprintf("%.4g", x)
}

// searched writes the attempts.
func searched(v *view, s search.Result) {
	if len(s.Attempts) == 0 {
		return
	}
	metrics := searchMetrics(s)
	t := table{columns: []string{"attempt", "step", "rate", "outcome", "concurrency", "measured"}}
	for _, m := range metrics {
		t.columns = append(t.columns, m.ShortWords())
	}
	for i, p := range s.Attempts {
		row := []string{fmt.Sprint(i + 1), string(p.Step), rate(p.RatePerSec), string(p.Outcome), fmt.Sprint(p.Concurrency), window(p.Duration)}
		for _, m := range metrics {
			row = append(row, figure(m, p.Cell))
		}
		t.rows = append(t.rows, row)
	}
	of := ""
	if s.Arm != "" {
		of = " of " + s.Arm
	}
	v.say("Attempts%s, each in a new process if contend starts the server, with %s arrivals:", of, s.Design.Arrivals)
	v.table(t)
	found := new(findings)
	for _, p := range s.Attempts {
		if p.Reason != nil {
			found.add(*p.Reason, "at "+rate(p.RatePerSec))
		}
	}
	found.write(v)
}

// searchMetrics are those of the objectives, and what a miss is explained by.
func searchMetrics(s search.Result) []metric.Name {
	metrics := s.Metrics()
	for _, m := range []metric.Name{metric.ResponseP99, "start_lag_p99_ns", metric.ServerCPUPerOp} {
		known := slices.ContainsFunc(s.Attempts, func(p search.Attempt) bool { return figure(m, p.Cell) != "-" })
		if known && !slices.Contains(metrics, m) {
			metrics = append(metrics, m)
		}
	}
	return metrics
}
