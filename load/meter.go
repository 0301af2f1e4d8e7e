package load

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/hist"
)

// A Meter is something that flows measure of themselves. Whoever makes meters gives each one of a
// target a number of its own, from 0.
type Meter struct {
	ID   int
	Name string
	Kind MeterKind
	// Time says that values are milliseconds.
	Time bool
}

// A MeterKind says what becomes of the values of a meter.
type MeterKind string

// The kinds of meters.
const (
	CounterMeter MeterKind = "counter" // they are added up
	GaugeMeter   MeterKind = "gauge"   // the latest one counts
	RateMeter    MeterKind = "rate"    // how many of them are not 0
	TrendMeter   MeterKind = "trend"   // their quantiles
)

// A Reading is one value of a meter.
type Reading struct {
	Meter *Meter
	Value float64
}

// A MeterResult is what the values of a meter came to.
type MeterResult struct {
	Name string    `json:"meter"`
	Kind MeterKind `json:"kind"`
	Time bool      `json:"milliseconds,omitempty"`
	// Sum is that of a counter.
	Sum float64 `json:"added,omitempty"`
	// Nonzero and Total are how many values of a rate are not 0, and how many there are.
	Nonzero int64 `json:"nonzero,omitempty"`
	Total   int64 `json:"readings,omitempty"`
	// Last is the latest value of a gauge, which came LastAt after the window opened, and Min and Max
	// are its extremes.
	Last   float64       `json:"latest,omitempty"`
	LastAt time.Duration `json:"latest_at_ns,omitempty"`
	Min    float64       `json:"min,omitempty"`
	Max    float64       `json:"max,omitempty"`
	// Trend has the values of a trend.
	Trend hist.Sketch `json:"sketch,omitzero"`
}

// A Metered is a Target that has something to add to the meters of a run after its end: what is new since the last
// call of Settle.
type Metered interface {
	Target
	Settle(*Result)
}

// Settle adds to the result of a run what its Target, which is closed by now, measured last; nil: there is no result.
func Settle(t Target, r *Result) {
	if m, ok := t.(Metered); ok && r != nil {
		m.Settle(r)
		r.sortMeters()
	}
}

// AddMeter returns the result of a meter, which is added where it is missing.
func (c *Counts) AddMeter(m *Meter) *MeterResult {
	r := c.Meter(m.Name)
	if r == nil {
		r = &MeterResult{Name: m.Name, Kind: m.Kind, Time: m.Time}
		c.Meters = append(c.Meters, r)
	}
	return r
}

// read counts the readings of an iteration that ended then.
func (c *Counts) read(all []Reading, end time.Duration) {
	for i := range all {
		m := all[i].Meter
		for len(c.Meters) <= m.ID {
			c.Meters = append(c.Meters, nil)
		}
		if c.Meters[m.ID] == nil {
			c.Meters[m.ID] = &MeterResult{Name: m.Name, Kind: m.Kind, Time: m.Time}
		}
		c.Meters[m.ID].record(all[i].Value, end)
	}
}

func (r *MeterResult) record(value float64, at time.Duration) {
	switch r.Kind {
	case CounterMeter:
		r.Sum += value
	case RateMeter:
		r.Total++
		if value != 0 {
			r.Nonzero++
		}
	case GaugeMeter:
		one := MeterResult{Kind: GaugeMeter, Total: 1, Last: value, LastAt: at, Min: value, Max: value}
		r.add(&one)
	case TrendMeter:
		r.Trend.Record(value)
	}
}

// Apart counts what a flow measured outside its iterations.
func (c *Counts) Apart(f *Flow) {
	for i := range f.Checks {
		c.checked(&f.Checks[i])
	}
	for i := range f.Readings {
		c.AddMeter(f.Readings[i].Meter).record(f.Readings[i].Value, 0)
	}
}

