package expect

import (
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/metric"
	"contend/trial"
)

// cell has so many right answers, and as many operations, in a second.
func cell(arm string, n int64) trial.Cell {
	return trial.Cell{Arm: arm, Result: &load.Result{Duration: time.Second, Counts: load.Counts{Planned: n, Completed: n, Ops: n}}}
}

func TestExpectations(t *testing.T) {
	cells := []trial.Cell{cell("fast", 1000), cell("slow", 500)}
	tests := []struct {
		text string
		held bool
	}{
		{"errors == 0", true},
		{"throughput_per_s >= 500", true},
		{"throughput_per_s >= 501", false},                           // holds for one arm, not for both
		{"fast.throughput_per_s > 2 * slow.throughput_per_s", false}, // 1000 > 1000
		{"fast.throughput_per_s >= 2*slow.throughput_per_s", true},
		{"slow.throughput_per_s < fast.throughput_per_s", true},
		{"nobody.throughput_per_s >= 0", false}, // not measured has failed
		{"connect_p50_ns < 1e9", false},
		{"throughput >= 500", true}, // as it is printed
		{"throughput >= 501", false},
		{"fast.throughput >= 2 * slow.throughput", true},
		{"completed >= 100%", true}, // of the planned
		{"completed > 100%", false},
		{"errors < 0.1%", true},
		{"errors < 0%", false},
		{"connect p99.9 < 1s", false}, // nothing of it was measured
		{"fast.connect p99.9 < 1s", false},
		{"throughput < 1,000.5/s", true}, // as a page prints it
		{"throughput > 499/s", true},
		{"fast.throughput >= 1 k/s", true},
		{"RPS >= 500", true}, // as other tools call it
		{"fast.req/s > 2 * slow.qps", false},
	}
	for _, tt := range tests {
		x, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if x.Check(cells); x.Held != tt.held || x.Held == (x.Detail != "") {
			t.Errorf("%q: held %v (%s), want %v", tt.text, x.Held, x.Detail, tt.held)
		}
	}
	for _, text := range []string{"", "errors", "errors = 0", "1 == errors", "speed > 1", "errors == many", "errors == x * errors", "p99 < 3%", "errors < x%",
		"throughput > 20ms", "p99 < 20/s", "errors < 5 MB", "server memory < 3ms", "throughput < 5 MB/s"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// Claims name metrics as they are printed, also after an arm.
func TestPrintedNames(t *testing.T) {
	for _, text := range metric.Names() {
		name := metric.Name(text)
		for _, printed := range []string{text, name.Words(), name.ShortWords()} {
			below := " < 5"
			if name.Kind() == metric.Time {
				below += "ms"
			}
			if b, err := ParseBound(printed + below); err != nil || b.Metric != name {
				t.Errorf("%q of %s is read as %q, %v", printed, name, b.Metric, err)
			}
			if c, err := parse("some.arm." + printed + below); err != nil || c.left != (term{"some.arm", name, 1}) {
				t.Errorf("%q of %s is read as %+v, %v", printed, name, c.left, err)
			}
		}
	}
}

// Amounts are read as they are typed and as pages print them: ns and bytes.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]float64{
		"p99 < 20ms": 20e6, "p99 < 20 ms": 20e6, "p99 < 1.5 s": 1.5e9, "p99 < 1m 30s": 90e9, "server CPU per op < 12.5 µs": 12500,
		"server memory < 64MB": 64e6, "server memory < 1.5 MiB": 1.5 * (1 << 20), "bytes in per second > 2 MB/s": 2e6,
		"throughput > 75,949/s": 75949, "throughput > 1,234,567.5/s": 1234567.5, "errors < 1,000": 1000, "errors < 1e3": 1000,
	} {
		if b, err := ParseBound(text); err != nil || b.Value != want {
			t.Errorf("%s: %v, %v; want %v", text, b.Value, err, want)
		}
	}
	for text, want := range map[string]string{
		"p99 < 20ms, rps > 100": "more than one claim; state each on its own", "p97.5 < 2s": `metric is "p97.5"`, "v1.2.p97.5 < 2s": `metric is "v1.2.p97.5"`, "v1.2.speed > 1": `metric is "speed"`,
		"p99 << 20ms": `"p99 << 20ms": unknown operator <<; expected one of >= <= == != > <, as in p99 < 20ms`, "p99 < = 20ms": "unknown operator < =;", "errors = 0": "unknown operator =;",
		"throughput > 20ms": "throughput, as in 500/s", "server memory < 3ms": "memory, as in 64MB", "errors < 5 MB": "errors, as in 500",
	} {
		if _, err := ParseBound(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The name in documents says the unit; what is printed does not.
func TestTimesNeedUnits(t *testing.T) {
	for text, want := range map[string]bool{"p99 < 1": false, "start lag p90 < 5": false, "p99 < 0": true, "p99 < 1ms": true,
		"response_p99_ns < 20000000": true, "A.response_p99_ns <= 5": true, "A.p99 < 2 * B.p99": true, "throughput > 5": true} {
		if _, err := parse(text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Everything that breaks a claim is named, with units, and with all digits if those of
// tables are the same.
func TestDetailNamesEveryViolation(t *testing.T) {
	cells := []trial.Cell{cell("a", 1000), cell("b", 500), cell("c", 2000)}
	for text, want := range map[string]string{
		"throughput > 1500":       "a: throughput was 1,000/s; b: throughput was 500/s",
		"c.throughput > 2000.001": "c: throughput was 2,000/s",
		"d.throughput > 1":        "nothing was measured",
		"b.completed < 0.5%":      "b: completed was 100%",
		"b.bytes_in > 1":          "b: bytes in were 0 B",
		"c.errors > 0%":           "c: errors were 0%",
	} {
		x := Expectation{Text: text}
		if x.Check(cells); x.Held || x.Detail != want {
			t.Errorf("%s: %v, %q, want %q", text, x.Held, x.Detail, want)
		}
	}
}

// A result is named as far as there are others.
func TestDetailNamesResultsAmongOthers(t *testing.T) {
	at := func(arm string, concurrency int) trial.Cell {
		c := cell(arm, 1000)
		c.Concurrency = concurrency
		return c
	}
	for want, cells := range map[string][]trial.Cell{
		"throughput was 1,000/s":                       {at("", 500)},
		"a: throughput was 1,000/s":                    {at("a", 500)},
		"at concurrency 5: throughput was 1,000/s; at": {at("", 5), at("", 6)},
		"a at concurrency 5: throughput was 1,000/s;":  {at("a", 5), at("a", 6)},
	} {
		x := Expectation{Text: "throughput > 1500"}
		if x.Check(cells); x.Held || !strings.HasPrefix(x.Detail, want) {
			t.Errorf("%q, want %q", x.Detail, want)
		}
	}
	incomplete := at("", 500)
	incomplete.Planned, incomplete.Unfinished = 1020, 20
	x := Expectation{Text: "errors == 0"}
	if x.Check([]trial.Cell{incomplete}); x.Detail != "the result is incomplete" {
		t.Errorf("%q", x.Detail)
	}
}

func TestBroken(t *testing.T) {
	cells := []trial.Cell{cell("a", 1000), cell("b", 500), cell("c", 2000)}
	for text, want := range map[string]string{
		"throughput > 1500": "a b", "throughput > 1": "", "a.throughput > 1500": "a", "c.throughput > 1500": "",
		"throughput >= b.throughput": "", "a.throughput > c.throughput": "a", "d.throughput > 1": "", "no claim": "",
	} {
		var arms []string
		for _, c := range (Expectation{Text: text}).Broken(cells) {
			arms = append(arms, c.Arm)
		}
		if got := strings.Join(arms, " "); got != want {
			t.Errorf("%s is broken for %q, want %q", text, got, want)
		}
	}
}

// An incomplete result fulfils nothing, on either side: 20 of 1020 are 2%.
func TestNothingHoldsOfAnIncompleteResult(t *testing.T) {
	part := cell("part", 1000)
	part.Planned, part.Unfinished = 1020, 20
	cells := []trial.Cell{cell("whole", 1000), part}
	for text, held := range map[string]bool{
		"errors == 0": false, "part.errors == 0": false, "whole.errors == 0": true,
		"whole.throughput_per_s >= part.throughput_per_s": false, "part.throughput_per_s >= whole.throughput_per_s": false,
	} {
		x := Expectation{Text: text}
		if x.Check(cells); x.Held != held || !held && !strings.HasSuffix(x.Detail, "part is incomplete") {
			t.Errorf("%q: held %v (%s), want %v", text, x.Held, x.Detail, held)
		}
	}
	cells[1].Plan.MaxUnfinished = 0.02
	x := Expectation{Text: "errors == 0"}
	if x.Check(cells); !x.Held {
		t.Error("where 2% may be unfinished: ", x.Detail)
	}
}

func TestAllowedErrors(t *testing.T) {
	tests := []struct {
		claims     []string
		iterations int64
		want       float64
	}{
		{nil, 1000, 0},
		{[]string{"errors < 1%", "p99 < 20ms"}, 0, 0.01},
		{[]string{"errors <= 2%", "errors < 1%"}, 1000, 0.01}, // the strictest
		{[]string{"errors == 0"}, 1000, 0},
		{[]string{"errors < 50"}, 1000, 0.05}, // 50 ÷ 1000
		{[]string{"errors < 50"}, 0, 0},
		{[]string{"errors > 1%", "errors != 5", "a.errors < 1%", "failed < 1%", "errors"}, 1000, 0}, // allow nothing for all
	}
	for _, tt := range tests {
		if got := AllowedErrors(tt.claims, tt.iterations); got != tt.want {
			t.Errorf("%q of %d iterations allow %v, want %v", tt.claims, tt.iterations, got, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	b, err := ParseBound("response_p99_ns < 20ms")
	if err != nil || b != (Bound{"response_p99_ns", "<", 20e6, false}) || !b.Holds(19e6) || b.Holds(20e6) {
		t.Errorf("%v, %v", b, err)
	}
	for text, want := range map[string]metric.Name{"p99 < 20ms": metric.ResponseP99, "response p99<20ms": metric.ResponseP99, "p99.9 < 1s": "response_p999_ns"} {
		if b, err := ParseBound(text); err != nil || b.Metric != want {
			t.Errorf("%q is about %s: %v", text, b.Metric, err)
		}
	}
	share, err := ParseBound("errors < 0.1%") // of 3000: 3
	if b := share.Of(3000); err != nil || !share.OfPlanned || !b.Holds(2.9) || b.Holds(3) {
		t.Errorf("%v of 3000 is %v, %v", share, b, err)
	}
	for _, text := range []string{"a.errors < 3", "errors < completed", "errors < a.errors", "errors", "speed < 3"} {
		if _, err := ParseBound(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
