// Package expect parses and checks claims about results, such as p99 < 20ms.
package expect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/setting"
	"contend/trial"
)

// An Expectation is a claim about results, such as
//
//	errors == 0
//	throughput_per_s >= 1000
//	response p99 < 20ms
//	errors < 0.1%
//	queue.throughput >= 0.98 * lock.throughput
//
// The left side of the comparison is [ARM.]METRIC, the right side a number, a duration, a percentage of the
// iterations that were planned, or [FACTOR *] [ARM.]METRIC. Metrics are written as metric.Parse reads them.
// What a script measures has the form of its thresholds, as in http_req_duration p(95) < 500: see
// load.Threshold. Without an arm it holds for every arm; with several levels it holds at each.
type Expectation struct {
	Part string `json:"part,omitempty"`
	Text string `json:"text"`
	Held bool   `json:"held"`
	// Detail names the figures of every violation, or says what is missing.
	Detail string `json:"detail,omitempty"`
	// Excuse is what explains that the claim about a run does not hold, other than the server; nil: nothing does.
	Excuse *finding.Warning `json:"excuse,omitempty"`
}

// A Bound is a claim about one metric of whatever is measured, such as
// response_p99_ns < 20ms.
type Bound struct {
	Metric   metric.Name
	Operator string // one of >= <= == != > <
	Value    float64
	// OfPlanned says that Value is a share of the iterations that were planned.
	OfPlanned bool
}

// ParseBound returns an error when the text is not METRIC OPERATOR NUMBER.
func ParseBound(text string) (Bound, error) {
	c, err := parse(text)
	b, ok := c.bound()
	if err == nil && !ok {
		err = fmt.Errorf("%q; expected one metric and a bound", text)
	}
	return b, err
}

// bound returns the claim as one about any arm; false: it names one, or compares metrics.
func (c claim) bound() (Bound, bool) {
	share := c.right.metric == planned
	return Bound{c.left.metric, c.operator, c.right.factor, share},
		c.left.arm == "" && c.right.arm == "" && (share || c.right.metric == "")
}

// IsUpper reports whether the bound is the most that the metric may be.
func (b Bound) IsUpper() bool { return b.Operator == "<" || b.Operator == "<=" || b.Operator == "==" }

// Of returns the bound as one for so many planned iterations: a share is a number then.
func (b Bound) Of(iterations int64) Bound {
	if b.OfPlanned {
		b.Value, b.OfPlanned = b.Value*float64(iterations), false
	}
	return b
}

// Holds reports whether a value keeps within the bound, which is not a share.
func (b Bound) Holds(value float64) bool { return load.Holds(value, b.Operator, b.Value) }

// AllowedErrors is the share of so many planned iterations that may fail or err by the
// strictest of the claims about errors of any arm; 0: no such claim. A claim about a number
// of errors counts if the number of iterations is known, above 0.
func AllowedErrors(claims []string, iterations int64) float64 {
	strictest := math.Inf(1)
	for _, text := range claims {
		b, err := ParseBound(text)
		switch {
		case err != nil || b.Metric != metric.Errors || !b.IsUpper():
		case b.OfPlanned:
			strictest = min(strictest, b.Value)
		case iterations > 0:
			strictest = min(strictest, b.Value/float64(iterations))
		}
	}
	if math.IsInf(strictest, 1) {
		return 0
	}
	return strictest
}

type claim struct {
	left, right term
	operator    string
}

type term struct {
	arm    string
	metric metric.Name // "" for a plain number
	factor float64
}

// operators are the alternatives of a regular expression.
const operators = ">=|<=|==|!=|>|<"

var (
	claimForm     = lazyregexp.New(`^(.+?)\s*(` + operators + `)\s*(.+)$`)
	operatorChars = lazyregexp.New(`[<>=!]+(?:\s+[<>=!]+)*`)
)

// Parse returns an error if the text is not a claim or names an unknown metric.
func Parse(text string) (Expectation, error) {
	if _, ok := load.ParseThreshold(text); ok {
		return Expectation{Text: text}, nil
	}
	_, err := parseExpectation(text)
	return Expectation{Text: text}, err
}

func parseExpectation(text string) (claim, error) {
	c, err := parse(text)
	if err != nil {
		return claim{}, fmt.Errorf("expectation %w", err)
	}
	return c, nil
}

