package static

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// A clock is read once for many answers. It belongs to one goroutine.
type clock struct {
	start time.Time
	now   time.Duration // since start
	unix  int64
	date  []byte
}

func (c *clock) read() {
	t := time.Now()
	c.now = t.Sub(c.start)
	if unix := t.Unix(); unix != c.unix {
		c.unix = unix
		c.date = t.UTC().AppendFormat(c.date[:0], http.TimeFormat)
	}
}

// An answer is what one request gets, without the date.
type answer struct {
	head      []byte // without its end
	v         *variant
	off, n    int64 // of v, in the body
	close     bool
	keepAlive bool // to be said, because HTTP/1.0 does not mean it
	linger    bool // more of the request may arrive
}

// An output is an answer for an engine to write: first bytes, then n bytes of
// rest or, if it is not nil, of file. Bytes are valid until the next output is
// made; file must be released.
type output struct {
	bytes, rest   []byte
	file          *openFile
	off, n        int64
	close, linger bool
}

// maxKept is the largest request that is remembered.
const maxKept = 1 << 10

// An exchange answers the requests of one connection, one at a time.
type exchange struct {
	site *site
	// A request that is the same byte for byte as the one before gets the same
	// answer while the resource is fresh. No resource: nothing is remembered.
	last []byte
	res  *resource
	kept answer
}

// A writer makes outputs. It belongs to one goroutine.
type writer struct {
	clock
	draining *atomic.Bool
	buf      []byte
	req      request
}

// next answers the first request of in. It returns how many bytes that took,
// and 0 if the request is not complete.
func (x *exchange) next(w *writer, in []byte, out *output) int {
	if n := len(x.last); x.res != nil && len(in) >= n && string(in[:n]) == string(x.last) && x.res.fresh(w.now) {
		if w.render(&x.kept, out) {
			return n
		}
	}
	x.res = nil
	blank := 0
	for bytes.HasPrefix(in[blank:], []byte("\r\n")) { // RFC 9112, section 2.2
		blank += 2
	}
	end := bytes.Index(in[blank:], []byte("\r\n\r\n"))
	used := blank + end + 4
	if end < 0 && len(in) > maxHead || used > maxHead {
		x.fail(w, http.StatusRequestHeaderFieldsTooLarge, out)
		return len(in)
	}
	if end < 0 {
		return 0
	}
	if code := w.req.parse(in[blank : blank+end+2]); code != 0 {
		x.fail(w, code, out)
		return len(in)
	}
	x.answer(w, out)
	if out.linger {
		return len(in)
	}
	if used > maxKept {
		x.res = nil
	}
	if x.res != nil {
		x.last = append(x.last[:0], in[:used]...)
	}
	return used
}

// tries is how often a resource is looked for that others replace meanwhile.
const tries = 5

// answer answers w.req, and sets x.res if the same answer may be given again.
func (x *exchange) answer(w *writer, out *output) {
	r := &w.req
	x.kept = answer{head: x.kept.head[:0], close: r.close || r.body, linger: r.body, keepAlive: r.old && !r.close}
	head := string(r.method) == http.MethodHead
	if !head && string(r.method) != http.MethodGet {
		w.plain(&x.kept, http.StatusMethodNotAllowed, "Allow: GET, HEAD\r\n", false, out)
		return
	}
	if r.body {
		w.plain(&x.kept, http.StatusRequestEntityTooLarge, "", head, out)
		return
	}
	for range tries {
		res, moved, code := x.site.find(r.target, w.now)
		if code != 0 {
			if moved != "" {
				moved = "Location: " + moved + "\r\n"
			}
			w.plain(&x.kept, code, moved, head, out)
			return
		}
		x.res = res
		if x.represent(w, res.choose(r.acceptEncoding), head, out) {
			return
		}
	}
	x.fail(w, http.StatusServiceUnavailable, out)
}

// represent answers w.req with a variant. It returns false if that is gone.
func (x *exchange) represent(w *writer, v *variant, head bool, out *output) bool {
	a, r := &x.kept, &w.req
	a.v, a.off, a.n = v, 0, v.size
	code := v.precondition(&r.fields)
	if code == 0 && !head && r.ranges != nil {
		a.off, a.n, code = v.part(&r.fields)
	}
	a.head = a.head[:0]
	switch code {
	case 0:
		a.head = append(a.head, v.ok...)
	case http.StatusNotModified:
		a.head = append(append(a.head, statusLine(code)...), v.about...)
	case http.StatusPartialContent:
		a.head = fmt.Appendf(a.head, "%sContent-Length: %d\r\nContent-Range: bytes %d-%d/%d\r\n%s%s",
			statusLine(code), a.n, a.off, a.off+a.n-1, v.size, v.kind, v.about)
	case http.StatusRequestedRangeNotSatisfiable:
		x.res = nil
		w.plain(a, code, fmt.Sprintf("Content-Range: bytes */%d\r\n", v.size), head, out)
		return true
	default:
		x.res = nil
		w.plain(a, code, "", head, out)
		return true
	}
	if head || code == http.StatusNotModified {
		a.n = 0
	}
	return w.render(a, out)
}

// fail answers what is no request, and ends the connection.
func (x *exchange) fail(w *writer, code status, out *output) {
	x.res = nil
	x.kept = answer{head: x.kept.head[:0], close: true, linger: true}
	w.plain(&x.kept, code, "", false, out)
}

// plain makes an answer of a status and its text, with further fields.
func (w *writer) plain(a *answer, code status, fields string, head bool, out *output) {
	text := strconv.Itoa(code) + " " + http.StatusText(code) + "\n"
	a.head = fmt.Appendf(a.head[:0], "%sContent-Length: %d\r\nContent-Type: text/plain; charset=utf-8\r\n%s",
		statusLine(code), len(text), fields)
	a.v, a.n = nil, 0
	w.render(a, out)
	if !head {
		out.bytes = append(out.bytes, text...)
		w.buf = out.bytes
	}
}

func statusLine(code status) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nServer: contend\r\n", code, http.StatusText(code))
}

// render makes the output of an answer. It returns false if the file is gone.
func (w *writer) render(a *answer, out *output) bool {
	*out = output{n: a.n, off: a.off, close: a.close, linger: a.linger}
	if a.n > 0 && a.v.file != nil {
		if !a.v.file.acquire() {
			return false
		}
		out.file = a.v.file
	}
	b := append(append(append(w.buf[:0], a.head...), "Date: "...), w.date...)
	if w.draining.Load() {
		out.close = true
	}
	switch {
	case out.close:
		b = append(b, "\r\nConnection: close"...)
	case a.keepAlive:
		b = append(b, "\r\nConnection: keep-alive"...)
	}
	b = append(b, "\r\n\r\n"...)
	if a.n > 0 && out.file == nil {
		if a.n <= inMemory {
			b = append(b, a.v.body[a.off:a.off+a.n]...)
			out.n = 0
		} else {
			out.rest = a.v.body[a.off : a.off+a.n]
		}
	}
	w.buf, out.bytes = b, b
	return true
}
