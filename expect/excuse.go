package expect

import (
	"slices"
	"strings"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// Doubt returns why the figures of a run, or the outcomes of the claims about it, are INVALID, or nil. A cause
// that can only have made the server look slower does not change a claim that holds in spite of it. What spoils
// no claim, such as throughput that rises and falls, does not count.
func Doubt(c trial.Cell, claims []Expectation) *finding.Warning {
	why, bound := c.Spoilt()
	if c.Script != nil && c.Completed > 0 && (why.Is(finding.Errors) && !slices.ContainsFunc(claims, Expectation.counts) ||
		why.Is(finding.Incomplete) && !slices.ContainsFunc(claims, Expectation.own)) {
		return nil // it is for the script's thresholds to say how many are too many
	}
	if why != nil && !bound {
		return why
	}
	var excuse *finding.Warning
	undecided := len(claims) == 0 && !c.TooShort() // a glimpse does not show what the server comes to
	for i := range claims {
		switch x := &claims[i]; {
		case x.Excuse != nil:
			excuse = x.Excuse
		case !x.Held:
			return nil // that is the answer
		case why != nil && !x.survives(c, why):
			undecided = true
		}
	}
	if excuse == nil && undecided {
		return why
	}
	return excuse
}

// survives reports whether a claim that holds would also hold without what made the server look slower.
func (e *Expectation) survives(c trial.Cell, why *finding.Warning) bool {
	if !e.own() {
		return true // scripts decide by what they saw
	}
	b, err := ParseBound(e.Text)
	if err != nil {
		return false
	}
	fewer := c.Model != load.OpenModel && why.Is(finding.GeneratorSaturated) // callers at a time than were asked for
	switch b.Metric.Kind().Verdict() {
	case stat.HigherIsFaster:
		return !b.IsUpper()
	case stat.LowerIsFaster:
		return b.IsUpper() && !fewer
	}
	return !fewer
}

// CountsAny reports whether one of the claims is about how many iterations came to what.
func CountsAny(claims []string) bool {
	return slices.ContainsFunc(claims, func(text string) bool { return Expectation{Text: text}.counts() })
}

func (e Expectation) counts() bool {
	c, err := parse(e.Text)
	return e.own() && err == nil && c.left.metric.Kind() == metric.Count
}

// own reports whether a claim is not one of a script's thresholds.
func (e Expectation) own() bool {
	_, threshold := load.ParseThreshold(e.Text)
	return !threshold
}

// Weigh looks for what explains that a claim about a run does not hold, other than the server: then nothing is decided.
func (e *Expectation) Weigh(c trial.Cell) {
	if e.Excuse = nil; e.Held {
		return
	}
	b, err := ParseBound(e.Text)
	if err != nil || c.Incomplete() {
		return
	}
	why, bound := c.Spoilt()
	switch kind := b.Metric.Kind().Verdict(); {
	case kind != stat.LowerIsFaster && kind != stat.HigherIsFaster || b.IsUpper() != (kind == stat.LowerIsFaster):
		return
	case why != nil && bound && kind == stat.HigherIsFaster:
		if value, ok := b.Metric.Of(c.Result); !ok || !b.Holds(value*c.Headroom()) {
			return
		}
	case why != nil && bound:
		if !b.Holds(float64(c.Service.Quantile(0))) { // even the quickest was too slow
			return
		}
	case c.Model == load.OpenModel && b.HoldsOfService(c.Result):
		why = c.TooLate()
	default:
		return
	}
	if why != nil {
		e.Excuse = &finding.Warning{Code: why.Code, Text: e.Detail + ", but " + why.Text}
	}
}

// HoldsOfService reports whether a bound of response times holds of the service times: only late starts break it.
func (b Bound) HoldsOfService(r *load.Result) bool {
	which, isResponse := strings.CutPrefix(string(b.Metric), "response_")
	service, measured := metric.Name("service_" + which).Of(r)
	return isResponse && measured && b.Holds(service)
}
