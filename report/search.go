package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/expect"
	"contend/finding"
	"contend/internal/unit"
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

// searchScreen answers which arrival rate the objectives allow.
func (d *Document) searchScreen(s search.Result) *screen {
	page := &screen{care: new(findings), hidden: len(d.Notes)}
	if s.Alone != nil && s.Alone.Completed == 0 {
		return d.nothingScreen(page, *s.Alone)
	}
	page.first, page.trust, page.mood = saidRate(s)
	switch {
	case s.Verdict == search.RateInvalid && s.Reason != nil:
		if page.next = d.afterDoubt(s.Reason.Code); s.Reason.Is(finding.Starved) {
			page.first, page.trust = starvedAt(s.Alone.Result, s.Reason)
		}
	case s.Verdict == search.RateUnsettled && s.Alone == nil && s.TimeUp == nil:
		page.first, page.trust = "Interrupted before the first attempt", "UNSETTLED: no rate was tried"
		page.next = advise("run the same command again, and let it end")
	case s.Verdict == search.RateUnsettled:
		page.next = cmp.Or(d.goesOn(), advise("run the same command with a longer -d"))
	case s.Verdict == search.RateMissed && len(s.Attempts) == 0:
		page.next = advise("choose an --objective that one request at a time keeps")
	default:
		page.next = cmp.Or(d.goesOn(), advise("run contend run --rate below that rate, for longer, to see the response times in full"))
	}
	if s.Alone != nil {
		page.aside("%s", d.asTyped(s.Alone.Target))
		if len(s.Attempts) == 0 {
			page.aside("measured at concurrency %d: %s", s.Alone.Concurrency, runSentence(s.Alone.Result))
		}
	}
	page.rows(rateTable(s))
	if s.Found != nil {
		for _, w := range s.Found.Warnings {
			page.care.addCode(w, "")
		}
	}
	page.countCaveats("FOUND, valid")
	return page
}

// saidRate is what a search came to, and its status.
func saidRate(s search.Result) (first, trust string, m mood) {
	keeps, why := "is served in time", ""
	if len(s.Design.Objectives) > 0 {
		keeps = "keeps " + objectives(s)
	}
	if s.Reason != nil {
		why = s.Reason.Text
	}
	passed := fmt.Sprintf("%s passed %s attempts", unit.Rate(s.HeldPerSec), ofAttempts(s, s.HeldPerSec, search.Held))
	switch s.Verdict {
	case search.RateFound:
		return fmt.Sprintf("%s%s is the highest rate that %s", unit.Rate(s.HeldPerSec), limit(s), keeps),
			fmt.Sprintf("FOUND, valid: %s; %s failed %s (%s)", passed, unit.Rate(s.MissedPerSec), ofAttempts(s, s.MissedPerSec, search.Missed), why), good
	case search.RateAtLeast:
		if s.MissedPerSec > 0 && s.Reason != nil {
			why = fmt.Sprintf("at %s the load generator failed, not the server (%s)", unit.Rate(s.MissedPerSec), s.Reason.Code)
		}
		return fmt.Sprintf("%s %s, and higher rates may too", unit.Rate(s.HeldPerSec), keeps), fmt.Sprintf("AT_LEAST, lower bound: %s; %s", passed, why), doubted
	case search.RateMissed:
		lowest := "one request at a time"
		if s.MissedPerSec > 0 {
			lowest = unit.Rate(s.MissedPerSec)
		}
		return fmt.Sprintf("No rate %s: not even %s", keeps, lowest), "MISSED: " + why, bad
	case search.RateInvalid:
		if s.Reason == nil { // as in a document of another version
			return noRate, string(s.Verdict), doubted
		}
		return noRate, invalid(*s.Reason), doubted
	}
	if s.TimeUp != nil && s.Alone != nil && len(s.Attempts) == 0 {
		return "Too little time to find a rate, which takes about " + roughly(s.TimeUp.Needs), fmt.Sprintf("%s: %s", s.Verdict, s.TimeUp.Lacks), doubted
	}
	trust = fmt.Sprintf("%s: no final rate after %s", s.Verdict, plural(len(s.Attempts), "attempt"))
	if s.TimeUp != nil {
		trust += ": too little time for the next; it needs " + s.TimeUp.Lacks
	}
	return fmt.Sprintf("Cannot tell yet which is the highest rate that %s%s", keeps, between(s)), trust, doubted
}

// limit is the interval of a rate that was found: (1,480 to 1,620/s).
func limit(s search.Result) string {
	if s.LimitFrom == 0 || s.LimitTo == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", unit.Number(s.LimitFrom), unit.Rate(s.LimitTo))
}

