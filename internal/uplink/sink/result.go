package sink

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"contend/hist"
	"contend/load"
)

// A Result is what a sink received. Its messages add up:
//
//	Messages = Uplinks + Unsolved + Joins + Markers + Foreign + Other + Malformed
//	Uplinks  = Distinct + Duplicated
type Result struct {
	NoAck bool `json:"no_ack,omitempty"`
	// Expected is how many different uplinks there were to be; 0: not known.
	Expected int64 `json:"expected,omitempty"`

	Messages int64 `json:"messages"`
	// Uplinks are the solved ones with a time stamp, Distinct the first copies.
	Uplinks    int64 `json:"uplinks"`
	Distinct   int64 `json:"distinct"`
	Duplicated int64 `json:"duplicated"`
	// Reordered are first copies that came after one of the same device with a
	// higher counter.
	Reordered int64 `json:"reordered"`
	// Lost is Expected − Distinct or, if that is not known, the missing counters
	// below each device's highest and below the end marker's. An unsolved uplink is
	// lost unless another copy of it was solved.
	Lost int64 `json:"lost"`
	// Unsolved messages were for our devices, and no entry of their challenge was
	// a device's MIC.
	Unsolved int64 `json:"unsolved"`
	Joins    int64 `json:"join_requests"`
	Markers  int64 `json:"end_markers"`
	// Foreign messages are not for our devices, Other ones solved but without a time
	// stamp, and Malformed ones could not be read, and so not answered.
	Foreign   int64 `json:"foreign"`
	Other     int64 `json:"other"`
	Malformed int64 `json:"malformed"`
	// Outdated messages said so.
	Outdated int64 `json:"outdated"`

	// Total is from the creation of the first uplink to the reception of the last.
	Total time.Duration `json:"total_ns"`
	// Bytes is the size of the messages of Uplinks, without their frames' headers.
	Bytes int64 `json:"bytes"`
	// FirstChallenge is the length of the first challenge, that is the trust that
	// the run began with; there are also the longest one and the mean.
	FirstChallenge   int     `json:"first_challenge"`
	LongestChallenge int     `json:"longest_challenge"`
	MeanChallenge    float64 `json:"mean_challenge"`
	Connections      int     `json:"connections"`
	// LastError is that of the last lost connection or malformed message.
	LastError string `json:"last_error,omitempty"`
	// CPUSec is the CPU time of the process; 0: not known.
	CPUSec float64 `json:"cpu_s"`

	// Load is the run in the form of every other one: an iteration is a distinct
	// uplink.
	Load *load.Result `json:"-"`

	latencies []time.Duration // the first of them, up to maxSamples
	all       *hist.Histogram
}

func (s *sink) result(interrupted bool, cpu time.Duration) *Result {
	t, c := &s.sum, &s.config
	r := &Result{
		NoAck: c.NoAck, Expected: c.Expect,
		Messages: t.messages, Uplinks: t.uplinks, Distinct: t.distinct, Duplicated: t.duplicated, Reordered: t.reordered,
		Unsolved: t.unsolved, Joins: t.joins, Markers: t.markers, Foreign: t.foreign, Other: t.other, Malformed: t.malformed,
		Outdated: t.outdated, Total: t.total(), Bytes: t.bytes, FirstChallenge: t.firstEntries, LongestChallenge: t.mostEntries,
		MeanChallenge: ratio(float64(t.entries), float64(t.messages-t.malformed)), Connections: t.connections,
		LastError: t.lastError, CPUSec: cpu.Seconds(), latencies: t.latencies, all: t.allLatencies,
	}
	r.Lost = s.solver.gaps()
	if c.Expect > 0 {
		r.Lost = max(0, c.Expect-t.distinct)
	}
	r.Load = s.load(r, interrupted)
	return r
}

// load writes a result as the engine would. Of what is lost, as much as was
// unsolved has failed.
func (s *sink) load(r *Result, interrupted bool) *load.Result {
	t := &s.sum
	failed := min(r.Lost, r.Unsolved)
	l := &load.Result{
		Target: s.config.URL, Model: load.OpenModel, Concurrency: 1,
		Plan:     load.Plan{VUs: 1, Pacer: s.config.Pacer, Iterations: r.Distinct + r.Lost},
		Duration: r.Total,
		Engine:   load.Goroutines,
		Stopped:  load.StoppedByIterations,
		Counts: load.Counts{
			Planned: r.Distinct + r.Lost, Completed: r.Distinct, Failed: failed, Unfinished: r.Lost - failed, Ops: r.Distinct,
			Errored: map[load.ErrorKind]int64{}, Response: t.response, Service: t.service, StartLag: t.lag,
			BytesIn: t.allBytes, BytesOut: t.bytesOut, Series: slices.Clone(t.series),
		},
		Cost: load.Cost{GeneratorCPUSec: r.CPUSec, GeneratorCores: runtime.GOMAXPROCS(0)},
	}
	if s.config.Pacer == nil && !t.hasLag {
		l.Model = load.ClosedModel
	}
	if interrupted {
		l.Stopped = load.Interrupted
	}
	l.Derive()
	return l
}

// WritePublished writes the published report form, from its word Summary on. Its
// requests are all solved uplinks, duplicates too.
func (r *Result) WritePublished(w io.Writer) error {
	s := r.summary()
	s.total, s.bytes = r.Total, r.Bytes
	return s.write(w)
}

func (r *Result) summary() summary {
	if r.Uplinks <= int64(len(r.latencies)) {
		return summarise(slices.Clone(r.latencies))
	}
	s := summary{
		requests: r.Uplinks, slowest: r.all.Max(), fastest: r.all.Min(), average: r.all.Mean(), reached: len(percentages),
		approximate: fmt.Sprintf("More than %d uplinks: histogram and distribution are within 0.1 %%.", maxSamples),
	}
	s.setEdges()
	var upTo int64
	for i, edge := range s.edges {
		n := r.all.Count() - r.all.CountAbove(edge)
		s.counts[i] = n - upTo
		upTo = n
	}
	for i, p := range percentages {
		s.distribution[i] = r.all.Quantile(float64(p) / 100)
	}
	return s
}
