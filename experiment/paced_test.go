package experiment

import (
	"testing"

	"contend/internal/placement"
	"contend/metric"
)

// At a rate, which is the throughput of who holds it, parts compare response times unless metrics are chosen.
func TestPacedPartsCompareTimes(t *testing.T) {
	const head = "id: x\ntitle: x\ntarget: {url: 'http://127.0.0.1:1/'}\nsubjects: {}\narms: {a: {}, b: {}}\n"
	for text, want := range map[string]metric.Name{
		"load: {vus: 2}\ncompare: {baseline: a}\n":                                         metric.Throughput,
		"load: {vus: 2, rate: 50}\ncompare: {baseline: a}\n":                               metric.ResponseP50,
		"load: {vus: 2, rate: 50}\ncompare: {baseline: a, metrics: [throughput_per_s]}\n":  metric.Throughput,
		"load: {vus: 2, rate: 50}\ncompare: {baseline: a, metrics: [response_p99_ns]}\n\n": metric.ResponseP99,
	} {
		f, err := Parse("x", []byte(head+text))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Experiment("").Parts[0].design(Options{Placement: new(placement.Process)}).Metrics[0]; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
