// Package telemetry exports the metrics of a load while it is running: it sends them to an
// OpenTelemetry collector (Exporter), and Prometheus can fetch them (Page). Both get the same
// metrics as the result file.
package telemetry

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"contend/hist"
	"contend/load"
)

// A Reading is the state of one variant at one level of concurrency, since its beginning. It is
// not changed once it is handed in.
type Reading struct {
	// Labels tell readings of the same command apart: nothing of a single run.
	Labels
	Measured time.Duration // how much was measured
	// PerSec is the throughput since the reading before, of a result that of all of it.
	PerSec float64
	Counts *load.Counts
	// CPU time of the generator and of the server; 0: not known.
	GeneratorCPU, ServerCPU time.Duration
}

// Labels of a Reading; the zero value has none.
type Labels struct {
	Variant     string
	Concurrency int
}

func (l Labels) attributes() (list []attribute) {
	if l.Variant != "" {
		list = append(list, attribute{"variant", l.Variant})
	}
	if l.Concurrency > 0 {
		list = append(list, attribute{"concurrency", strconv.Itoa(l.Concurrency)})
	}
	return list
}

// A Run turns the progress of a run into readings.
type Run struct {
	before load.Progress // that PerSec is since
	perSec float64
}

// shortest is the least time over which a throughput is exported: the last stretch of a run may be a moment.
const shortest = time.Second / 2

// Reading is called in load.Plan.Progress.
func (r *Run) Reading(now load.Progress) Reading {
	if since := now.Measured - r.before.Measured; since >= shortest {
		r.perSec, r.before = float64(now.Ops-r.before.Ops)/since.Seconds(), now
	}
	return Reading{Measured: now.Measured, PerSec: r.perSec, Counts: now.Counts(), GeneratorCPU: now.GeneratorCPU, ServerCPU: now.ServerCPU}
}

// Of returns the reading of a result.
func Of(r *load.Result, labels Labels) Reading {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	reading := Reading{Labels: labels, Measured: r.Duration, PerSec: r.ThroughputPerSec, Counts: &r.Counts, GeneratorCPU: seconds(r.GeneratorCPUSec)}
	if r.Server != nil {
		reading.ServerCPU = seconds(r.Server.CPUSec)
	}
	return reading
}

// A figure is one that is exported. The names in OpenTelemetry and Prometheus differ by convention.
type figure struct {
	name, unit string // unit as in UCUM
	prometheus string
	words      string
	counter    bool // never falls; false: a gauge
	values     func(*Reading) []value
}

// A value is exported under up to two attributes.
type value struct {
	n          float64
	attributes []attribute
}

type attribute struct{ key, text string }

func figures() []figure {
	return []figure{
		{"contend.iterations.planned", "{iteration}", "contend_iterations_planned_total", "Iterations due in the measured window.", true,
			one(func(r *Reading) float64 { return float64(r.Counts.Planned) })},
		{"contend.iterations", "{iteration}", "contend_iterations_total", "Iterations that ended, by outcome and kind of error.", true, outcomes},
		{"contend.iterations.unfinished", "{iteration}", "contend_iterations_unfinished", "Iterations in flight, or waiting for a caller; at the end those cut off by it.", false,
			one(func(r *Reading) float64 { return float64(r.Counts.Unfinished) })},
		{"contend.operations", "{operation}", "contend_operations_total", "Operations of the completed iterations.", true,
			one(func(r *Reading) float64 { return float64(r.Counts.Ops) })},
		{"contend.throughput", "{operation}/s", "contend_throughput_per_second", "Right operations per second since the last report; in comparisons over all blocks.", false,
			one(func(r *Reading) float64 { return r.PerSec })},
		{"contend.io", "By", "contend_io_bytes_total", "Bytes received and sent.", true, func(r *Reading) []value {
			return []value{{float64(r.Counts.BytesIn), []attribute{{"direction", "received"}}}, {float64(r.Counts.BytesOut), []attribute{{"direction", "sent"}}}}
		}},
		{"contend.measured.time", "s", "contend_measured_seconds_total", "Time that was measured: throughput is operations over it.", true,
			one(func(r *Reading) float64 { return r.Measured.Seconds() })},
		{"contend.cpu.time", "s", "contend_cpu_seconds_total", "CPU time in the measured window, of the generator and of the server where that is sampled.", true, cpuTimes},
	}
}

func one(of func(*Reading) float64) func(*Reading) []value {
	return func(r *Reading) []value { return []value{{n: of(r)}} }
}

func outcomes(r *Reading) []value {
	c := r.Counts
	list := []value{
		{float64(c.Completed), outcome("completed", "")}, {float64(c.Failed), outcome("failed", "")}, {float64(c.Dropped), outcome("dropped", "")},
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Errored)) {
		list = append(list, value{float64(c.Errored[kind]), outcome("errored", string(kind))})
	}
	return list
}

func outcome(name, kind string) []attribute {
	return []attribute{{"outcome", name}, {"kind", kind}}
}

func cpuTimes(r *Reading) []value {
	list := []value{{r.GeneratorCPU.Seconds(), []attribute{{"side", "generator"}}}}
	if r.ServerCPU > 0 {
		list = append(list, value{r.ServerCPU.Seconds(), []attribute{{"side", "server"}}})
	}
	return list
}

// A distribution is a histogram that is exported.
type distribution struct {
	name       string // its unit is the second
	prometheus string
	words      string
	of         func(*Reading) *hist.Histogram
}

func distributions() []distribution {
	return []distribution{
		{"contend.response.time", "contend_response_time_seconds", "Response times of the completed iterations, from when they were due.",
			func(r *Reading) *hist.Histogram { return r.Counts.Response }},
		{"contend.start.lag", "contend_start_lag_seconds", "How late completed iterations started.",
			func(r *Reading) *hist.Histogram { return r.Counts.StartLag }},
	}
}