const noRate = "No result: no rate could be judged"

// objectives are those of a search, as typed, but with metrics in words: p99 < 20ms.
func objectives(s search.Result) string {
	var list []string
	for _, text := range s.Design.Objectives {
		if b, err := expect.ParseBound(text); err == nil {
			_, value, _ := strings.Cut(text, b.Operator)
			text = fmt.Sprintf("%s %s %s", strings.TrimPrefix(b.Metric.Words(), "response time "), b.Operator, strings.TrimSpace(value))
		}
		list = append(list, text)
	}
	return enumerated(list)
}

// ofAttempts counts those at a rate with an outcome: 3 of 4.
func ofAttempts(s search.Result, perSec float64, outcome search.Outcome) string {
	with, all := countAttempts(s, perSec, outcome)
	return fmt.Sprintf("%d of %d", with, all)
}

func countAttempts(s search.Result, perSec float64, outcome search.Outcome) (with, all int) {
	for _, p := range s.Attempts {
		if p.RatePerSec == perSec {
			all++
			if p.Outcome == outcome {
				with++
			}
		}
	}
	return with, all
}

// between is how far an unfinished search came.
func between(s search.Result) string {
	text := ""
	if s.HeldPerSec > 0 {
		text += fmt.Sprintf("; %s passed", unit.Rate(s.HeldPerSec))
	}
	missed, _ := countAttempts(s, s.MissedPerSec, search.Missed)
	switch rate := unit.Rate(s.MissedPerSec); {
	case s.MissedPerSec == 0:
	case missed == 0 && s.Reason != nil: // all that failed there are discounted
		text += fmt.Sprintf("; at %s %s failed, but not because of the server (%s)", rate, ofAttempts(s, s.MissedPerSec, search.Doubted), s.Reason.Code)
	default:
		text += fmt.Sprintf("; %s failed %s", rate, ofAttempts(s, s.MissedPerSec, search.Missed))
	}
	return text
}

// rateTable draws the first objective's metric, or else p99, over the rates.
func rateTable(s search.Result) table {
	m := append(s.Metrics(), metric.ResponseP99)[0]
	type tried struct{ rate, value float64 }
	var rates []tried
	highest := 0.0
	for _, p := range s.Attempts {
		value, _ := m.Beside(p.Result)
		highest = max(highest, value)
		i := slices.IndexFunc(rates, func(r tried) bool { return r.rate == p.RatePerSec })
		if i < 0 {
			rates = append(rates, tried{p.RatePerSec, value})
		} else {
			rates[i].value = max(rates[i].value, value)
		}
	}
	slices.SortFunc(rates, func(a, b tried) int { return int(max(-1, min(1, a.rate-b.rate))) })
	if i := slices.IndexFunc(rates, func(r tried) bool { return r.rate == s.HeldPerSec }); len(rates) > mostLevels {
		from := max(0, min(i-mostLevels/2, len(rates)-mostLevels)) // those around the answer
		rates = rates[from : from+mostLevels]
	}
	t := table{columns: []string{"rate", "passed", "worst " + m.ShortWords()}}
	for _, r := range rates {
		t.rows = append(t.rows, []string{unit.Rate(r.rate), ofAttempts(s, r.rate, search.Held), m.Format(r.value)})
		t.bars = append(t.bars, bar{share: r.value / max(1, highest), remark: either(r.rate == s.HeldPerSec, "← highest that passes", "")})
	}
	return t
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
		row := []string{fmt.Sprint(i + 1), string(p.Step), unit.Rate(p.RatePerSec), string(p.Outcome), unit.Count(p.Concurrency), window(p.Duration)}
		for _, m := range metrics {
			row = append(row, figure(m, p.Cell))
		}
		t.rows = append(t.rows, row)
	}
	of := ""
	if s.Arm != "" {
		of = " of " + s.Arm
	}
	var plan load.Plan
	if s.Alone != nil {
		plan = s.Alone.Plan
	}
	within := fmt.Sprintf("with at most %s of the arrivals never started or unfinished", unit.Percent(plan.AllowedUnfinished()))
	if len(s.Design.Objectives) > 0 {
		within = "within " + strings.Join(s.Design.Objectives, ", ")
	}
	v.say("Attempts%s, each in a new process if contend starts the server, with %s arrivals; one passes %s:", of, s.Design.Arrivals, within)
	v.table(t)
	found := new(findings)
	for _, p := range s.Attempts {
		if p.Reason != nil {
			found.add(*p.Reason, "at "+unit.Rate(p.RatePerSec))
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
