package static

import (
	"bytes"
	"math"
	"net/http"
	"strings"
	"time"
)

// A coding is a precompressed form of a file.
type coding struct{ name, ending string }

// codings are in the order of preference among equals; the plain file is last.
func codings() [3]coding {
	return [3]coding{{"br", ".br"}, {"zstd", ".zst"}, {"gzip", ".gz"}}
}

// choose returns the variant that Accept-Encoding likes best: RFC 9110, section
// 12.5.3. The plain file is answered if nothing is acceptable.
func (res *resource) choose(accept []byte) *variant {
	plain := &res.variants[0]
	if len(res.variants) == 1 || len(accept) == 0 {
		return plain
	}
	best, most := plain, weight(accept, "identity")
	for i := range res.variants[1:] {
		v := &res.variants[i+1]
		if q := weight(accept, v.coding); q > 0 && (q > most || q == most && best == plain) {
			best, most = v, q
		}
	}
	return best
}

// weight returns the weight of a coding in thousandths. One that is not listed
// has that of *, and without it identity the least that there is.
func weight(accept []byte, name string) int {
	other := 0
	if name == "identity" {
		other = 1
	}
	for element := range bytes.SplitSeq(accept, []byte(",")) {
		coding, parameter, _ := bytes.Cut(element, []byte(";"))
		coding = bytes.Trim(coding, " \t")
		q, ok := quality(bytes.Trim(parameter, " \t"))
		switch {
		case !ok:
		case is(coding, name), name == "gzip" && is(coding, "x-gzip"):
			return q
		case is(coding, "*"):
			other = q
		}
	}
	return other
}

// quality reads q=0.123 in thousandths; nothing is 1.
func quality(b []byte) (int, bool) {
	if len(b) == 0 {
		return 1000, true
	}
	if len(b) < 3 || len(b) > 7 || b[0]|0x20 != 'q' || b[1] != '=' || b[2] != '0' && b[2] != '1' ||
		len(b) > 3 && b[3] != '.' {
		return 0, false
	}
	q := 1000 * int(b[2]-'0')
	for i, unit := 4, 100; i < len(b); i, unit = i+1, unit/10 {
		if b[i] < '0' || b[i] > '9' {
			return 0, false
		}
		q += unit * int(b[i]-'0')
	}
	return q, q <= 1000
}

// precondition returns 412, 304 or 0 for a request of a variant, in the order
// of RFC 9110, section 13.2.2.
func (v *variant) precondition(f *fields) status {
	switch {
	case f.ifMatch != nil:
		if !v.matches(f.ifMatch, false) {
			return http.StatusPreconditionFailed
		}
	case f.ifUnmodifiedSince != nil:
		if since, ok := parseTime(f.ifUnmodifiedSince); ok && v.modified.After(since) {
			return http.StatusPreconditionFailed
		}
	}
	switch {
	case f.ifNoneMatch != nil:
		if v.matches(f.ifNoneMatch, true) {
			return http.StatusNotModified
		}
	case f.ifModifiedSince != nil:
		if since, ok := parseTime(f.ifModifiedSince); ok && !v.modified.After(since) {
			return http.StatusNotModified
		}
	}
	return 0
}

// parseTime reads a date. http.ParseTime wants a string.
func parseTime(b []byte) (time.Time, bool) {
	t, err := http.ParseTime(string(b))
	return t, err == nil
}

// matches looks for the variant's tag in a list. A weak tag counts only for the
// weak comparison of RFC 9110, section 8.8.3.2.
func (v *variant) matches(list []byte, weakly bool) bool {
	if string(list) == "*" {
		return true
	}
	for len(list) > 0 {
		list = bytes.TrimLeft(list, " \t,")
		strong := bytes.TrimPrefix(list, []byte("W/"))
		weak := len(strong) < len(list)
		if len(strong) == 0 || strong[0] != '"' {
			return false
		}
		end := bytes.IndexByte(strong[1:], '"')
		if end < 0 {
			return false
		}
		if bytes.Equal(strong[:end+2], v.tag) && (weakly || !weak) {
			return true
		}
		list = strong[end+2:]
	}
	return false
}

// part returns the range of a variant that a request asks for. Code is 206, 416,
// or 0 for the whole: without a range, with several, with one that is malformed
// or of another unit, and if If-Range says that the file is another.
func (v *variant) part(f *fields) (off, n int64, code status) {
	unit, spec, ok := bytes.Cut(f.ranges, []byte("="))
	if !ok || !is(unit, "bytes") || f.ifRange != nil && !v.unchanged(f.ifRange) {
		return 0, v.size, 0
	}
	first, last, ok := bytes.Cut(bytes.Trim(spec, " \t"), []byte("-"))
	from, ok1 := number(first)
	to, ok2 := number(last)
	switch {
	case !ok, !ok1 && len(first) > 0, !ok2 && len(last) > 0, !ok1 && !ok2:
		return 0, v.size, 0
	case !ok1: // the last bytes
		from, to = max(0, v.size-to), v.size-1
	case !ok2:
		to = v.size - 1
	case from > to:
		return 0, v.size, 0
	}
	if from >= v.size {
		return 0, 0, http.StatusRequestedRangeNotSatisfiable
	}
	return from, min(to, v.size-1) - from + 1, http.StatusPartialContent
}

// unchanged is the strong comparison of If-Range: RFC 9110, section 13.1.5.
func (v *variant) unchanged(ifRange []byte) bool {
	if bytes.HasPrefix(ifRange, []byte(`"`)) {
		return bytes.Equal(ifRange, v.tag)
	}
	since, ok := parseTime(ifRange)
	return ok && v.modified.Equal(since)
}

// is compares with a name in ASCII, whatever the case.
func is(b []byte, name string) bool {
	return len(b) == len(name) && strings.EqualFold(string(b), name)
}

// number reads digits; what does not fit is the largest.
func number(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			continue
		}
		n = 10*n + int64(c-'0')
	}
	return n, len(b) > 0
}
