package sink

import (
	"io"
	"runtime"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/load"
)

// A Result is what a sink received. Its messages add up:
//
//	Messages = Uplinks + Unsolved + Joins + Markers + Foreign + Other + Malformed
//	Uplinks  = Distinct + Duplicated
type Result struct {
	Messages int64
	// Uplinks are the solved ones with a time stamp, Distinct the first copies.
	Uplinks, Distinct, Duplicated int64
	// Reordered are first copies that came after one of the same device with a
	// higher counter.
	Reordered int64
	// Lost is what did not arrive of Expect or, if that is not known, the missing
	// counters below each device's highest and below the end marker's. An unsolved
	// uplink is lost unless another copy of it was solved.
	Lost int64
	// AtLeast says that more may have been sent than is known of: Expect was not given,
	// and either no end marker came, or it came from one device among others, and each
	// of these may have sent as many.
	AtLeast bool
	// Silent is of how many devices nothing came that must have sent something, by the end marker.
	Silent int
	// Unsolved messages were for our devices, and no entry of their challenge was
	// a device's MIC.
	Unsolved int64
	Joins    int64 // join requests
	Markers  int64 // end markers
	// Foreign messages are not for our devices, Other ones solved but without a time
	// stamp, and Malformed ones could not be read, and so not answered.
	Foreign, Other, Malformed int64
	// Outdated messages were marked as such by the server.
	Outdated int64

	// Total is from the creation of the first uplink to the reception of the last.
	Total time.Duration
	// Bytes is the size of the messages of Uplinks, without their frames' headers.
	Bytes int64
	// FirstChallenge is the length of the first challenge, that is the trust that
	// the run began with; there are also the longest one and the mean.
	FirstChallenge, LongestChallenge int
	MeanChallenge                    float64
	Connections                      int
	// LastError is that of the last lost connection or malformed message.
	LastError string
	// CPUSec is the CPU time of the process; 0: not known.
	CPUSec float64

	// Load is the run in the form of every other one: an iteration is a distinct
	// uplink.
	Load *load.Result

	copies *hist.Histogram // latencies of those that are not distinct
}

func (s *sink) result(interrupted bool, cpu time.Duration) *Result {
	t := &s.recorder
	r := t.Result
	r.Total = t.last - t.earliest
	r.MeanChallenge = ratio(float64(t.entries), float64(t.Messages-t.Malformed))
	r.CPUSec = cpu.Seconds()
	arrived, missing := s.solver.count()
	r.Lost, r.Silent = missing, s.solver.silent()
	if s.config.Expect > 0 {
		r.Lost = max(0, s.config.Expect-arrived)
	}
	r.AtLeast = s.config.Expect == 0 && (!s.ended || s.config.Devices > 1)
	t.account(arrived+r.Lost, r.Lost)
	r.Load = &load.Result{
		Target: s.config.URL, Model: load.OpenModel, Concurrency: 1,
		Plan:     load.Plan{VUs: 1, Pacer: s.config.Pacer, Iterations: t.counts.Planned},
		Duration: r.Total,
		Engine:   load.Goroutines,
		Stopped:  load.StoppedByIterations,
		Counts:   t.counts,
		Cost:     load.Cost{GeneratorCPUSec: r.CPUSec, GeneratorCores: runtime.GOMAXPROCS(0)},
	}
	if s.config.Pacer == nil && !t.hasLag {
		r.Load.Model = load.ClosedModel
	}
	if interrupted {
		r.Load.Stopped = load.Interrupted
	}
	r.Load.Derive()
	return &r
}

// account says what became of the lost ones of the planned uplinks, which shows at the end.
// The messages that may have been them do not tell: as many as were unsolved have failed, and
// as many as could not be read have errored.
func (t *recorder) account(planned, lost int64) {
	c := &t.counts
	c.Planned = planned
	end := c.Course.At(t.last)
	c.Failed = min(lost, t.Unsolved)
	end.Failed = c.Failed
	lost -= c.Failed
	if n := min(lost, t.Malformed); n > 0 {
		c.Errored[errkind.Protocol], c.Examples[errkind.Protocol] = n, t.LastError
		end.Errored = map[errkind.Kind]int64{errkind.Protocol: n}
		lost -= n
	}
	c.Unfinished = lost
	c.Course.Close()
}

// WritePublished writes the published report form, starting with its word
// Summary. Its requests are all solved uplinks, including duplicates.
func (r *Result) WritePublished(w io.Writer) error {
	all := r.Load.Response.Clone()
	all.Merge(r.copies)
	s := summarise(all)
	s.total, s.bytes = r.Total, r.Bytes
	if err := s.write(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\nHistogram and distribution are within 0.1%.\n")
	return err
}
