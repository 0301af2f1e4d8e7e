package pipe

import (
	"slices"
	"testing"
	"time"

	"contend/pipeline"
)

// BenchmarkRungs runs iterations of every rung in turn with iterations of the
// published third rung, and reports the median ratio of the pairs, with making and
// checking of the items included on both sides.
func BenchmarkRungs(b *testing.B) {
	buffered, many := pipeline.Config{Buffer: defaultBuffer}, pipeline.Config{Producers: 4, Consumers: 4}
	configs := []Config{
		{Rung: "chan", Print: true, Discard: process("discards")},
		{Rung: "chan"},
		{Rung: "chan", Config: buffered},
		{Rung: "chan-batch"}, {Rung: "spsc"}, {Rung: "mpsc"}, {Rung: "mpmc"},
		{Rung: "chan", Config: pipeline.Config{Buffer: defaultBuffer, Producers: 4, Consumers: 4}},
		{Rung: "chan-batch", Config: many},
		{Rung: "mpsc", Config: pipeline.Config{Producers: 4}},
		{Rung: "mpmc", Config: many},
	}
	for _, c := range configs {
		name := c.Rung
		if c.Print {
			name += "-print"
		}
		if c.Buffer > 0 {
			name += "-buffered"
		}
		if c.Producers > 1 {
			name += "-4"
		}
		b.Run(name, func(b *testing.B) { pairWithThirdRung(b, c) })
	}
}

func pairWithThirdRung(b *testing.B, c Config) {
	candidate := newVU(b, c)
	defer candidate.Close()
	third := newVU(b, Config{Rung: "chan", Config: pipeline.Config{Buffer: defaultBuffer}})
	var ratios, perItem, iteration []float64
	for b.Loop() {
		y, _ := timeIteration(b, third)
		x, whole := timeIteration(b, candidate)
		ratios, perItem, iteration = append(ratios, y/x), append(perItem, x), append(iteration, whole)
	}
	b.ReportMetric(median(ratios), "x_third")
	b.ReportMetric(median(perItem), "ns/item")
	b.ReportMetric(median(iteration)/1e6, "ms/iteration")
	b.ReportMetric(0, "ns/op")
}

func timeIteration(b *testing.B, v *vu) (perItemNs, wholeNs float64) {
	start := time.Now()
	outcome, err := v.Do(background)
	wholeNs = float64(time.Since(start))
	if err != nil || outcome.Failed {
		b.Fatal(outcome, err)
	}
	return wholeNs / float64(outcome.Ops), wholeNs
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
