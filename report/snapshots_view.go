package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/report/plain"
	"contend/trial"
	"contend/why"
)

// allocating is a line on how much more or less an operation allocates, with the functions that do as far
// as the line has room; "" for nothing that matters.
func allocating(e why.Explanation) string {
	a := e.Allocated
	if a == nil || !a.Matters {
		return ""
	}
	all := a.All
	less := either(all.Row.Value > 0, " more", " less")
	line := plain.Line(e.Candidate) + " allocates "
	switch {
	case !all.Row.Excludes0():
		line += objects(all.Objects.Value) + either(all.Objects.Value > 0, " more", " fewer")
	case all.Objects.Excludes0() && all.Objects.Value*all.Row.Value > 0:
		line += fmt.Sprintf("%s (%s)%s", unit.Bytes(math.Abs(all.Row.Value)), objects(all.Objects.Value), less)
	default:
		line += unit.Bytes(math.Abs(all.Row.Value)) + less
	}
	line += " per op"
	for i, f := range a.Functions {
		longer := line + either(i == 0, ": ", ", ") + unit.Signed(f.Value, unit.Bytes) + " " + shortName(f.Name)
		if plain.Width(longer) > textWidth {
			break
		}
		line = longer
	}
	return line
}

func objects(n float64) string {
	return unit.Digits(math.Abs(n)) + either(math.Abs(n) == 1, " object", " objects")
}

// sayCounted writes what programs counted of themselves between snapshots.
func (v *view) sayCounted(e why.Explanation) {
	a := e.Allocated
	if a == nil {
		return
	}
	v.say("What an op allocates: the total is exact, functions that clearly differ are from samples; %s looked at:", functionsWere(a.Looked))
	t := table{columns: []string{"allocation", plain.Line(e.Baseline), plain.Line(e.Candidate), "difference", "interval", "objects"}}
	for i, r := range append([]why.Allocating{a.All}, a.Functions...) {
		t.rows = append(t.rows, []string{either(i == 0, "all", plain.Line(r.Name)), unit.Bytes(r.BaselineValue), unit.Bytes(r.CandidateValue), unit.Signed(r.Value, unit.Bytes),
			unit.Signed(r.Low, unit.Bytes) + " … " + unit.Signed(r.High, unit.Bytes), unit.Digits(r.Objects.BaselineValue) + " → " + unit.Digits(r.Objects.CandidateValue)})
	}
	v.table(t)
	for _, of := range []struct {
		why.Recorded
		words string
	}{{e.Held, "Where locks are given up for which more goroutines wait, by the mutex profiles, of %s:"},
		{e.Waited, "Where more goroutines wait, by the block profiles, of %s:"}} {
		if len(of.Waits) > 0 {
			v.say(of.words, plural(of.Places, "place")+" looked at, in time per operation added up over goroutines")
			v.table(waitsTable(e, of.Waits))
		}
	}
	if enable := notRecorded(e); enable != "" {
		v.say("%s", enable)
	}
}

// notRecorded says how to enable the profiles that neither program recorded.
func notRecorded(e why.Explanation) string {
	var names, calls []string
	for _, of := range []struct {
		why.Recorded
		name, call string
	}{{e.Held, "mutex", "runtime.SetMutexProfileFraction(10)"}, {e.Waited, "block", "runtime.SetBlockProfileRate(10000)"}} {
		if of.Places == 0 {
			names, calls = append(names, of.name), append(calls, of.call)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Empty in both programs: %s; to record %s call %s there.",
		strings.Join(names, " and ")+either(len(names) > 1, " profiles", " profile"), either(len(names) > 1, "them", "it"), strings.Join(calls, " and "))
}

// uncounted names the programs without snapshots, where the line about traces does not explain it.
func uncounted(d *trial.Diagnosis) (words []string) {
	for _, s := range d.WithoutSnapshots {
		if !slices.Contains(d.Untraced, s) {
			words = append(words, fmt.Sprintf("No snapshots of the heap were taken of %s: %s.", plain.Line(s.Arm), plain.Line(s.Reason)))
		}
	}
	return words
}

func functionsWere(n int) string { return plural(n, "function") + either(n == 1, " was", " were") }
