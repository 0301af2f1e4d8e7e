// Package metric is the table of the metrics that can be compared, expected,
// searched for and shown, each with its name, kind, words and how to read it from
// a result. The metrics of times are every statistic of every histogram.
package metric

import (
	"maps"
	"slices"
	"strings"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/setting"
	"contend/stat"
)

// A Name names a metric by its path in the report document, the same in
// comparisons, expectations, objectives and views. It ends in its unit, unless
// that is one.
type Name string

// A Kind says in what a metric is measured and what a larger value means.
type Kind int

// The kinds of metric.
const (
	Count   Kind = iota // iterations
	Rate                // operations per second
	Time                // of an iteration or operation, in nanoseconds
	Cost                // CPU time of an operation, in nanoseconds
	Events              // of an operation, that counters count
	Size                // bytes
	Traffic             // bytes per second
)

// kinds has the unit of each kind, the words of its verdicts, as only rates and
// times are speeds, and the largest relative difference that does not matter unless
// somebody says otherwise. The margins are conventions of this project: counts of
// equal servers lie ten times closer together than their times.
var kinds = [...]struct {
	unit   string
	means  stat.Kind
	margin float64
}{
	Count: {"", stat.Amount, 0.02}, Rate: {"/s", stat.HigherIsFaster, 0.02}, Time: {"ns", stat.LowerIsFaster, 0.02},
	Cost: {"ns", stat.Amount, 0.02}, Events: {"", stat.Amount, 0.005}, Size: {"B", stat.Amount, 0.02}, Traffic: {"B/s", stat.Amount, 0.02},
}

// Unit is the unit of the values: ns, /s, B, B/s, or "" for a number.
func (k Kind) Unit() string { return kinds[k].unit }

// Verdict says what a larger value means for the verdict of a comparison.
func (k Kind) Verdict() stat.Kind { return kinds[k].means }

// Margin returns the largest relative difference of two arms in the metric that does
// not matter unless somebody says otherwise, as a fraction.
func (n Name) Margin() float64 { return kinds[n.Kind()].margin }

// Kind returns the kind; that of a name that is not in the table, as a published
// figure may have, follows from the unit that it ends in.
func (n Name) Kind() Kind {
	if row, ok := byName()[n]; ok {
		return row.Kind
	}
	text := string(n)
	perSecond, inBytes := strings.HasSuffix(text, "_per_s"), strings.Contains("_"+text+"_", "_bytes_")
	switch {
	case perSecond && inBytes:
		return Traffic
	case perSecond:
		return Rate
	case inBytes:
		return Size
	case strings.HasSuffix(text, "_ns"):
		return Time
	case strings.HasSuffix(text, "_ns_per_op"):
		return Cost
	case strings.HasSuffix(text, "_per_op"):
		return Events
	}
	return Count
}

// Words is the metric in words, as in tables.
func (n Name) Words() string {
	if row, ok := byName()[n]; ok {
		return row.Words
	}
	text := strings.TrimSuffix(string(n), "_ns")
	if what, ok := strings.CutSuffix(text, "_per_s"); ok {
		text = what + "_per_second"
	}
	return strings.ReplaceAll(text, "_", " ")
}

// shorter keeps tables within the width of a terminal.
var shorter = strings.NewReplacer(" time ", " ", " per op", "/op")

// ShortWords is Words as at the head of a column: response p99, server CPU/op.
func (n Name) ShortWords() string { return shorter.Replace(n.Words()) }

// Of reads the metric from a result; false means that the result has no such
// figure.
func (n Name) Of(r *load.Result) (float64, bool) {
	row, ok := byName()[n]
	if !ok {
		return 0, false
	}
	return row.read(r)
}

// Beside reads the metric from a result that is shown next to others. It is also
// false for a rate of a result that is incomplete: such a rate covers only the
// part that was quick enough.
func (n Name) Beside(r *load.Result) (float64, bool) {
	kind := n.Kind()
	if r.Incomplete() && (kind == Rate || kind == Traffic || n == WallPerOp) {
		return 0, false
	}
	return n.Of(r)
}

