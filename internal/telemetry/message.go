package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// told is what an export told, to be taken off the next one's where that is to tell the rest.
type told struct {
	at     time.Time
	values map[string]float64
	times  map[string]exponential
}

// A message is an export that is being written.
type message struct {
	config   *Config
	readings []Reading
	from     told // what was exported before, nothing unless only the rest is to be exported
	now      told
}

// export returns what tells of the readings, and what it has told then.
func (m *message) export() (*collector.ExportMetricsServiceRequest, told) {
	m.now.values, m.now.times = map[string]float64{}, map[string]exponential{}
	var list []*metrics.Metric
	for _, f := range figures() {
		list = append(list, m.figure(&f))
	}
	for _, d := range distributions() {
		list = append(list, m.distribution(&d))
	}
	return &collector.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: attributesOf(m.config.Resource)},
		ScopeMetrics: []*metrics.ScopeMetrics{{Scope: &common.InstrumentationScope{Name: "contend"}, Metrics: list}},
	}}}, m.now
}

func (m *message) temporality() metrics.AggregationTemporality {
	if m.config.Delta {
		return metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	return metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
}

func (m *message) figure(f *figure) *metrics.Metric {
	var points []*metrics.NumberDataPoint
	for i := range m.readings {
		r := &m.readings[i]
		for _, v := range f.values(r) {
			attributes := append(r.attributes(), v.attributes...)
			key := fmt.Sprint(f.name, attributes)
			m.now.values[key] = v.n
			p := &metrics.NumberDataPoint{TimeUnixNano: nanos(m.now.at), Attributes: keyValues(attributes)}
			if f.counter {
				if before := m.from.values[key]; before <= v.n {
					v.n -= before
				}
				p.StartTimeUnixNano = nanos(m.from.at)
			}
			p.Value = &metrics.NumberDataPoint_AsInt{AsInt: int64(v.n)}
			if !f.whole() {
				p.Value = &metrics.NumberDataPoint_AsDouble{AsDouble: v.n}
			}
			points = append(points, p)
		}
	}
	metric := &metrics.Metric{Name: f.name, Unit: f.unit, Description: f.words}
	if f.counter {
		metric.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{DataPoints: points, AggregationTemporality: m.temporality(), IsMonotonic: true}}
	} else {
		metric.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: points}}
	}
	return metric
}

// whole reports whether a figure has no fractions.
func (f *figure) whole() bool { return !strings.HasSuffix(f.unit, "s") }

func (m *message) distribution(d *distribution) *metrics.Metric {
	var points []*metrics.ExponentialHistogramDataPoint
	for i := range m.readings {
		r := &m.readings[i]
		attributes := r.attributes()
		key := fmt.Sprint(d.name, attributes)
		h := d.of(r)
		e := exponentialOf(h)
		m.now.times[key] = e
		e = e.since(m.from.times[key])
		p := &metrics.ExponentialHistogramDataPoint{
			Attributes: keyValues(attributes), StartTimeUnixNano: nanos(m.from.at), TimeUnixNano: nanos(m.now.at),
			Count: e.count, Sum: &e.sum, Scale: scale, ZeroCount: e.zero,
			Positive: &metrics.ExponentialHistogramDataPoint_Buckets{Offset: e.first, BucketCounts: e.counts},
		}
		if !m.config.Delta && e.count > 0 {
			p.Min, p.Max = new(h.Min().Seconds()), new(h.Max().Seconds())
		}
		points = append(points, p)
	}
	return &metrics.Metric{Name: d.name, Unit: "s", Description: d.words, Data: &metrics.Metric_ExponentialHistogram{
		ExponentialHistogram: &metrics.ExponentialHistogram{DataPoints: points, AggregationTemporality: m.temporality()}}}
}

func nanos(t time.Time) uint64 { return uint64(t.UnixNano()) }

func attributesOf(texts map[string]string) (list []*common.KeyValue) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, keyValue(key, texts[key]))
	}
	return list
}

// keyValues leaves out what has no text.
func keyValues(attributes []attribute) (list []*common.KeyValue) {
	for _, a := range attributes {
		if a.text != "" {
			list = append(list, keyValue(a.key, a.text))
		}
	}
	return list
}

func keyValue(key, text string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(text, "\uFFFD")}}}
}
