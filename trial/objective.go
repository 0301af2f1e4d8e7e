package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/metric"
	"contend/setting"
	"contend/stat"
)

// objectives returns the parsed objectives and every mistake in them.
func (d SearchDesign) objectives() ([]claim, error) {
	var claims []claim
	var errs []error
	for _, text := range d.Objectives {
		c, err := parseClaim(text)
		wrong := func(format string, args ...any) {
			errs = append(errs, setting.At(&d, &d.Objectives).Wrong(format, args...))
		}
		switch {
		case err != nil:
			wrong("is %s", strings.TrimPrefix(err.Error(), "expectation "))
			continue
		case c.left.arm != "" || c.right.arm != "" || c.right.metric != "":
			wrong("is %q; allowed: one metric and a bound", text)
		case c.operator != "<" && c.operator != "<=" && c.operator != "==":
			wrong("is %q; allowed: an upper bound, with <, <= or ==", text)
		}
		claims = append(claims, c)
	}
	return claims, errors.Join(errs...)
}

// Metrics returns the metrics of the objectives.
func (s *Search) Metrics() []metric.Name {
	claims, _ := s.Design.objectives()
	var list []metric.Name
	for _, c := range claims {
		if !slices.Contains(list, c.left.metric) {
			list = append(list, c.left.metric)
		}
	}
	return list
}

// samples returns how many answers an attempt needs.
func (d SearchDesign) samples() float64 {
	claims, _ := d.objectives()
	most := finding.FewSamples.Refuses
	for _, c := range claims {
		if q, ok := c.left.metric.Percentile(); ok {
			most = max(most, finding.FewSamples.Refuses/(1-q))
		}
	}
	return most
}

// A AttemptOutcome says whether a rate was sustained.
type AttemptOutcome string

// The outcomes.
const (
	AttemptHeld   AttemptOutcome = "held"
	AttemptMissed AttemptOutcome = "missed"
	// AttemptDoubted missed, but because of the generator.
	AttemptDoubted AttemptOutcome = "doubted"
)

// judge decides whether the cell's rate was sustained. An attempt that held is
// believed whatever the generator did: its times include every late start, and
// arrivals in bunches are no easier to serve. One that missed is doubted where
// the generator explains it.
func (s *Search) judge(c Cell) (AttemptOutcome, *finding.Warning) {
	reason, lagged := s.misses(c)
	if reason == nil {
		return AttemptHeld, nil
	}
	if excuse := s.excuse(c, lagged); excuse != nil {
		excuse.Text = reason.Text + ", but " + excuse.Text
		return AttemptDoubted, excuse
	}
	return AttemptMissed, reason
}

// excuse returns what of the generator or the machine explains a miss, or nil.
func (s *Search) excuse(c Cell, lagged bool) *finding.Warning {
	for _, w := range c.Warnings {
		if w.Is(finding.GeneratorSaturated) || w.Is(finding.GeneratorBusy) || w.Is(finding.MachineBusy) {
			return &w
		}
	}
	if crowded := c.Crowded(); crowded != nil {
		return crowded
	}
	if late := c.Late(); late != nil && (lagged || !c.couldUseAllVUs()) {
		return late
	}
	return nil
}

// couldUseAllVUs says whether some iteration took so long that meanwhile as
// many were due as there are VUs. Otherwise no iteration had to wait for one.
func (c Cell) couldUseAllVUs() bool {
	perSec := float64(c.Planned) / c.Duration.Seconds()
	return c.Dropped > 0 || c.Unfinished > 0 || c.Service.Max().Seconds()*perSec >= float64(c.Concurrency)
}

// misses returns why the rate was not sustained, or nil, and whether late
// starts explain it: the service times alone would have held.
func (s *Search) misses(c Cell) (reason *finding.Warning, lagged bool) {
	refusal := c.Refusal(stat.HigherIsFaster, 0)
	if refusal.Is(finding.Errors) {
		return refusal, false
	}
	claims, _ := s.Design.objectives()
	for _, o := range claims {
		value, ok := o.left.metric.Of(c.Result)
		if !ok {
			return finding.ObjectiveMissed.Refusal("%s was not measured", o.left.metric), false
		}
		if holds(value, o.operator, o.right.factor) {
			continue
		}
		missed := finding.ObjectiveMissed.Refusal("%s is %s, the objective %s %s", o.left.metric, o.text(value), o.operator, o.text(o.right.factor))
		which, isResponse := strings.CutPrefix(string(o.left.metric), "response_")
		service, measured := metric.Name("service_" + which).Of(c.Result)
		return missed, isResponse && measured && holds(service, o.operator, o.right.factor)
	}
	if refusal.Is(finding.RateMissed) {
		return refusal, c.Service.Mean() < 2*s.Alone.Service.Mean()
	}
	return nil, false
}

// text formats a value of the objective's metric.
func (c claim) text(value float64) string {
	if c.left.metric.Kind().Unit() != "ns" {
		return fmt.Sprintf("%.4g", value)
	}
	d, unit := time.Duration(value), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
