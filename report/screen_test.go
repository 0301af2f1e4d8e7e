package report_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"contend/report"
)

// oneLevel is a comparison with the primary verdict of one level of verdicts.
func oneLevel(level int) *report.Document {
	d := document("compare")
	d.Arms = []report.Arm{{Name: "mutex", Does: "./orders -mode lock -listen {{addr}}"}, {Name: "inputq", Does: "./orders -mode queue -listen {{addr}}"}}
	d.Add(report.Place{}, verdicts(level))
	return d
}

// oneSweep has one of the curves of swept.
func oneSweep(i int) *report.Document {
	d := swept()
	d.Curves = d.Curves[i : i+1]
	return d
}

// screens are documents with the most lines that their page may have.
func screens() map[string]struct {
	d    *report.Document
	most int
} {
	type page = struct {
		d    *report.Document
		most int
	}
	settled := oneLevel(40)
	settled.Settle = "contend compare -d 3m --url http://{{addr}}/ -- './orders -mode lock' './orders -mode queue'"
	all := allDocuments()
	return map[string]page{
		"faster": {oneLevel(10), 15}, "slower": {oneLevel(20), 15}, "equivalent": {oneLevel(30), 15},
		"inconclusive": {settled, 15}, "errors": {oneLevel(50), 15}, "saturated": {oneLevel(60), 15}, "nothing-right": {oneLevel(70), 15},
		"few-rounds": {all["few-rounds"], 15}, "counted": {all["counted"], 15}, "stored": {all["stored"], 15},
		"run": {runDocument(closedResult("http://localhost:8080/status", 50, 20_000)), 15}, "run-failing": {all["closed"], 15}, "run-open": {all["open"], 15},
		"run-nothing": {all["nothing"], 15}, "sweep-peaked": {oneSweep(0), 18}, "sweep-rising": {oneSweep(1), 18}, "sweep-refused": {oneSweep(2), 18},
		"sweep-bound": {all["sweep-bound"], 18}, "rate-found": {all["search"], 18}, "rate-late": {searched(true), 18},
		"levels": {all["comparison"], 15 + 6}, "changed-over": {all["changed-over"], 16},
	}
}

// Each page keeps to its lines and to the width of a terminal, in either alphabet.
func TestScreens(t *testing.T) {
	for name, p := range screens() {
		for _, look := range []report.Look{{}, {ASCII: true}} {
			var b bytes.Buffer
			if err := p.d.Screen(&b, look); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if len(lines) > p.most || len(lines) < 3 {
				t.Errorf("%s has %d lines, want 3 to %d:\n%s", name, len(lines), p.most, b.String())
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > 100 {
					t.Errorf("%s has a line of %d columns: %s", name, n, line)
				}
			}
			if !look.ASCII {
				golden(t, "screen-"+name+".txt", b.Bytes())
			} else if i := strings.IndexFunc(b.String(), func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
				t.Errorf("%s is not ASCII: %q", name, b.String()[i:i+3])
			}
		}
	}
}
