package wiretest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"contend/errkind"
)

// A Stream is the server's side of a request of HTTP/2, by frames.
type Stream struct {
	*http2.Framer
	Conn net.Conn
	ID   uint32
}

// Streams serves a connection of HTTP/2: it does something about each request, and answers nothing else.
func Streams(about func(Stream)) (serve func(net.Conn)) {
	return func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if headers, ok := frame.(*http2.HeadersFrame); ok {
				about(Stream{f, conn, headers.StreamID})
			}
		}
	}
}

// AskedOverHTTP2 serves a connection of HTTP/2 from the first request on.
func AskedOverHTTP2(serve func(net.Conn)) func(net.Conn) {
	return Streams(func(s Stream) {
		serve(s.Conn)
		s.Conn.Close()
	})
}

// Block compresses header fields: names and values in turn.
func Block(fields ...string) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// Headers sends header fields, and ends the answer if end is set.
func (s Stream) Headers(end bool, fields ...string) error {
	return s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.ID, BlockFragment: Block(fields...), EndHeaders: true, EndStream: end})
}

// OnceOverHTTP2 answers the first request of each connection, and ends it when another one comes, or refuses that.
func OnceOverHTTP2(refuses bool) (serve func(net.Conn)) {
	return func(conn net.Conn) {
		answered := false
		Streams(func(s Stream) {
			switch {
			case !answered:
				_ = s.Headers(true, ":status", "200")
				answered = true
			case refuses:
				_ = s.WriteRSTStream(s.ID, http2.ErrCodeRefusedStream)
			default:
				conn.Close()
			}
		})(conn)
	}
}

// Frames are the bytes that write sends about the first request of a connection.
func Frames(write func(Stream)) string {
	var b bytes.Buffer
	write(Stream{Framer: http2.NewFramer(&b, nil), ID: 1})
	return b.String()
}

// OverHTTP2 are peers that misbehave by frames of HTTP/2, with an answer that begins with these header fields.
func OverHTTP2(head ...string) []Peer {
	begun := func(next func(Stream)) func(net.Conn) {
		return Streams(func(s Stream) {
			_ = s.Headers(false, head...)
			next(s)
		})
	}
	pings := "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"
	return []Peer{
		{Name: "headers only", Serve: begun(func(Stream) {}), Want: []errkind.Kind{errkind.Timeout}},
		{Name: "garbage after the headers", Serve: begun(func(s Stream) { Say(0, strings.Repeat("no frame of any kind", 100))(s.Conn) }), Want: []errkind.Kind{errkind.Protocol}},
		{Name: "resets the stream", Serve: begun(func(s Stream) { _ = s.WriteRSTStream(s.ID, http2.ErrCodeInternal) }), Want: []errkind.Kind{errkind.Reset}},
		{Name: "resets the stream, out of calm", Serve: begun(func(s Stream) { _ = s.WriteRSTStream(s.ID, http2.ErrCodeEnhanceYourCalm) }), Want: []errkind.Kind{errkind.Reset}},
		{Name: "resets the stream before the headers", Serve: Streams(func(s Stream) { _ = s.WriteRSTStream(s.ID, http2.ErrCodeInternal) }), Want: []errkind.Kind{errkind.Reset}},
		{Name: "leaves, then silence", Serve: begun(func(s Stream) { _ = s.WriteGoAway(s.ID, http2.ErrCodeNo, nil) }),
			Want: []errkind.Kind{errkind.Timeout, errkind.Closed}}, // what crosses two of its GOAWAYs is not sent a third time
		{Name: "leaves, then ends its side", Serve: begun(func(s Stream) {
			_ = s.WriteGoAway(s.ID, http2.ErrCodeNo, nil)
			HalfClose(s.Conn)
		}), Want: []errkind.Kind{errkind.Closed}},
		{Name: "leaves in anger", Serve: begun(func(s Stream) {
			_ = s.WriteGoAway(s.ID, http2.ErrCodeEnhanceYourCalm, nil)
			HalfClose(s.Conn)
		}), Want: []errkind.Kind{errkind.Closed}},
		{Name: "data before the headers", Serve: Streams(func(s Stream) { _ = s.WriteData(s.ID, true, []byte("x")) }), Want: []errkind.Kind{errkind.Protocol}},
		{Name: "no status", Serve: Streams(func(s Stream) { _ = s.Headers(true, "x", "y") }), Want: []errkind.Kind{errkind.Protocol}},
		{Name: "endless pings", Serve: AskedOverHTTP2(Endless("", strings.Repeat(pings, 100))), Want: []errkind.Kind{errkind.Timeout, errkind.Protocol}, Endless: true},
		{Name: "a ping a millisecond", Serve: AskedOverHTTP2(func(conn net.Conn) {
			for _, err := io.WriteString(conn, pings); err == nil; _, err = io.WriteString(conn, pings) {
				time.Sleep(time.Millisecond)
			}
		}), Want: []errkind.Kind{errkind.Timeout}},
		{Name: "endless continuations", Serve: Streams(func(s Stream) {
			err := s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.ID, BlockFragment: Block(":status", "200")})
			for more := Block("a", strings.Repeat("~", 8000)); err == nil; {
				err = s.WriteContinuation(s.ID, false, more)
			}
		}), Want: []errkind.Kind{errkind.Protocol}, Endless: true},
		{Name: "endless interim answers", Serve: AskedOverHTTP2(Endless("", strings.Repeat(Frames(func(s Stream) { _ = s.Headers(false, ":status", "103") }), 100))),
			Want: []errkind.Kind{errkind.Protocol}},
	}
}

// A Handler misbehaves as a handler of net/http can, whatever is below it.
type Handler struct {
	Name  string
	Serve http.HandlerFunc
	Want  []errkind.Kind
}

// Handlers are all of them.
var Handlers = []Handler{
	{"never answers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []errkind.Kind{errkind.Timeout}},
	{"resets without an answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, []errkind.Kind{errkind.Reset}},
	{"resets in the body", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "abc")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
		panic(http.ErrAbortHandler)
	}, []errkind.Kind{errkind.Reset}},
	{"endless body", func(w http.ResponseWriter, _ *http.Request) {
		for more := bytes.Repeat([]byte("x"), 5000); ; {
			if _, err := w.Write(more); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}, []errkind.Kind{errkind.Timeout}},
	{"a byte at a time", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}, []errkind.Kind{errkind.Timeout}},
	{"long header", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Add("X", strings.Repeat("y", 1000)+string(rune('a'+i%26)))
		}
	}, []errkind.Kind{errkind.Protocol}},
}
