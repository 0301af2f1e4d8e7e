package h2

import "bytes"

const (
	// maxHeaderBytes bounds a header block, as received and as decoded, where
	// each field counts entryOverhead bytes more (RFC 9113, section 10.5.1).
	maxHeaderBytes = 256 << 10
	// Larger headers are not remembered, and their memory is not kept.
	maxKnownBlock = 1 << 10
	maxKept       = 8 << 10
	knownHeaders  = 4
)

// A Header is what one header block says. It is valid during the call that
// hands it out.
type Header struct {
	// Status is that of an answer, 200 to 999; 0 for trailers.
	Status int

	text      []byte // names and values, one after another
	fields    []span
	size      int
	malformed string // why, if it breaks HTTP
	block     []byte // what was decoded
	version   uint64 // the table's at that time; 0: not to be used again
}

// A span is a field's place in Header.text.
type span struct{ name, value, end int }

// Len returns the number of fields, :status among them.
func (h *Header) Len() int { return len(h.fields) }

// Field returns field i, 0 ≤ i < Len, in the order of the block.
func (h *Header) Field(i int) (name, value []byte) {
	f := h.fields[i]
	return h.text[f.name:f.value], h.text[f.value:f.end]
}

// Get returns the value of the first field of a name, nil without such a field.
func (h *Header) Get(name string) []byte {
	for i := range h.fields {
		if n, value := h.Field(i); string(n) == name {
			return value
		}
	}
	return nil
}

func (h *Header) clear() {
	if cap(h.text) > maxKept {
		h.text, h.fields = nil, nil
	}
	*h = Header{text: h.text[:0], fields: h.fields[:0], block: h.block[:0]}
}

// check finds the status and holds the fields to RFC 9113, sections 8.2 and 8.3.
func (h *Header) check() {
	for i := range h.fields {
		name, value := h.Field(i)
		switch {
		case len(name) > 0 && name[0] == ':':
			if h.Status = statusOf(value); i > 0 || string(name) != ":status" || h.Status == 0 {
				h.malformed = "pseudo-header fields"
			}
		case !isFieldName(name):
			h.malformed = "a field name"
		case bytes.ContainsAny(value, "\x00\r\n"):
			h.malformed = "a field value"
		}
	}
}

func statusOf(value []byte) int {
	if len(value) != 3 {
		return 0
	}
	status := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0
	}
	return status
}

func isFieldName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return len(name) > 0
}

// A decoder decodes the header blocks of one connection in their order. Most
// servers answer with the same few blocks: one that is byte for byte like one
// decoded before means the same, as long as the dynamic table did not change.
type decoder struct {
	table table
	known [knownHeaders]Header
	next  int // of known, to be overwritten
}

// reset forgets the connection. The version goes on, so that nothing known
// before is taken for known.
func (d *decoder) reset() {
	version := d.table.version
	d.table.reset()
	d.table.version = version + 1
}

// header returns what a block means. It is valid until the next call.
func (d *decoder) header(block []byte) (*Header, error) {
	for i := range d.known {
		h := &d.known[i]
		if h.version == d.table.version && bytes.Equal(h.block, block) {
			return h, nil
		}
	}
	h := &d.known[d.next]
	h.clear()
	version := d.table.version
	if err := d.decode(h, block); err != nil {
		return nil, err
	}
	h.check()
	if d.table.version == version && len(block) <= maxKnownBlock && len(h.text) <= maxKept {
		h.version, h.block = version, append(h.block, block...)
		d.next = (d.next + 1) % knownHeaders
	}
	return h, nil
}
