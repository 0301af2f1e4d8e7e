package h2

import (
	"bytes"
	"encoding/binary"
)

// A Request is prebuilt and may be sent on any number of connections and
// streams, concurrently.
//
// The first request on a connection leaves its fields in the server's dynamic
// table, so that the same request is a few bytes when it is sent again; other
// requests on that connection are written in full.
type Request struct {
	plain, first, later form
	body                []byte
	rewritten           bool // it is another one each time
}

// A form is one way to write the header.
type form struct {
	block []byte
	// frames are all frames of the request, ready except for the stream's number,
	// and data is where the DATA frame begins, 0 without one. A request that does
	// not fit two frames has no frames.
	frames []byte
	data   int
}

// NewRequest builds a request of fields, pseudo-header fields first, and a
// body, which may be empty. It keeps neither.
func NewRequest(fields []Field, body []byte) *Request {
	r := &Request{body: bytes.Clone(body)}
	var first, later []byte
	indexed := dynamicFields(fields)
	oldest, n := len(staticTable)+len(indexed), 0
	for _, f := range fields {
		if index, whole := staticIndex(f); whole {
			r.plain.block = appendInteger(r.plain.block, 0x80, 7, index)
			first = appendInteger(first, 0x80, 7, index)
			later = appendInteger(later, 0x80, 7, index)
			continue
		}
		index := n < len(indexed) && indexed[n] == f
		r.plain.block = appendLiteral(r.plain.block, f, false)
		first = appendLiteral(first, f, index)
		if !index {
			later = appendLiteral(later, f, false)
			continue
		}
		later = appendInteger(later, 0x80, 7, oldest-n)
		n++
	}
	r.first.block, r.later.block = first, later
	for _, f := range []*form{&r.plain, &r.first, &r.later} {
		f.build(r.body)
	}
	return r
}

// Rewrite makes another request of r, in the same memory, for a caller that
// sends each only once; the zero value is good for it. No stream may have r any
// more. The fields are written in full. The body is kept until the stream ends.
func (r *Request) Rewrite(fields []Field, body []byte) {
	r.rewritten, r.body = true, body
	block := r.plain.block[:0]
	for _, f := range fields {
		if index, whole := staticIndex(f); whole {
			block = appendInteger(block, 0x80, 7, index)
		} else {
			block = appendLiteral(block, f, false)
		}
	}
	r.plain = form{block: block}
}

// dynamicFields returns the first of those that are not in the static table,
// as many as the dynamic table holds.
func dynamicFields(fields []Field) (fit []Field) {
	size := 0
	for _, f := range fields {
		if _, whole := staticIndex(f); whole {
			continue
		}
		if size += len(f.Name) + len(f.Value) + entryOverhead; size > tableSize {
			break
		}
		fit = append(fit, f)
	}
	return fit
}

func (f *form) build(body []byte) {
	if len(f.block) > maxFrameBytes || len(body) > maxFrameBytes {
		return
	}
	f.frames = appendHeaders(nil, 0, f.block, len(body) == 0)
	if len(body) > 0 {
		f.data = len(f.frames)
		f.frames = appendData(f.frames, 0, body, true)
	}
}

func (f *form) appendTo(dst []byte, stream uint32) []byte {
	start := len(dst)
	dst = append(dst, f.frames...)
	binary.BigEndian.PutUint32(dst[start+streamOffset:], stream)
	if f.data > 0 {
		binary.BigEndian.PutUint32(dst[start+f.data+streamOffset:], stream)
	}
	return dst
}
