package load

import (
	"fmt"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
)

// A Threshold is a claim about what flows measure of themselves, as scripts have them:
//
//	http_req_duration{name:login} p(95) < 500
//
// The left side of the comparison is a meter and one of its figures, the right side a number; a
// meter of times has milliseconds.
type Threshold struct {
	Meter, Stat string
	Operator    string // one of >= <= == != > <
	Value       float64
}

var thresholdForm = lazyregexp.New(`^([A-Za-z_]\w*(?:\{.*\})?)\s+([a-z]+(?:\([^)]*\))?)\s*(>=|<=|===?|!=|>|<)\s*([-+.\w]+)$`)

// ParseThreshold returns false where the text has not this form.
func ParseThreshold(text string) (t Threshold, ok bool) {
	parts := thresholdForm().FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil || !isMeterStat(parts[2]) {
		return t, false
	}
	value, err := strconv.ParseFloat(parts[4], 64)
	return Threshold{parts[1], parts[2], strings.Replace(parts[3], "===", "==", 1), value}, err == nil
}

// isMeterStat reports whether a meter of any kind has a figure of that name.
func isMeterStat(stat string) bool {
	for kind := range meterStats {
		if HasMeterStat(kind, stat) {
			return true
		}
	}
	return false
}

// Check decides whether the claim holds for a result, and says in what way it does not.
func (t *Threshold) Check(r *Result) (held bool, detail string) {
	m := r.Meter(t.Meter)
	if m == nil {
		return false, fmt.Sprintf("nothing is measured that is called %s", t.Meter)
	}
	if m.Kind == RateMeter && m.Total == 0 { // there is no rate that could break it, as in k6
		return true, "it has no values"
	}
	value, ok := m.Stat(t.Stat, r.MeterTime())
	if !ok {
		return false, fmt.Sprintf("%s has no %s", t.Meter, t.Stat)
	}
	unit := ""
	if m.Time && t.Stat != "count" {
		unit = " ms"
	}
	shown := strconv.FormatFloat(value, 'g', 4, 64)
	if strconv.FormatFloat(t.Value, 'g', 4, 64) == shown {
		shown = strconv.FormatFloat(value, 'g', -1, 64)
	}
	return Holds(value, t.Operator, t.Value), "it is " + shown + unit
}

// Holds compares by one of >= <= == != > <.
func Holds(x float64, operator string, y float64) bool {
	switch operator {
	case ">=":
		return x >= y
	case "<=":
		return x <= y
	case "==":
		return x == y
	case "!=":
		return x != y
	case ">":
		return x > y
	}
	return x < y
}