func parse(text string) (claim, error) {
	known := strings.Split(operators, "|")
	if o := operatorChars().FindString(text); o != "" && !slices.Contains(known, o) {
		return claim{}, fmt.Errorf("%q: unknown operator %s; expected one of %s, as in p99 < 20ms", text, o, strings.Join(known, " "))
	}
	parts := claimForm().FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return claim{}, fmt.Errorf("%q; expected METRIC OPERATOR NUMBER, as in p99 < 20ms, with one of %s", text, strings.Join(known, " "))
	}
	if claimForm().MatchString(parts[3]) {
		return claim{}, fmt.Errorf("%q holds more than one claim; state each on its own", text)
	}
	c := claim{operator: parts[2]}
	var err error
	if c.left, err = parseTerm(parts[1]); err != nil {
		return claim{}, fmt.Errorf("%q: %w", text, err)
	}
	if c.left.metric == "" {
		return claim{}, fmt.Errorf("%q: a metric must stand on the left", text)
	}
	if c.right, err = parseTerm(parts[3]); err != nil {
		return claim{}, fmt.Errorf("%q: %w", text, err)
	}
	if isShare(parts[3]) && c.left.metric.Kind() != metric.Count {
		return claim{}, fmt.Errorf("%q: percentages work only for counts such as errors, not for %s", text, c.left.metric.Words())
	}
	kind := c.left.metric.Kind()
	_, per, fixed := amount(parts[3])
	switch named := strings.HasSuffix(strings.TrimSpace(parts[1]), string(c.left.metric)); { // its unit, too
	case fixed && per == "" && c.right.factor != 0 && kind == metric.Time && !named:
		return claim{}, fmt.Errorf("%q: a time needs a unit, as in 20ms", text)
	case fixed && per != "" && per != kind.Unit():
		return claim{}, fmt.Errorf("%q: expected an amount of %s, as in %s", text, c.left.metric.Words(), examples[kind.Unit()])
	}
	return c, nil
}

// examples are amounts of each unit.
var examples = map[string]string{"": "500", "/s": "500/s", "ns": "20ms", "B": "64MB", "B/s": "64MB/s"}

// amount reads a number with its unit, if it has one, as it is typed or as pages print it: 20ms, 1,000/s, 64 MB.
// The unit is ns, /s, B, B/s, or "" for a number alone.
func amount(text string) (value float64, unit string, ok bool) {
	text = strings.ReplaceAll(thousands().ReplaceAllString(text, "$1"), " ", "")
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, "", true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d), "ns", true
	}
	text, perSecond := strings.CutSuffix(text, "/s")
	if perSecond {
		unit = "/s"
	}
	if strings.HasSuffix(text, "B") {
		unit = "B" + unit
	}
	value, ok = setting.Bytes(text)
	return value, unit, ok && unit != ""
}

// thousands are what sets them apart.
var thousands = lazyregexp.New(`,(\d{3})\b`)

func isShare(text string) bool { return strings.HasSuffix(text, "%") }

func parseTerm(text string) (term, error) {
	text = strings.TrimSpace(text)
	if number, share := strings.CutSuffix(text, "%"); share {
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			return term{}, fmt.Errorf("%q is not a percentage", text)
		}
		return term{metric: planned, factor: n / 100}, nil
	}
	if n, _, ok := amount(text); ok {
		return term{factor: n}, nil
	}
	t := term{factor: 1}
	if factor, rest, ok := strings.Cut(text, "*"); ok {
		n, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
		if err != nil {
			return term{}, fmt.Errorf("factor %q is not a number", strings.TrimSpace(factor))
		}
		t.factor, text = n, strings.TrimSpace(rest)
	}
	t.arm, t.metric = split(text)
	return t, t.metric.Check()
}

// planned is what percentages are of.
const planned metric.Name = "planned"

// split takes an arm off the metric after it; both may have dots, as in p99.9.
func split(text string) (arm string, name metric.Name) {
	name, known := metric.Parse(text)
	for i := 0; !known; i++ {
		next := strings.IndexByte(text[i:], '.')
		if next < 0 {
			break
		}
		i += next
		arm = text[:i]
		name, known = metric.Parse(text[i+1:])
	}
	if !known && strings.IndexAny(string(name), "0123456789") == 0 {
		return "", metric.Name(text) // a percentile that there is not, such as p97.5
	}
	return arm, name
}

// Check decides whether the claim holds for the cells. Missing figures, or figures of
// a result that is incomplete, break it: what was not measured has failed.
func (e *Expectation) Check(cells []trial.Cell) {
	e.Held, e.Detail = false, ""
	about, check, err := e.checker()
	if err != nil {
		e.Detail = err.Error()
		return
	}
	var broken []string
	measured := false
	for _, left := range cells {
		if about != "" && left.Arm != about {
			continue
		}
		measured = true
		if held, detail := check(left, cells); !held {
			broken = append(broken, detail)
		}
	}
	e.Held, e.Detail = measured && len(broken) == 0, strings.Join(broken, "; ")
	if !measured {
		e.Detail = "nothing was measured"
	}
}