// Recorded returns how many times a metric of times rests on; false means that
// the metric is of another kind or that the result has no such histogram.
func (n Name) Recorded(r *load.Result) (int64, bool) {
	of := byName()[n].histogram
	if of == nil || of(&r.Counts) == nil {
		return 0, false
	}
	return of(&r.Counts).Count(), true
}

// Percentile returns which quantile, from 0 to 1, the metric is; false if it is
// not a quantile.
func (n Name) Percentile() (float64, bool) {
	q := byName()[n].quantile
	return q, q > 0
}

// IsResponse reports whether the metric is of response times.
func (n Name) IsResponse() bool { return strings.HasPrefix(string(n), "response_") }

// Longer returns how many of the times that a percentile rests on are longer than a bound, and of how many.
func (n Name) Longer(r *load.Result, bound time.Duration) (longer, of int64) {
	if recorded, ok := n.Recorded(r); ok {
		return recorded - byName()[n].histogram(&r.Counts).CountsUpTo(bound)[0], recorded
	}
	return 0, 0
}

// Estimate returns the logarithm of a percentile and its standard error (hist.Histogram.Estimate);
// false means that the metric is not a percentile, or that the result has no such times.
func (n Name) Estimate(r *load.Result) (log, standardError float64, ok bool) {
	q, isPercentile := n.Percentile()
	if recorded, has := n.Recorded(r); !isPercentile || !has || recorded == 0 {
		return 0, 0, false
	}
	log, standardError = byName()[n].histogram(&r.Counts).Estimate(q)
	return log, standardError, true
}

// Event returns the event that the metric counts per operation; false means that it
// counts none.
func (n Name) Event() (perf.Event, bool) {
	event := byName()[n].event
	return event, event != ""
}

// Check returns a *setting.Mistake that says what is allowed when there is no
// such metric.
func (n Name) Check() error {
	if _, ok := byName()[n]; ok {
		return nil
	}
	m := setting.Setting{Name: "metric"}.Wrong("is %q", string(n))
	m.Allowed, m.Meant = allowed, meant(string(n))
	return m
}

// meant returns the metric that a text is a slip of the keyboard away from, or the first
// of the table that has it in its name or its words; "": none.
func meant(text string) string {
	if near := setting.Nearest(text, slices.Concat(Names(), words())); near != "" || len(text) < 3 {
		return near
	}
	for _, row := range rows {
		if strings.Contains(spelling(string(row.Name)+" "+row.Words), spelling(text)) {
			return row.Words
		}
	}
	return ""
}

// Parse returns the metric that a text names: by its name, by its words as they are printed, such as
// "throughput", "server CPU per op", "server CPU/op" or "response p99", or, of response times, by the
// statistic alone, such as "p99.9", or as other tools call it, such as "RPS". False means that no metric
// has that name; then the name is the text.
func Parse(text string) (Name, bool) {
	if _, ok := byName()[Name(text)]; ok {
		return Name(text), true
	}
	if name, ok := bySpelling()[spelling(text)]; ok {
		return name, true
	}
	if name, ok := elsewhere()[spelling(text)]; ok {
		return name, true
	}
	return Name(text), false
}

// UnmarshalText reads what Parse does; a text that names no metric stays as it is, as
// the figures that others published have names of their own. See Check.
func (n *Name) UnmarshalText(text []byte) error {
	*n, _ = Parse(string(text))
	return nil
}

// spelling is a name or its words without what they differ in.
func spelling(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(text), "_", " ")), " ")
}

// Names returns the names of all metrics, sorted.
func Names() []string {
	var names []string
	for name := range byName() {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// words returns the spellings of all metrics.
func words() []string { return slices.Collect(maps.Keys(bySpelling())) }

// allowed names the common ones: all are hundreds of words.
const allowed = "throughput, errors, server CPU per op, server memory, and mean, p50, p90, p95, p99, p99.9 or max of response times, " +
	"as of others in service p99; contend explain --full metric lists all"
