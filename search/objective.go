package search

import (
	"errors"
	"math"
	"slices"
	"time"

	"contend/expect"
	"contend/finding"
	"contend/hist"
	"contend/internal/unit"
	"contend/metric"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// objectives returns the parsed objectives and every mistake in them.
func (d Design) objectives() ([]expect.Bound, error) {
	var bounds []expect.Bound
	var errs []error
	for _, text := range d.Objectives {
		b, err := expect.ParseBound(text)
		wrong := func(format string, args ...any) {
			errs = append(errs, setting.At(&d, &d.Objectives).Wrong(format, args...))
		}
		switch {
		case err != nil:
			errs = append(errs, setting.At(&d, &d.Objectives).Says("is ", err))
			continue
		case !b.IsUpper():
			wrong("is %q; expected an upper bound, with <, <= or ==", text)
		}
		bounds = append(bounds, b)
	}
	return bounds, errors.Join(errs...)
}

// Metrics returns the metrics of the objectives.
func (s *Result) Metrics() []metric.Name {
	bounds, _ := s.Design.objectives()
	var list []metric.Name
	for _, b := range bounds {
		if !slices.Contains(list, b.Metric) {
			list = append(list, b.Metric)
		}
	}
	return list
}

// percentiles are the objectives that are bounds of one.
func (d Design) percentiles() []expect.Bound {
	bounds, _ := d.objectives()
	return slices.DeleteFunc(bounds, func(b expect.Bound) bool {
		_, ok := b.Metric.Percentile()
		return !ok
	})
}

// fewest returns how many answers an attempt needs: 100, and one above each percentile of the objectives.
func (d Design) fewest() float64 {
	most := finding.FewSamples.Refuses
	for _, b := range d.percentiles() {
		q, _ := b.Metric.Percentile()
		most = max(most, math.Round(1/(1-q)))
	}
	return most
}

// An Outcome says whether a rate was sustained.
type Outcome string

// The outcomes.
const (
	Held   Outcome = "held"
	Missed Outcome = "missed"
	// Doubted missed, but because of the generator.
	Doubted Outcome = "doubted"
)

// judge decides whether the cell's rate was sustained. An attempt that passed
// counts whatever the generator did: its times include every late start, and
// arrivals in bunches are no easier to serve. One that failed is discounted if
// the generator explains it.
func (s *Result) judge(c trial.Cell) (Outcome, *finding.Warning) {
	reason, lagged := s.misses(c)
	if reason == nil {
		return Held, nil
	}
	if excuse := s.excuse(c, lagged); excuse != nil {
		excuse.Text = reason.Text + ", but " + excuse.Text
		return Doubted, excuse
	}
	return Missed, reason
}

// excuse returns what of the generator or the machine explains a miss, or nil.
func (s *Result) excuse(c trial.Cell, lagged bool) *finding.Warning {
	for _, w := range c.Warnings {
		if w.Is(finding.GeneratorSaturated) || w.Is(finding.GeneratorBusy) || w.Is(finding.MachineBusy) {
			return &w
		}
	}
	if crowded := c.Crowded(); crowded != nil {
		return crowded
	}
	if late := c.TooLate(); late != nil && (lagged || !couldUseAllVUs(c)) {
		return late
	}
	return nil
}

// couldUseAllVUs reports whether some iteration took so long that as many became
// due during it as there are VUs. Otherwise no iteration had to wait for one.
func couldUseAllVUs(c trial.Cell) bool {
	perSec := float64(c.Planned) / c.Duration.Seconds()
	return c.Dropped > 0 || c.Unfinished > 0 || c.Service.Max().Seconds()*perSec >= float64(c.Concurrency)
}

// misses returns why the rate was not sustained, or nil, and whether late
// starts explain it: the service times alone would have held.
func (s *Result) misses(c trial.Cell) (reason *finding.Warning, lagged bool) {
	refusal := c.Refusal(stat.HigherIsFaster)
	if refusal.Is(finding.Errors) {
		return refusal, false
	}
	bounds, _ := s.Design.objectives()
	for _, b := range bounds {
		b = b.Of(c.Planned)
		value, ok := b.Metric.Of(c.Result)
		if !ok {
			return finding.ObjectiveMissed.Refusal("%s was not measured", b.Metric.Words()), false
		}
		if b.Holds(value) {
			continue
		}
		missed := finding.ObjectiveMissed.Refusal("%s was %s, not %s %s", b.Metric.Words(), b.Metric.Format(value), b.Operator, text(b.Metric, b.Value))
		return missed, b.HoldsOfService(c.Result)
	}
	if refusal.Is(finding.Incomplete) {
		return refusal, c.Service.Mean() < 2*s.Alone.Service.Mean()
	}
	return nil, false
}

// missesInMedian reports whether even the median misses an objective of a higher percentile of
// the response time, with as many answers as a median takes.
func (s *Result) missesInMedian(c trial.Cell) bool {
	bounds, _ := s.Design.objectives()
	return slices.ContainsFunc(bounds, func(b expect.Bound) bool {
		q, _ := b.Metric.Percentile()
		if q <= 0.5 || !b.Metric.IsResponse() {
			return false
		}
		median, ok := metric.ResponseP50.Of(c.Result)
		return ok && float64(c.Response.Count()) >= finding.FewSamples.Refuses/0.5 && !b.Holds(median)
	})
}

// tooSlow returns why no rate is sustained at all: even the fastest response to one caller, for which nothing waits,
// takes longer than an objective allows. nil: it does not.
func (s *Result) tooSlow() *finding.Warning {
	if s.Alone.Concurrency != 1 { // all that was measured is the pilot
		return nil
	}
	bounds, _ := s.Design.objectives()
	for _, b := range bounds {
		if fastest := s.Alone.Response.Min(); b.Metric.IsResponse() && float64(fastest) > b.Value {
			return finding.ObjectiveMissed.Refusal("one request at a time, the fastest response took %s, not %s %s", unit.Duration(float64(fastest)), b.Operator, text(b.Metric, b.Value))
		}
	}
	return nil
}

// text is the bound of an objective as a user types it: 20ms.
func text(m metric.Name, value float64) string {
	if m.Kind().Unit() != "ns" {
		return unit.Exactly(value)
	}
	return hist.Rounded(time.Duration(value)).String()
}
