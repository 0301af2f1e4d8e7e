package load

import (
	"strings"
	"sync"
	"time"

	"contend/hist"
)

// A Shard records the iterations of some of the VUs. There are as many shards
// as cores, not as VUs: three digits over an hour cost 270 kB a histogram.
type Shard struct {
	mu     sync.Mutex
	closed bool // nothing is recorded any more
	begun  int64
	from   time.Duration // of the measured window
	last   time.Duration // latest completion
	sum    *Result       // only what Result.add merges
	series []Second
	_      [64]byte // keeps neighbours off this cache line
}

// An iteration is the times of one Do, as offsets from the start of the run.
type iteration struct {
	due, start, end time.Duration
}

func (s *Shard) begin() {
	s.mu.Lock()
	if !s.closed {
		s.begun++
	}
	s.mu.Unlock()
}

func (s *Shard) finish(it iteration, out Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.last = max(s.last, it.end)
	second := s.second(it.end)
	sum := s.sum
	if err != nil {
		second.Errored++
		kind := KindOf(err)
		sum.Errored[kind]++
		if _, known := sum.Examples[kind]; !known {
			sum.Examples[kind] = clip(err.Error())
		}
		record(&sum.ErroredService, it.end-it.start)
		return
	}
	sum.BytesIn += out.BytesIn
	sum.BytesOut += out.BytesOut
	if out.Status != 0 {
		s.countStatus(out.Status)
	}
	if out.Failed {
		second.Failed++
		sum.Failed++
		record(&sum.FailedService, it.end-it.start)
		return
	}
	second.Completed++
	sum.Completed++
	sum.Ops += max(1, out.Ops)
	sum.Response.Record(it.end - it.due)
	sum.Service.Record(it.end - it.start)
	sum.StartLag.Record(it.start - it.due)
	s.recordPhases(out.Phases)
}

func (s *Shard) recordPhases(p Phases) {
	if p.Connect > 0 {
		record(&s.sum.Connect, p.Connect)
	}
	if p.FirstByte > 0 {
		record(&s.sum.FirstByte, p.FirstByte)
	}
	if p.Exchange > 0 {
		record(&s.sum.Exchange, p.Exchange)
	}
}

// maxExample bounds an error text, part of which may be the server's.
const maxExample = 500

func clip(text string) string {
	if len(text) <= maxExample {
		return text
	}
	return strings.ToValidUTF8(text[:maxExample], "") + "…"
}

// maxStatuses bounds the memory that a hostile server's statuses can take;
// further ones are counted under -1.
const maxStatuses = 100

func (s *Shard) countStatus(status int) {
	if _, known := s.sum.Statuses[status]; !known && len(s.sum.Statuses) >= maxStatuses {
		status = -1
	}
	s.sum.Statuses[status]++
}

// second returns the entry of the series for a completion.
func (s *Shard) second(end time.Duration) *Second {
	i := int((end - s.from) / time.Second)
	for len(s.series) <= i {
		s.series = append(s.series, Second{})
	}
	return &s.series[i]
}

func (s *Shard) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

func (s *Shard) progress(p *Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Completed += s.sum.Completed
	p.Failed += s.sum.Failed
	p.Errored += s.sum.ErroredTotal()
}

func record(h **hist.Histogram, d time.Duration) {
	if *h == nil {
		*h = hist.New()
	}
	(*h).Record(d)
}
