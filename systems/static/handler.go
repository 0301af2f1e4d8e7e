package static

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"contend/systems/web"
)

// fields are the headers that matter. A header that is repeated is a list.
type fields struct {
	ranges, ifRange                    []byte
	ifMatch, ifNoneMatch               []byte
	ifModifiedSince, ifUnmodifiedSince []byte
	acceptEncoding                     []byte
	close                              bool // the connection ends with the response
}

func fieldsOf(h *fasthttp.RequestHeader) (f fields) {
	for name, value := range h.All() {
		switch string(name) {
		case "Range":
			join(&f.ranges, value)
		case "If-Range":
			join(&f.ifRange, value)
		case "If-Match":
			join(&f.ifMatch, value)
		case "If-None-Match":
			join(&f.ifNoneMatch, value)
		case "If-Modified-Since":
			join(&f.ifModifiedSince, value)
		case "If-Unmodified-Since":
			join(&f.ifUnmodifiedSince, value)
		case "Accept-Encoding":
			join(&f.acceptEncoding, value)
		case "Connection":
			for option := range bytes.SplitSeq(value, []byte(",")) {
				f.close = f.close || is(bytes.Trim(option, " \t"), "close")
			}
		}
	}
	return f
}

// join makes a list of a header that is repeated.
func join(to *[]byte, value []byte) {
	if *to == nil {
		*to = value[:len(value):len(value)]
		return
	}
	*to = append(append(*to, ','), value...)
}

// tries is how often a resource is looked for while others replace it.
const tries = 5

// A status of 0 means no error.
type status = int

// serve answers a request.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	f := fieldsOf(&ctx.Request.Header)
	body := len(ctx.Request.Body()) > 0
	if f.close || body || s.draining.Load() {
		ctx.SetConnectionClose()
	}
	if body {
		plain(ctx, http.StatusRequestEntityTooLarge)
		return
	}
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Response.Header.Set("Allow", "GET, HEAD")
		plain(ctx, http.StatusMethodNotAllowed)
		return
	}
	for range tries {
		res, moved, code := s.site.find(ctx.Request.Header.RequestURI(), ctx.Time())
		if code != 0 {
			if moved != "" {
				ctx.Response.Header.Set("Location", moved)
			}
			plain(ctx, code)
			return
		}
		if s.represent(ctx, res.choose(f.acceptEncoding), &f) {
			return
		}
		res.until.Store(0) // its file is another one
	}
	plain(ctx, http.StatusServiceUnavailable)
}

// represent answers with a variant. It returns false if that is gone.
func (s *Server) represent(ctx *fasthttp.RequestCtx, v *variant, f *fields) bool {
	h := &ctx.Response.Header
	off, n, code := int64(0), v.size, v.precondition(f)
	if code == 0 && !ctx.IsHead() && f.ranges != nil {
		off, n, code = v.part(f)
	}
	switch code {
	case 0:
		h.SetCanonical([]byte("Accept-Ranges"), []byte("bytes"))
	case http.StatusNotModified:
		n = 0
	case http.StatusPartialContent:
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, off+n-1, v.size))
	case http.StatusRequestedRangeNotSatisfiable:
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", v.size))
		plain(ctx, code)
		return true
	default:
		plain(ctx, code)
		return true
	}
	if !s.body(ctx, v, off, n) {
		return false
	}
	ctx.SetStatusCode(max(http.StatusOK, code))
	h.SetCanonical([]byte("ETag"), v.tag)
	h.SetCanonical([]byte("Last-Modified"), v.date)
	if v.varies {
		h.SetCanonical([]byte("Vary"), []byte("Accept-Encoding"))
	}
	if code != http.StatusNotModified {
		h.SetContentTypeBytes(v.contentType)
		if v.coding != "" {
			h.SetContentEncoding(v.coding)
		}
	}
	return true
}

// body sets the bytes of a variant that are sent, and how long that may take. It returns false if its file has
// become another one.
func (s *Server) body(ctx *fasthttp.RequestCtx, v *variant, off, n int64) bool {
	_ = ctx.Conn().SetWriteDeadline(time.Now().Add(s.config.writeTime(n)))
	switch {
	case n == 0:
	case ctx.IsHead():
		ctx.Response.SkipBody = true
		ctx.Response.Header.SetContentLength(int(n))
	case v.body != nil:
		ctx.Response.SetBodyRaw(v.body[off : off+n])
	default:
		file, info, err := openRegular(s.site.root, v.name)
		if err != nil {
			return false
		}
		if _, err := file.Seek(off, io.SeekStart); err != nil || markOf(info) != v.mark {
			_ = file.Close()
			return false
		}
		ctx.Response.SetBodyStream(&part{file, io.LimitedReader{R: file, N: n}}, int(n))
	}
	return true
}

// A part of a file is closed once it is sent.
type part struct {
	*os.File
	left io.LimitedReader
}

func (p *part) Read(b []byte) (int, error) { return p.left.Read(b) }

// WriteTo lets the connection choose how to take it.
func (p *part) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, &p.left) }

// plain answers with a status and its text.
func plain(ctx *fasthttp.RequestCtx, code int) {
	ctx.SetStatusCode(code)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(strconv.Itoa(code) + " " + http.StatusText(code) + "\n")
}

// refuse answers an invalid request, or one with a body.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, err error) {
	if code := web.Refusal(ctx, err); code != 0 {
		plain(ctx, code)
	}
}
