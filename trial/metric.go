package trial

import (
	"fmt"
	"slices"
	"strings"

	"contend/hist"
	"contend/load"
	"contend/stat"
)

// A Metric names a figure by its path in the report document, the same in
// comparisons, expectations and views.
type Metric string

// The metrics that are no percentiles. Those are named as in the document,
// for example response_p99_ns: response, service, start_lag, connect,
// first_byte or exchange; mean, min, p50, p90, p95, p99, p999 or max.
const (
	Throughput        Metric = "throughput_per_s"
	ServerCPUPerOp    Metric = "server_cpu_ns_per_op"
	GeneratorCPUPerOp Metric = "generator_cpu_ns_per_op"
	ServerRSS         Metric = "server_rss_bytes"
	WallPerOp         Metric = "wall_ns_per_op" // measured window ÷ operations
	Errors            Metric = "errors"         // failed + errored
)

// a metricRow says how to read a metric and what a larger value means.
type metricRow struct {
	kind  stat.Kind
	value func(Cell) (float64, bool)
}

func count(read func(*load.Result) int64) metricRow {
	return metricRow{stat.Amount, func(c Cell) (float64, bool) { return float64(read(c.Result)), true }}
}

func metricRows() map[Metric]metricRow {
	return map[Metric]metricRow{
		Throughput:        {stat.HigherIsFaster, func(c Cell) (float64, bool) { return c.ThroughputPerSec, c.Completed > 0 }},
		ServerCPUPerOp:    {stat.Amount, serverCPUPerOp},
		GeneratorCPUPerOp: {stat.Amount, generatorCPUPerOp},
		ServerRSS:         {stat.Amount, serverRSS},
		WallPerOp:         {stat.LowerIsFaster, wallPerOp},
		Errors:            count(func(r *load.Result) int64 { return r.Failed + r.ErroredTotal() }),
		"failed":          count(func(r *load.Result) int64 { return r.Failed }),
		"errored":         count((*load.Result).ErroredTotal),
		"planned":         count(func(r *load.Result) int64 { return r.Planned }),
		"completed":       count(func(r *load.Result) int64 { return r.Completed }),
		"dropped":         count(func(r *load.Result) int64 { return r.Dropped }),
		"unfinished":      count(func(r *load.Result) int64 { return r.Unfinished }),
		"bytes_in":        count(func(r *load.Result) int64 { return r.BytesIn }),
		"bytes_out":       count(func(r *load.Result) int64 { return r.BytesOut }),
		"bytes_in_per_s":  {stat.Amount, func(c Cell) (float64, bool) { return perSecond(c, c.BytesIn) }},
		"bytes_out_per_s": {stat.Amount, func(c Cell) (float64, bool) { return perSecond(c, c.BytesOut) }},
	}
}

func perSecond(c Cell, n int64) (float64, bool) {
	seconds := c.Duration.Seconds()
	return float64(n) / seconds, seconds > 0
}

func serverCPUPerOp(c Cell) (float64, bool) {
	if c.Server == nil || c.Ops == 0 {
		return 0, false
	}
	return c.Server.CPUSec / float64(c.Ops) * 1e9, true
}

func generatorCPUPerOp(c Cell) (float64, bool) {
	if c.Ops == 0 || c.GeneratorCPUSec == 0 {
		return 0, false
	}
	return c.GeneratorCPUSec / float64(c.Ops) * 1e9, true
}

func wallPerOp(c Cell) (float64, bool) {
	if c.Ops == 0 {
		return 0, false
	}
	return float64(c.Duration) / float64(c.Ops), true
}

func serverRSS(c Cell) (float64, bool) {
	if c.Server == nil {
		return 0, false
	}
	return float64(c.Server.RSSBytes), true
}

// Check returns an error that lists what is allowed when m names no metric.
func (m Metric) Check() error {
	if _, ok := metricRows()[m]; ok {
		return nil
	}
	if _, _, ok := m.times(); ok {
		return nil
	}
	var names []string
	for name := range metricRows() {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return fmt.Errorf("metric %q is not one of %s, or {%s}_{%s}_ns", m, strings.Join(names, ", "),
		strings.Join(timeNames, ","), strings.Join(statNames, ","))
}

// Kind says what a larger value means.
func (m Metric) Kind() stat.Kind {
	if row, ok := metricRows()[m]; ok {
		return row.kind
	}
	return stat.LowerIsFaster
}

// Of reads the metric; false means that the cell has no such figure.
func (m Metric) Of(c Cell) (float64, bool) {
	if row, ok := metricRows()[m]; ok {
		return row.value(c)
	}
	which, what, ok := m.times()
	if !ok {
		return 0, false
	}
	h := histogramOf(c.Result, which)
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return statOf(h, what), true
}

var (
	timeNames = []string{"response", "service", "start_lag", "connect", "first_byte", "exchange"}
	statNames = []string{"mean", "min", "p50", "p90", "p95", "p99", "p999", "max"}
)

// times splits response_p99_ns into response and p99.
func (m Metric) times() (which, what string, ok bool) {
	body, isNS := strings.CutSuffix(string(m), "_ns")
	i := strings.LastIndexByte(body, '_')
	if !isNS || i < 0 {
		return "", "", false
	}
	which, what = body[:i], body[i+1:]
	return which, what, slices.Contains(timeNames, which) && slices.Contains(statNames, what)
}

func histogramOf(r *load.Result, which string) *hist.Histogram {
	switch which {
	case "response":
		return r.Response
	case "service":
		return r.Service
	case "start_lag":
		return r.StartLag
	case "connect":
		return r.Connect
	case "first_byte":
		return r.FirstByte
	}
	return r.Exchange
}

func statOf(h *hist.Histogram, what string) float64 {
	switch what {
	case "mean":
		return float64(h.Mean())
	case "min":
		return float64(h.Min())
	case "max":
		return float64(h.Max())
	}
	return float64(h.Quantile(quantiles[what]))
}

var quantiles = map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
