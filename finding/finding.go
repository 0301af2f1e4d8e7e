// Package finding is the table of all warnings and refusals: the code, what it
// says, what to do about it, and the thresholds above which a result gets the
// warning or is INVALID. It imports no other package of this module.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/internal/lazyregexp"
	"contend/internal/unit"
)

// A Warning says why a figure must be read with care or, as the reason of a
// comparison, why it has no verdict. It is not an error: the figure was computed.
type Warning struct {
	Code string `json:"code"` // of a Kind: stable, snake_case
	Text string `json:"text"` // one sentence about this case, for people
	// Arm is the one of a comparison that it is about; "" is all of them.
	Arm string `json:"arm,omitempty"`
}

// About returns the warning as one about an arm.
func (w Warning) About(arm string) *Warning {
	w.Arm = arm
	return &w
}

// String is the text after the name of the arm.
func (w Warning) String() string {
	if w.Arm == "" {
		return w.Text
	}
	return w.Arm + ": " + w.Text
}

// Short is the warning in the words of its kind, which fit a line of a page, and with the figure
// that matters; its text where the kind is not known.
func (w Warning) Short() string {
	i := Rank(Current(w.Code))
	if i < 0 {
		return w.Text
	}
	says, found := table[i].filled().Says, ""
	if table[i].Figure {
		found = figure().FindString(w.Text)
	}
	if found == "" {
		return says
	}
	return says + " (" + found + ")"
}

// Aside reports whether the kind of the warning is one that casts no doubt on any figure.
func (w Warning) Aside() bool {
	i := Rank(Current(w.Code))
	return i >= 0 && table[i].Aside
}

// figure is one with a unit: 97%, 215ms; or how something went over time.
var figure = lazyregexp.New(`\d+ requests, so [^:;]*|[\d.,]+ \S+, [\d.]+% of [^,:;]*|(gets|becomes|goes up) [^;]*|\d[^:;]*( times|, using [^,:;]*)|\d[^:;]* in the first[^:;]* in the last|[+-]?\d[\d.,]* ?(%|ns|µs|ms|s\b)`)

// InServer reports whether the cause of a warning of this code is in the server.
func InServer(code string) bool {
	i := Rank(Current(code))
	return i >= 0 && table[i].InServer
}

// A Kind is a row of the table: everything that is the same in all warnings of
// one code.
type Kind struct {
	Code string
	// Says is what it says without the figures of a case: with the code before it, a
	// line of a page. {warns} and {refuses} are as in When.
	Says string
	// Figure says that the first figure with a unit in a warning's text, such as a share, is the
	// amount: a page has it after Says.
	Figure bool
	// Aside says that it tells what is not known and casts no doubt on what is: a page counts
	// it among the notes.
	Aside bool
	// InServer says that its cause is in the server, so that a page advises to remove it before anything else.
	InServer bool
	// When says in a line when it is given ("": Says does), and Advice what to do about
	// it, both with `code` as in Markdown. {warns} and {refuses} are placeholders of the
	// thresholds; Kinds and Advice fill them.
	When, Advice string
	// Spares says what is valid in spite of the refusal; "": nothing.
	Spares string
	// OfRun and OfVerdict are the false claims that it prevents by ending with exit code 4: a run; and a comparison,
	// a sweep or a search. "": it ends none. docs/exit-codes.md has them.
	OfRun, OfVerdict string
	// Warns and Refuses are the thresholds beyond which a figure gets the warning,
	// and beyond which no verdict may rest on it: shares from 0 to 1, or numbers.
	// 0: it is not a matter of one number. They are conventions of this project;
	// docs/measuring.md argues for each.
	Warns, Refuses float64
}

// Warning returns a warning of this kind with a text in the manner of
// fmt.Sprintf.
func (k Kind) Warning(format string, args ...any) Warning {
	return Warning{Code: k.Code, Text: fmt.Sprintf(format, args...)}
}

