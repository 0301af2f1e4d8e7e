package load

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"contend/hist"
)

// SentForm tells apart builds whose results cannot be added up: it changes with the histograms.
var SentForm = fmt.Sprintf("%d.%d", hist.Geometry, buckets)

// AppendBinary appends the form in which a result of a part of a run is sent to whoever adds
// parts up: the document's JSON without histograms and course, preceded by its length, and then
// these, exact. ReadSent reads it.
func (r *Result) AppendBinary(b []byte) ([]byte, error) {
	bare := *r
	bare.Course = nil
	for _, h := range bare.histograms() {
		*h = nil
	}
	bare.Requests = maps.Clone(r.Requests)
	for name, share := range bare.Requests {
		bare.Requests[name] = &RequestResult{Completed: share.Completed, Failed: share.Failed, Errored: share.Errored}
	}
	text, err := json.Marshal(&bare)
	if err != nil {
		return nil, err
	}
	b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	for _, h := range r.histograms() {
		if *h == nil {
			b = append(b, 0)
			continue
		}
		b, _ = (*h).AppendBinary(append(b, 1)) // the error is always nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		b, _ = r.Requests[name].Service.AppendBinary(b)
	}
	if r.Course == nil {
		return append(b, 0), nil
	}
	return r.Course.appendBinary(append(b, 1)), nil
}

// histograms are the places of all histograms but those of requests.
func (c *Counts) histograms() []**hist.Histogram {
	return []**hist.Histogram{&c.Response, &c.Service, &c.StartLag, &c.FailedService, &c.ErroredService,
		&c.Connect, &c.FirstByte, &c.Exchange, &c.Message}
}

// ReadSent reads what AppendBinary wrote. Damaged data is an error, and so is data
// that contradicts itself: counts that do not add up, or a course that is another
// run's.
func ReadSent(b []byte) (*Result, error) {
	r := new(Result)
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, errors.New("a result that is truncated")
	}
	b = b[n:]
	if err := json.Unmarshal(b[:length], r); err != nil {
		return nil, fmt.Errorf("a result: %w", err)
	}
	var err error
	if b, err = r.readHistograms(b[length:]); err != nil {
		return nil, err
	}
	if len(b) == 0 || b[0] > 1 {
		return nil, errors.New("a result without its course")
	}
	there := b[0] == 1
	r.Course = nil // it is not in the JSON
	if b = b[1:]; there {
		if r.Course, b, err = readCourse(b); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("a result with %d bytes too many", len(b))
	}
	return r, r.contradiction()
}

func (r *Result) readHistograms(b []byte) (rest []byte, err error) {
	for _, h := range r.histograms() {
		if len(b) == 0 || b[0] > 1 {
			return nil, errors.New("a result without its histograms")
		}
		there := b[0] == 1
		if b = b[1:]; there {
			*h = new(hist.Histogram)
			if b, err = (*h).MergeBinary(b); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		if r.Requests[name] == nil {
			return nil, fmt.Errorf("a result without the request %q", name)
		}
		r.Requests[name].Service = new(hist.Histogram)
		if b, err = r.Requests[name].Service.MergeBinary(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// contradiction returns what of a result cannot be, if anything.
func (r *Result) contradiction() error {
	switch {
	case r.Response == nil || r.Service == nil || r.StartLag == nil:
		return errors.New("a result without its figures")
	case r.Response.Count() != r.Completed || r.Service.Count() != r.Completed || r.StartLag.Count() != r.Completed:
		return fmt.Errorf("a result of %d right answers with %d response times", r.Completed, r.Response.Count())
	}
	if w := r.miscounted(); w != nil {
		return errors.New(w.Text)
	}
	return nil
}

// read adds what hist.AppendSparse wrote of such a histogram.
func (h *coarse) read(b []byte) (rest []byte, err error) {
	return hist.ReadSparse(b, buckets, 1<<53, func(bucket int, n int64) {
		h.cover(bucket, bucket+1)
		h.counts[bucket-h.first] += n
	})
}
