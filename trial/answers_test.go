package trial

import (
	"context"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
)

// An answer is what an arm of this test answers with, in the order given and then over again.
type answer struct {
	status  int
	media   string
	length  int64
	checked bool
	name    string // of the status
}

var page = answer{status: 200, media: "text/html", length: 2000}

// repeated returns the answers n times.
func repeated(n int, list ...answer) (all []answer) {
	for range n {
		all = append(all, list...)
	}
	return all
}

// answering is an arm of one VU's answers in turn, each after d.
func answering(name string, d time.Duration, answers []answer) Arm {
	n := 0
	return funcArm(name, func(context.Context) (load.Outcome, error) {
		time.Sleep(d)
		a := answers[n%len(answers)]
		n++
		return load.Outcome{Status: a.status, BodyIn: a.length, Content: &load.Content{StatusName: a.name, Type: []byte(a.media), Checked: a.checked}}, nil
	})
}

// The baseline answers in 10 ms, the candidate in 8: it is faster, if it does the same.
func TestAnswersThatDiffer(t *testing.T) {
	long := func(n int64) []answer { return []answer{{status: 200, media: "text/html", length: n}} }
	failing := answer{status: 500, media: "text/plain", length: 13}
	short := answer{status: 200, media: "text/plain", length: 13}
	call := func(status int, name string, n int64) []answer {
		return []answer{{status: status, name: name, length: n}}
	}
	mixed := []answer{long(100)[0], long(9000)[0]}
	checked := func(a answer) []answer { a.checked = true; return []answer{a} }
	for _, tt := range []struct {
		name       string
		base, cand []answer
		says       string // the text of the refusal; empty: not refused
	}{
		{"alike", []answer{page}, []answer{page}, ""},
		{"an error page", []answer{page}, []answer{short}, "A: 200 text/html, 2,000 bytes; B: 200 text/plain, 13 bytes"},
		{"another status", []answer{page}, []answer{{status: 204}}, "A: 200 text/html, 2,000 bytes; B: 204, 0 bytes"},
		{"another media type alone", []answer{page}, []answer{{status: 200, media: "text/plain", length: 2000}}, "B: 200 text/plain, 2,000 bytes"},
		{"10% longer", long(2000), long(2200), ""},
		{"11% longer", long(2000), long(2220), "B: 200 text/html, 2,220 bytes"},
		{"11% shorter", long(2000), long(1780), "B: 200 text/html, 1,780 bytes"},
		{"64 bytes longer", long(100), long(164), ""},
		{"65 bytes longer", long(100), long(165), "A: 200 text/html, 100 bytes; B: 200 text/html, 165 bytes"},
		{"a twentieth of another kind", []answer{page}, append(repeated(19, page), failing), ""},
		{"a quarter of another kind", []answer{page}, append(repeated(3, page), failing), "% of them), 2,000 bytes"},
		{"two lengths, in halves", mixed, []answer{mixed[1], mixed[1], mixed[0], mixed[0]}, ""},
		{"two lengths, in other shares", append(repeated(12, mixed...), mixed[0]), append(repeated(12, mixed...), mixed[1]), ""}, // 52% and 48%
		{"the shorter of two lengths", mixed, long(100), ""},                                                                     // which half of the baseline's have
		{"checked", checked(page), checked(failing), ""},
		{"one side is checked", checked(page), []answer{short}, "B: 200 text/plain, 13 bytes"},
		{"one is checked in part", append(checked(page), page), []answer{short}, "B: 200 text/plain"},
		{"gRPC, alike", call(0, "OK", 24), call(0, "OK", 24), ""},
		{"gRPC, 65 bytes longer", call(0, "OK", 24), call(0, "OK", 89), "A: OK, 24 bytes; B: OK, 89 bytes"},
		{"gRPC, another status", call(0, "OK", 24), call(5, "NotFound", 0), "A: OK, 24 bytes; B: NotFound, 0 bytes"},
		{"a message of another type", []answer{{media: "text", length: 24}}, []answer{{media: "binary", length: 24}}, "A: text, 24 bytes; B: binary, 24 bytes"},
		{"bytes alone", []answer{{length: 24}}, []answer{{length: 89}}, "A: 24 bytes; B: 89 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := design()
			d.Levels = []int{1}
			compare := func() Comparison {
				arms := []Arm{answering("A", 10*time.Millisecond, tt.base), answering("B", 8*time.Millisecond, tt.cand)}
				return compareInBubble(t, d, arms...).Comparisons[0]
			}
			c := compare()
			if tt.says == "" {
				if c.Verdict != stat.Faster {
					t.Errorf("%s: %v, want FASTER", c.Verdict, c.Reason)
				}
				return
			}
			if c.Verdict != stat.Invalid || !c.Reason.Is(finding.AnswersDiffer) || !strings.Contains(c.Reason.String(), tt.says) {
				t.Errorf("%s: %v, want INVALID %s with %q", c.Verdict, c.Reason, finding.AnswersDiffer.Code, tt.says)
			}
			if d.AnswersMayDiffer = true; compare().Verdict != stat.Faster {
				t.Error("refused although it is said to be meant")
			}
		})
	}
}

// Stored rounds are judged in the same way, if they have what answers were like.
func TestStoredAnswersThatDiffer(t *testing.T) {
	of := func(length int64, checked int64) []Cell {
		cells := visits(10, 10000, 10010, 10020, 9990, 9980, 10005)
		for _, c := range cells {
			c.Answers = &load.Answers{Kinds: []load.AnswerKind{{Status: 200, Count: c.Completed}},
				Bodies: []load.Bodies{{Count: c.Completed, Bytes: length * c.Completed}}, Checked: checked * c.Completed}
		}
		return cells
	}
	for _, tt := range []struct {
		name       string
		base, cand []Cell
		mayDiffer  bool
		verdict    stat.Verdict
	}{
		{"alike", of(2000, 0), of(2000, 0), false, stat.Equivalent},
		{"shorter", of(2000, 0), of(13, 0), false, stat.Invalid},
		{"shorter, as is meant", of(2000, 0), of(13, 0), true, stat.Equivalent},
		{"shorter and checked", of(2000, 1), of(13, 1), false, stat.Equivalent},
		{"not known of one", of(2000, 0), visits(10, 10000, 10010, 10020, 9990, 9980, 10005), false, stat.Equivalent},
	} {
		a := apart(tt.base, tt.cand)
		a.AnswersMayDiffer = tt.mayDiffer
		a.Derive()
		c := a.Comparisons[0]
		if c.Verdict != tt.verdict || (c.Verdict == stat.Invalid) != c.Reason.Is(finding.AnswersDiffer) {
			t.Errorf("%s: %s, %v, want %s", tt.name, c.Verdict, c.Reason, tt.verdict)
		}
	}
}
