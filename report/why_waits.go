package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/report/plain"
	"contend/trial"
	"contend/why"
	"contend/why/gotrace"
)

// mostWaits are the places at which goroutines wait on a page.
const mostWaits = 5

// waits are the system calls in which threads wait, and where goroutines do, where an explanation says that they do.
func (v *view) waits(d *trial.Diagnosis, e why.Explanation) {
	t, times := table{columns: []string{"", ""}}, waitTimes(e)
	for _, b := range e.Blocked {
		t.rows = append(t.rows, []string{times.Signed(b.Value), "threads waiting: " + blockedName(b)})
	}
	shown := e.Waits[:min(len(e.Waits), mostWaits)]
	for _, w := range shown {
		t.rows = append(t.rows, []string{times.Signed(w.Value), "goroutines waiting: " + waitName(e, w, shortName)})
	}
	if more := len(e.Waits) - len(shown); more > 0 {
		t.rows = append(t.rows, []string{"", fmt.Sprintf("%d more places: add --full", more)})
	}
	v.rows(t)
	for _, words := range []string{unnamedWaits(d, e), unlikeProcessors(e)} {
		if words != "" && waitSentence(e) != words {
			v.lead("%s", words)
		}
	}
}

// blockedName says in which system call threads wait, and in which of the program's own functions.
func blockedName(r why.Row) string {
	name := plain.Line(r.Name)
	if len(r.Functions) > 0 {
		name += " in " + mostlyIn(r)
	}
	return name
}

// unlikeProcessors says that one of the two may run fewer goroutines at once; "" where neither may, nobody
// knows, or a row says it.
func unlikeProcessors(e why.Explanation) string {
	if e.Processors[0] == e.Processors[1] || slices.ContainsFunc(e.Waits, func(w why.Waiting) bool { return w.For == gotrace.Processor }) {
		return ""
	}
	return strings.Trim(processors(e), " ()")
}

// waitName says what goroutines wait for, and where, with the names of functions as short makes them.
func waitName(e why.Explanation, w why.Waiting, short func(string) string) string {
	if w.For == gotrace.Processor {
		return string(w.For) + processors(e)
	}
	name := plain.Line(string(w.For)) + " in " + short(w.Name)
	if in := mostlyIn(w.Row); in != "" {
		name += " (" + in + ")"
	}
	return name
}

// processors says how many goroutines can run at once, where that is known.
func processors(e why.Explanation) string {
	a, b := e.Processors[0], e.Processors[1]
	switch {
	case a == 0 || b == 0:
		return ""
	case a == b:
		return fmt.Sprintf(" (GOMAXPROCS is %d)", a)
	}
	return fmt.Sprintf(" (GOMAXPROCS is %d in %s, %d in %s)", b, plain.Line(e.Candidate), a, plain.Line(e.Baseline))
}

// unnamedWaits says why goroutines wait at no place that is named, and what would name it; "" where one is
// named, or a program is not known to be Go's.
func unnamedWaits(d *trial.Diagnosis, e why.Explanation) string {
	switch {
	case !e.Wait.Excludes0() || len(e.Waits) > 0:
		return ""
	case e.Places > 0:
		return fmt.Sprintf("None of %d places where goroutines wait clearly differs", e.Places)
	}
	for _, arm := range []string{e.Candidate, e.Baseline} {
		for _, u := range d.Untraced {
			if u.Arm == arm && isGo(d, arm) {
				return fmt.Sprintf("What goroutines of %s wait for is unknown: %s", plain.Line(arm), plain.Line(u.Reason))
			}
		}
	}
	return ""
}

// isGo reports whether samples of an arm show the runtime of Go.
func isGo(d *trial.Diagnosis, arm string) bool {
	return slices.ContainsFunc(d.Profiles, func(p why.Profile) bool {
		return p.Arm == arm && slices.ContainsFunc(p.Functions, func(f why.Function) bool {
			return f.Name == "runtime.mcall" || f.Name == "runtime.schedule" || f.Name == "runtime.systemstack"
		})
	})
}

// sayWaits writes where goroutines wait.
func (v *view) sayWaits(d *trial.Diagnosis, e why.Explanation, sentences bool) {
	for _, words := range []string{unnamedWaits(d, e), unlikeProcessors(e)} {
		if words != "" && waitSentence(e) != words && sentences {
			v.say("%s.", words)
		}
	}
	if len(e.Waits) == 0 {
		return
	}
	v.say("Where more goroutines wait at the same time, of %d places looked at, in time per op added up over goroutines:", e.Places)
	v.table(waitsTable(e, e.Waits))
}

func waitsTable(e why.Explanation, waits []why.Waiting) table {
	t := table{columns: []string{"waiting", plain.Line(e.Baseline), plain.Line(e.Candidate), "difference", "interval", "waiting at the same time"}}
	var rows []why.Row
	for _, w := range waits {
		rows = append(rows, w.Row)
	}
	times := timesOf(rows)
	for _, w := range waits {
		cells := append([]string{waitName(e, w, plain.Line)}, comparedCells(w.Row, times)...)
		t.rows = append(t.rows, append(cells, unit.Digits(w.Goroutines.BaselineValue)+" → "+unit.Digits(w.Goroutines.CandidateValue)))
	}
	return t
}

// tracedSentence says what execution traces cost, and of what there are none; "": none were asked for.
func tracedSentence(d *trial.Diagnosis) string {
	var words []string
	if slices.ContainsFunc(d.Profiles, func(p why.Profile) bool { return p.Traced != nil }) {
		words = append(words, fmt.Sprintf("Execution traces were taken of other blocks; that cost %s of the throughput.", unit.Percent(d.TraceOverhead)))
	}
	for _, u := range d.Untraced {
		words = append(words, fmt.Sprintf("No execution traces were taken of %s: %s.", plain.Line(u.Arm), plain.Line(u.Reason)))
	}
	return strings.Join(append(words, uncounted(d)...), " ")
}