// Refusal returns such a warning as the reason of a missing verdict.
func (k Kind) Refusal(format string, args ...any) *Warning {
	return new(k.Warning(format, args...))
}

// Is reports whether the warning is of the kind. A nil Warning is of none.
func (w *Warning) Is(k Kind) bool { return w != nil && w.Code == k.Code }

// In reports whether one of the warnings is of the kind.
func (k Kind) In(list []Warning) bool {
	return slices.ContainsFunc(list, func(w Warning) bool { return w.Is(k) })
}

// table has the kinds in the order of their declaration.
var table []Kind

// kind adds a row to the table.
func kind(k Kind) Kind {
	table = append(table, k)
	return k
}

// Where StartLag begins: the start lag that response times may have in them. In p99 it
// is the greater of a time and a share of p99; on average, in the open model, the
// greater of a time that the timers of a generator with nothing else to do can need
// (Linux, timerfd) and a share of the mean.
const (
	TailLag      = time.Millisecond
	TailLagShare = 0.10
	MeanLag      = 100 * time.Microsecond
	MeanLagShare = 0.05
)

// DelayedAck needs a median answer with at most ShortAnswer bytes of content that takes
// this long from first to last byte. Linux delays an acknowledgement by 40 ms
// (TCP_DELACK_MIN in include/net/tcp.h), and by up to a tick more, of 10 ms at most.
const (
	AckDelayFrom = 38 * time.Millisecond
	AckDelayTo   = 50 * time.Millisecond
	ShortAnswer  = 64 << 10
)

// LateContinue is the least time until 100 Continue that ContinueLate is given for.
const LateContinue = time.Millisecond

// SameLength is by how many bytes the median answers of two arms may differ at least: as
// much as names, dates and identifiers in them do.
const SameLength = 64

// filled puts the thresholds in place of {warns} and {refuses} in the words.
func (k Kind) filled() Kind {
	fill := strings.NewReplacer("{warns}", threshold(k.Warns), "{refuses}", threshold(k.Refuses))
	k.Says, k.When, k.Advice = fill.Replace(k.Says), fill.Replace(cmp.Or(k.When, k.Says)), fill.Replace(k.Advice)
	k.OfRun, k.OfVerdict = fill.Replace(k.OfRun), fill.Replace(k.OfVerdict)
	return k
}

// RefusedOver says from which share on what is warned of before is refused; "": no other, or
// under another code.
func (k Kind) RefusedOver() string {
	if k.Warns == 0 || k.Refuses <= k.Warns || k.Refuses >= 1 || k.Code == GeneratorShare.Code {
		return ""
	}
	return "; INVALID above " + threshold(k.Refuses)
}

// threshold formats a share as 0.1%, and a number of 1 or more as it is.
func threshold(x float64) string {
	if x < 1 {
		return unit.Percent(x)
	}
	return unit.Exactly(x)
}

// Kinds returns the table, from what spoils a figure to what only qualifies it.
func Kinds() []Kind {
	kinds := make([]Kind, len(table))
	for i, k := range table {
		kinds[i] = k.filled()
	}
	return kinds
}

// Rank returns the place of a code in the table, from 0, which begins with what spoils most; −1
// for a code that is not in it, as another version's may be.
func Rank(code string) int {
	return slices.IndexFunc(table, func(k Kind) bool { return k.Code == code })
}

// former has the codes of older documents that have another name now.
var former = map[string]string{"rate_missed": Incomplete.Code, "censored": Incomplete.Code}

// Current returns the present name of a code of an older document.
func Current(code string) string { return cmp.Or(former[code], code) }

// Advice returns, without markup, what to do about a warning of this code; ""
// for a code that is not in the table, as another version's may be.
func Advice(code string) string {
	code = Current(code)
	i := Rank(code)
	if i < 0 {
		return ""
	}
	return strings.ReplaceAll(table[i].filled().Advice, "`", "")
}
