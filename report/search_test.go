package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/pace"
	"contend/report"
	"contend/search"
	"contend/trial"
)

// searched is one for the highest rate with p99 below 20 ms; rates above 1600/s miss
// it because of the server, or, if late, because iterations started 25 ms late.
func searched(late bool) *report.Document {
	s := &search.Result{Design: search.Design{Objectives: []string{"response_p99_ns < 20ms"}, Arrivals: "constant",
		Precision: 0.1, MaxRate: 1e6, Attempt: time.Second, MaxAttempt: time.Minute, Warmup: time.Second, Seed: 1}}
	one := trial.Cell{Result: closedResult("http://127.0.0.1:8080/", 1, 10_000)}
	s.Alone = &one
	for _, a := range []struct {
		step search.Step
		rate float64
	}{{search.Widen, 500}, {search.Widen, 1000}, {search.Widen, 2000}, {search.Narrow, 1414}, {search.Narrow, 1682}, {search.Narrow, 1542},
		{search.Confirm, 1542}, {search.Confirm, 1542}, {search.Confirm, 1682}} {
		s.Attempts = append(s.Attempts, search.Attempt{Step: a.step, RatePerSec: a.rate, Cell: openCell(int64(10*a.rate), a.rate > 1600, late)})
	}
	s.Derive()
	d := document("sweep")
	d.AddSearch(report.Place{}, s)
	return d
}

func openCell(n int64, slow, late bool) trial.Cell {
	r := closedResult("http://127.0.0.1:8080/", 500, n)
	r.Model, r.Timer, r.Stopped = load.OpenModel, pace.Precise, load.StoppedByDuration
	r.Plan.Pacer = pace.Constant(float64(n) / 10)
	r.Response = spread(n, time.Millisecond, 2*time.Millisecond)
	r.Service, r.StartLag = r.Response, spread(n, 0, 100*time.Microsecond)
	if slow {
		r.Response = spread(n, time.Millisecond, 30*time.Millisecond)
		r.Service = r.Response
	}
	if slow && late {
		r.Service, r.StartLag = spread(n, time.Millisecond, 2*time.Millisecond), spread(n, 0, 28*time.Millisecond)
	}
	r.Derive()
	r.Server = &load.Usage{CPUSec: 0.5}
	return trial.Cell{Result: r}
}

func TestSearchesSayWhatTheyFound(t *testing.T) {
	for late, want := range map[bool]string{
		false: "1,542/s (1,483 to 1,682/s) is the highest rate that keeps p99 < 20ms", // 1542 ÷ (1 + 2 · 20 ms ÷ 1 s)
		true:  "1,542/s keeps p99 < 20ms, and higher rates may too",
	} {
		if got := firstLine(t, searched(late)); got != want {
			t.Errorf("the first line is\n%s, want\n%s", got, want)
		}
	}
	part := searched(false)
	part.Searches[0].Attempts = part.Searches[0].Attempts[:3]
	part.Searches[0].Derive()
	if got := firstLine(t, part); got != "Cannot tell yet which is the highest rate that keeps p99 < 20ms; 1,000/s passed; 2,000/s failed 1 of 1" {
		t.Errorf("the first line is\n%s", got)
	}
	part = searched(true)
	part.Searches[0].Attempts = part.Searches[0].Attempts[:3]
	part.Searches[0].Derive()
	if got, want := firstLine(t, part), "1,000/s passed; at 2,000/s 1 of 1 failed, but not because of the server (start_lag)"; !strings.HasSuffix(got, want) {
		t.Errorf("the first line is\n%s, want at its end\n%s", got, want)
	}
	invalid := &report.Document{Searches: []report.Search{{Result: search.Result{Arm: "a", Verdict: search.RateInvalid,
		Reason: finding.FewSamples.Refusal("too few")}}}}
	if text := rendered(t, invalid.Text); !strings.HasPrefix(text, "No result: no rate could be judged\nINVALID (few_samples): too few\n") {
		t.Errorf("the report begins with\n%s", text)
	}
}

// Where even one request at a time takes too long, there is no rate to name and none to try.
func TestASearchThatOneCallerEnds(t *testing.T) {
	d := searched(false)
	s := &d.Searches[0].Result
	s.Attempts, s.Design.Objectives = nil, []string{"p99 < 1us"}
	s.Derive()
	text := rendered(t, d.Text)
	want := "No rate keeps p99 < 1us: not even one request at a time\nMISSED: one request at a time, the fastest response took "
	if !strings.HasPrefix(text, want) || !strings.Contains(text, "Next: choose an --objective that one request at a time keeps") {
		t.Error(text)
	}
}