// checker returns the arm that the claim is about, "" for every one, and what decides it for a cell.
func (e *Expectation) checker() (arm string, check func(left trial.Cell, cells []trial.Cell) (bool, string), err error) {
	if t, ok := load.ParseThreshold(e.Text); ok {
		return "", func(cell trial.Cell, cells []trial.Cell) (bool, string) {
			held, detail := t.Check(cell.Result)
			if at := named(cell, cells); at != "" {
				detail = at + ": " + detail
			}
			return held, detail
		}, nil
	}
	c, err := parseExpectation(e.Text)
	return c.left.arm, c.check, err
}

// Broken returns the cells for which the claim does not hold, or whose figures are missing.
func (e Expectation) Broken(cells []trial.Cell) []trial.Cell {
	about, check, err := e.checker()
	if err != nil {
		return nil
	}
	var broken []trial.Cell
	for _, left := range cells {
		if held, _ := check(left, cells); !held && (about == "" || left.Arm == about) {
			broken = append(broken, left)
		}
	}
	return broken
}

func (c claim) check(left trial.Cell, cells []trial.Cell) (bool, string) {
	at := named(left, cells)
	if at != "" {
		at += ": "
	}
	x, wrong := figure(left, c.left.metric, cells)
	if wrong != "" {
		return false, wrong
	}
	y, wrong := c.right.of(left, cells)
	if wrong != "" {
		return false, at + "the right side has no figure: " + wrong
	}
	shown, exactly := c.left.metric.Format, c.left.metric.Exactly
	if c.right.metric == planned && left.Planned > 0 {
		share := func(value float64) float64 { return value / float64(left.Planned) }
		shown = func(value float64) string { return unit.Percent(share(value)) }
		exactly = func(value float64) string { return unit.Exactly(100*share(value)) + "%" }
	}
	if shown(x) == shown(y) { // they differ beyond the digits of tables
		shown = exactly
	}
	was := "was"
	if first, _, _ := strings.Cut(c.left.metric.Words(), " "); strings.HasSuffix(first, "s") {
		was = "were"
	}
	detail := fmt.Sprintf("%s%s %s %s", at, c.left.metric.Words(), was, shown(x))
	if constant := c.right.metric == "" || c.right.metric == planned; !constant {
		detail += fmt.Sprintf(", not %s %s", c.operator, shown(y))
	}
	return load.Holds(x, c.operator, y), detail
}

// named says which of the cells one is, as far as they differ: mutex at concurrency 10; "": it is
// the only one, and has no name.
func named(c trial.Cell, cells []trial.Cell) string {
	name := c.Arm
	if slices.ContainsFunc(cells, func(other trial.Cell) bool { return other.Concurrency != c.Concurrency }) {
		name += fmt.Sprintf(" at concurrency %d", c.Concurrency)
	}
	return strings.TrimSpace(name)
}

// figure reads a metric of one of the cells, or says why it has no value.
func figure(c trial.Cell, m metric.Name, cells []trial.Cell) (value float64, wrong string) {
	name := cmp.Or(named(c, cells), "the result")
	value, ok := m.Of(c.Result)
	switch {
	case c.Incomplete():
		return 0, name + " is incomplete"
	case !ok:
		return 0, fmt.Sprintf("%s has no %s", name, m)
	}
	return value, ""
}

// of reads the term at the level of the cell on the left, or says why it has no value.
func (t term) of(left trial.Cell, cells []trial.Cell) (value float64, wrong string) {
	if t.metric == "" {
		return t.factor, ""
	}
	cell := left
	if t.arm != "" {
		i := slices.IndexFunc(cells, func(c trial.Cell) bool { return c.Arm == t.arm && c.Concurrency == left.Concurrency })
		if i < 0 {
			return 0, fmt.Sprintf("%s was not measured at concurrency %d", t.arm, left.Concurrency)
		}
		cell = cells[i]
	}
	value, wrong = figure(cell, t.metric, cells)
	return t.factor * value, wrong
}

// Arms returns the names of the arms that the expectation mentions.
func (e Expectation) Arms() []string {
	c, _ := parse(e.Text)
	var arms []string
	for _, arm := range []string{c.left.arm, c.right.arm} {
		if arm != "" {
			arms = append(arms, arm)
		}
	}
	return arms
}
