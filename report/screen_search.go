package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/expect"
	"contend/metric"
	"contend/search"
)

// searchScreen answers which arrival rate the objectives allow.
func (d *Document) searchScreen(s search.Result) *screen {
	page := &screen{care: new(findings), hidden: len(d.Notes), most: mostOfSweep, mood: doubted}
	keeps := "that is served in time"
	if len(s.Design.Objectives) > 0 {
		keeps = "that keeps " + objectives(s)
	}
	if s.Alone != nil && s.Alone.Completed == 0 {
		return d.nothingScreen(page, *s.Alone)
	}
	why := ""
	if s.Reason != nil {
		why = s.Reason.Text
	}
	page.next = cmp.Or(d.Next, "run contend run --rate below that rate, for longer, to see the response times in full")
	passed := fmt.Sprintf("%s passed %s attempts", rate(s.HeldPerSec), ofAttempts(s, s.HeldPerSec, search.Held))
	switch s.Verdict {
	case search.RateFound:
		page.first = fmt.Sprintf("%s is the highest rate %s", rate(s.HeldPerSec), keeps)
		page.trust = fmt.Sprintf("FOUND, valid: %s; %s failed %s (%s)", passed, rate(s.MissedPerSec), ofAttempts(s, s.MissedPerSec, search.Missed), why)
		page.mood = good
	case search.RateAtLeast:
		page.first = fmt.Sprintf("%s %s, and higher rates may too", rate(s.HeldPerSec), strings.TrimPrefix(keeps, "that "))
		page.trust = fmt.Sprintf("AT_LEAST, lower bound: %s; %s", passed, why)
		if s.MissedPerSec > 0 && s.Reason != nil {
			page.trust = fmt.Sprintf("AT_LEAST, lower bound: %s; at %s the load generator failed, not the server (%s)", passed, rate(s.MissedPerSec), s.Reason.Code)
		}
	case search.RateMissed:
		page.first = fmt.Sprintf("No rate %s: not even %s", strings.TrimPrefix(keeps, "that "), rate(s.MissedPerSec))
		page.trust, page.mood = "MISSED: "+why, bad
	case search.RateInvalid:
		page.first, page.trust = "No result: no rate could be judged", "INVALID: "+why
		if s.Reason != nil {
			page.trust, page.next = invalid(*s.Reason), d.afterDoubt(s.Reason.Code)
		}
	default:
		page.first = fmt.Sprintf("Cannot tell yet which is the highest rate %s%s", keeps, between(s))
		page.trust = fmt.Sprintf("%s: no final rate after %s", s.Verdict, plural(len(s.Attempts), "attempt"))
		if s.TimeUp != nil {
			page.trust += ": too little time for the next; it needs " + s.TimeUp.Lacks
		}
		page.next = cmp.Or(d.Next, "run the same command with a longer -d")
	}
	page.body = rateRows(s)
	if s.Alone != nil {
		page.body = slices.Insert(page.body, 0, "  "+clean(s.Alone.Target), "")
	}
	if s.Found != nil {
		for _, w := range s.Found.Warnings {
			page.care.addCode(w)
		}
	}
	page.countCaveats("FOUND, valid")
	return page
}

// objectives are those of a search, as typed but for the metrics, which are said in words:
// p99 < 20ms.
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

// rateRows draws the first objective's metric, or else p99, over the rates.
func rateRows(s search.Result) []string {
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
	t := table{columns: []string{"rate", "passed", "worst " + m.ShortWords(), ""}}
	for _, r := range rates {
		drawn := ""
		if highest > 0 {
			drawn = marks(r.value / highest)
		}
		if r.rate == s.HeldPerSec {
			drawn += "  ← highest that passes"
		}
		t.rows = append(t.rows, []string{rate(r.rate), ofAttempts(s, r.rate, search.Held), m.Format(r.value), drawn})
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t.lines()
}