// If a single virtual user got no right answer, there are no attempts, and the page
// begins with the most frequent error.
func TestASearchOfAServerThatFails(t *testing.T) {
	d := searched(false)
	s := &d.Searches[0]
	one := s.Alone.Result
	one.Planned, one.Completed, one.Failed = 9, 0, 3
	one.Faults = []load.Fault{{Status: 404, Count: 3, Example: "gone"}}
	one.Errored = map[errkind.Kind]int64{errkind.Refused: 4, errkind.Timeout: 2}
	one.Examples = map[errkind.Kind]string{errkind.Refused: "nobody listens", errkind.Timeout: "slow"}
	s.Attempts, s.Verdict, s.Reason = nil, search.RateInvalid, finding.NothingSucceeded.Refusal("none")
	text := rendered(t, d.Text)
	for _, want := range []string{"No request succeeded: 3 failed and 6 without a response\nINVALID (", "\n  4 × refused: nobody listens\n  3 × status 404: gone\n  2 × timeout: slow\n"} {
		if !strings.Contains(text, want) || strings.Contains(text, "Attempts") {
			t.Errorf("%q is missing, or there are attempts:\n%s", want, text)
		}
	}
	one.Faults, one.Errored = nil, nil // as an older version wrote it
	if text = rendered(t, d.Text); strings.Contains(text, "×") {
		t.Error(text)
	}
}

func TestImpossibleSearches(t *testing.T) {
	for name, change := range map[string]func(*search.Result){
		"lacks alone":               func(s *search.Result) { s.Alone = nil },
		"has an impossible design":  func(s *search.Result) { s.Design.Precision = 0 },
		"attempts[1].rate_per_s is": func(s *search.Result) { s.Attempts[1].RatePerSec = -1 },
		"attempts[0].response_ns":   func(s *search.Result) { s.Attempts[0].Response = hist.New() },
		"alone lacks response_ns":   func(s *search.Result) { s.Alone.Response = nil },
	} {
		d := searched(false)
		change(&d.Searches[0].Result)
		var b strings.Builder
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		if read, err := report.Read(strings.NewReader(b.String())); read != nil || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: document %v, error %v", name, read != nil, err)
		}
	}
}

// A search that ended before its first attempt says why: connections that get nothing, or responses that take too long.
func TestSearchesThatDoNotBegin(t *testing.T) {
	interrupted := document("sweep")
	interrupted.AddSearch(report.Place{}, &search.Result{Verdict: search.RateUnsettled})
	if page := screenOf(t, interrupted); !strings.HasPrefix(page, "Interrupted before the first attempt\nUNSETTLED: no rate was tried") || strings.Contains(page, "longer -d") {
		t.Errorf("the page is %s", page)
	}
	slow := closedResult("http://127.0.0.1:8080/", 16, 32)
	slow.Response = spread(32, 5*time.Second, 5002*time.Millisecond)
	for _, tt := range []struct {
		seen *load.Result
		up   *trial.TimeUp
		want []string
	}{
		{starved().Results[0].Result, nil, []string{"9 of 10 connections got no response, the others 20,000", "INVALID (starved): no result at concurrency 10", "let the server serve more connections"}},
		{slow, &trial.TimeUp{Lacks: "responses take 5.00 s, and a rate is found by 14 attempts of at least 60.0 s", Needs: 17 * time.Minute},
			[]string{"Too little time to find a rate, which takes about 17 min", "UNSETTLED: responses take 5.00 s", "measured at concurrency 16: "}},
	} {
		s := &search.Result{Design: search.Design{Arrivals: "constant", Precision: 0.03, MaxRate: 1e6, MaxAttempt: time.Minute}, Alone: &trial.Cell{Result: tt.seen}, TimeUp: tt.up}
		s.Derive()
		d := document("sweep")
		d.AddSearch(report.Place{}, s)
		page := screenOf(t, d)
		for _, want := range tt.want {
			if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
				t.Errorf("the page does not say %q: %s", want, page)
			}
		}
	}
}

// A sweep of a server that serves some connections only begins with that, if no lower level is left to use; else it is in
// the first line.
func TestSweepsOfServersThatStarve(t *testing.T) {
	cell := trial.Cell{Result: starved().Results[0].Result}
	for _, left := range []bool{false, true} {
		d, begins := oneSweep(0), "9 of 10 connections got no response, the others 20,000"
		c := &d.Curves[0]
		if c.Visits = []trial.Cell{cell}; left {
			one := closedResult("http://127.0.0.1:8080/", 1, 2000)
			one.Response = spread(2000, time.Millisecond, 2*time.Millisecond)
			c.Visits, c.Explored, begins = []trial.Cell{{Result: one}}, []trial.Cell{cell}, "Use concurrency 1: "
		}
		c.Derive()
		page := screenOf(t, d)
		text := strings.Join(strings.Fields(page), " ")
		if !strings.HasPrefix(text, begins) || left && !strings.Contains(text, "At concurrency 10, 9 of 10 connections got no response") {
			t.Errorf("the page is %s, want %q first", text, begins)
		}
	}
}
