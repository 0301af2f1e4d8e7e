package h2

import (
	"testing"

	"golang.org/x/net/http2/hpack"
)

// An ender counts what ended and starts it again after the batch.
type ender struct{ free []int }

func (e *ender) Header(int, *Header, bool) error { return nil }
func (e *ender) Data(int, []byte) error          { return nil }
func (e *ender) End(slot int, _ error)           { e.free = append(e.free, slot) }

// BenchmarkCall is what a call costs without the network: building a request
// and parsing its answer (header, a small message, trailers), 50 at a time on
// one connection.
func BenchmarkCall(b *testing.B) {
	const streams = 50
	fields := []Field{{":method", "POST"}, {":scheme", "http"}, {":path", "/counter.incrementCounter/increment"}, {":authority", "127.0.0.1:50055"},
		{"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", "contend"}, {"grpc-timeout", "10000000u"}}
	request := NewRequest(fields, []byte{0, 0, 0, 0, 2, 8, 1})
	for name, alter := range map[string]func(c *Conn){
		"indexed": func(*Conn) {},
		"plain":   func(c *Conn) { c.noTable = true },
	} {
		b.Run(name, func(b *testing.B) {
			e := &ender{}
			c := NewConn(streams, e)
			out := c.Open(nil)
			alter(c)
			var block writer
			encoder := hpack.NewEncoder(&block)
			encode := func(fields ...hpack.HeaderField) []byte {
				block = nil
				for _, f := range fields {
					encoder.WriteField(f)
				}
				return block
			}
			status, kind := hpack.HeaderField{Name: ":status", Value: "200"}, hpack.HeaderField{Name: "content-type", Value: "application/grpc"}
			code, text := hpack.HeaderField{Name: "grpc-status", Value: "0"}, hpack.HeaderField{Name: "grpc-message"}
			learn := append(appendHeaders(frame(frameSettings, 0), 1, encode(status, kind), false), appendHeaders(nil, 1, encode(code, text), true)...)
			first, last := encode(status, kind), encode(code, text)
			c.Start(nil, 0, request)
			if _, err := c.Receive(nil, learn); err != nil {
				b.Fatal(err)
			}
			message := make([]byte, 30)
			var in []byte
			b.ReportAllocs()
			e.free = e.free[:0]
			for slot := range streams {
				e.free = append(e.free, slot)
			}
			for n := 0; n < b.N; n += streams {
				out, in = out[:0], in[:0]
				for _, slot := range e.free {
					out = c.Start(out, slot, request)
				}
				e.free = e.free[:0]
				for i := range streams {
					id := c.next - uint32(2*(streams-i))
					in = appendHeaders(in, id, first, false)
					in = appendData(in, id, message, false)
					in = appendHeaders(in, id, last, true)
				}
				if out, _ = c.Receive(out, in); len(e.free) != streams {
					b.Fatalf("%d of %d calls ended", len(e.free), streams)
				}
			}
		})
	}
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