// add adds the values of another result of the same meter.
func (r *MeterResult) add(o *MeterResult) {
	r.Sum += o.Sum
	r.Nonzero += o.Nonzero
	switch {
	case r.Kind == TrendMeter:
		r.Trend.Merge(&o.Trend)
	case r.Kind == GaugeMeter && o.Total > 0:
		if r.Total == 0 || o.LastAt >= r.LastAt {
			r.Last, r.LastAt = o.Last, o.LastAt
		}
		if r.Total == 0 || o.Min < r.Min {
			r.Min = o.Min
		}
		if r.Total == 0 || o.Max > r.Max {
			r.Max = o.Max
		}
	}
	r.Total += o.Total
}

// addMeters adds up those of two parts, by their names.
func (c *Counts) addMeters(o *Counts) {
	for _, m := range o.Meters {
		if m != nil {
			c.AddMeter(&Meter{Name: m.Name, Kind: m.Kind, Time: m.Time}).add(m)
		}
	}
}

// Meter returns the result of a meter, or nil.
func (c *Counts) Meter(name string) *MeterResult {
	for _, m := range c.Meters {
		if m != nil && m.Name == name {
			return m
		}
	}
	return nil
}

// sortMeters brings meters into the order of their names.
func (c *Counts) sortMeters() {
	c.Meters = slices.DeleteFunc(c.Meters, func(m *MeterResult) bool { return m == nil })
	slices.SortFunc(c.Meters, func(a, b *MeterResult) int { return cmp.Compare(a.Name, b.Name) })
}

// meterStats are the figures of each kind, percentiles apart.
var meterStats = map[MeterKind][]string{
	CounterMeter: {"count", "rate"},
	GaugeMeter:   {"value", "min", "max"},
	RateMeter:    {"rate"},
	TrendMeter:   {"avg", "min", "med", "max", "count", "p(N)"},
}

// MeterStats returns the names of the figures that a kind has; p(N) is any percentile.
func MeterStats(kind MeterKind) []string { return slices.Clone(meterStats[kind]) }

// HasMeterStat reports whether a kind has a figure of that name, such as p(95).
func HasMeterStat(kind MeterKind, stat string) bool {
	if _, ok := percentile(stat); ok {
		stat = "p(N)"
	}
	return slices.Contains(meterStats[kind], stat)
}

// percentile reads p(N), 0 ≤ N ≤ 100.
func percentile(stat string) (q float64, ok bool) {
	number, ok := strings.CutPrefix(stat, "p(")
	number, closed := strings.CutSuffix(number, ")")
	n, err := strconv.ParseFloat(number, 64)
	return n / 100, ok && closed && err == nil && n >= 0 && n <= 100
}

// Stat returns a figure by its name: the count of a counter, and its rate per second of the time
// given; value, min and max of a gauge; the rate of a rate, 0 to 1; avg, min, med, max, count and
// p(N) of a trend. Without values a figure is 0. false: the kind has no such figure.
func (r *MeterResult) Stat(name string, during time.Duration) (value float64, ok bool) {
	if !HasMeterStat(r.Kind, name) {
		return 0, false
	}
	switch r.Kind {
	case CounterMeter:
		if name == "count" {
			return r.Sum, true
		}
		return ratio(r.Sum, during.Seconds()), true
	case RateMeter:
		return ratio(float64(r.Nonzero), float64(r.Total)), true
	case GaugeMeter:
		return map[string]float64{"value": r.Last, "min": r.Min, "max": r.Max}[name], true
	}
	return trendStat(&r.Trend, name), true
}

// MeterTime is the time that rates of counters are over.
func (r *Result) MeterTime() time.Duration { return cmp.Or(r.Whole, r.Duration) }

func trendStat(t *hist.Sketch, name string) float64 {
	switch name {
	case "avg":
		return t.Mean()
	case "min":
		return t.Min()
	case "max":
		return t.Max()
	case "med":
		return t.Quantile(0.5)
	case "count":
		return float64(t.Count())
	}
	q, _ := percentile(name)
	return t.Quantile(q)
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
