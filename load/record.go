package load

import (
	"strings"
	"time"

	"contend/hist"
)

// Finish records an iteration that was begun. The outcome counts if err is nil.
func (s *Shard) Finish(it *Iteration, end time.Duration, out *Outcome, err error) {
	if !it.counted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return
	}
	s.last = max(s.last, end)
	second := s.second(end)
	switch {
	case err != nil:
		second.Errored++
		s.errored(end-it.Start, out, err)
	case out.Failed:
		second.Failed++
		s.failed(end-it.Start, out)
	default:
		second.Completed++
		second.ResponseSum += end - it.Due
		s.completed(it, end, out)
	}
	if sample := s.run.plan.Sample; sample != nil {
		s.run.sampling.Lock()
		sample(Sample{Due: it.Due, Start: it.Start, End: end, Outcome: *out, Err: err})
		s.run.sampling.Unlock()
	}
}

func (s *Shard) errored(service time.Duration, out *Outcome, err error) {
	kind := KindOf(err)
	s.sum.Errored[kind]++
	if _, known := s.sum.Examples[kind]; !known {
		s.sum.Examples[kind] = clip(err.Error())
	}
	if out.Request != "" {
		s.sum.request(out.Request).Errored++
	}
	record(&s.sum.ErroredService, service)
}

func (s *Shard) failed(service time.Duration, out *Outcome) {
	s.answered(out)
	s.sum.Failed++
	s.sum.fault(out)
	if out.Request != "" {
		s.sum.request(out.Request).Failed++
	}
	record(&s.sum.FailedService, service)
}

func (s *Shard) completed(it *Iteration, end time.Duration, out *Outcome) {
	s.answered(out)
	sum := s.sum
	sum.Completed++
	sum.Ops += max(1, out.Ops)
	sum.Response.Record(end - it.Due)
	sum.Service.Record(end - it.Start)
	sum.StartLag.Record(it.Start - it.Due)
	s.recordPhases(out.Phases)
	if out.Request != "" {
		r := sum.request(out.Request)
		r.Completed++
		r.Service.Record(end - it.Start)
	}
	for _, m := range out.Messages {
		record(&sum.Message, m)
	}
}

// answered counts what any answer brings.
func (s *Shard) answered(out *Outcome) {
	s.sum.BytesIn += out.BytesIn
	s.sum.BytesOut += out.BytesOut
	s.sum.BodyIn += out.BodyIn
	if out.Status != 0 {
		s.countStatus(out.Status)
	}
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
	i := int((end - s.run.plan.Warmup) / time.Second)
	for len(s.series) <= i {
		s.series = append(s.series, Second{})
	}
	return &s.series[i]
}

func (s *Shard) close() {
	s.mu.Lock()
	s.closed.Store(true)
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
