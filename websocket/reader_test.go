package websocket

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gobwas/ws"
	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/websocket/websockettest"
)

const (
	limit  = 1 << 20
	buffer = 64 << 10
)

var sides = []websockettest.Side{websockettest.Client, websockettest.Server}

func configFor(s websockettest.Side) Config {
	return Config{Server: s == websockettest.Client, MaxMessage: limit, Buffer: buffer}
}

// A read is what a reader returned.
type read struct {
	op   ws.OpCode
	data string
}

// readAll reads to the end, or to the first mistake.
func readAll(r *Reader) (all []read, err error) {
	for {
		m, err := r.Next()
		if err != nil {
			return all, err
		}
		if m != nil {
			all = append(all, read{m.Op, string(m.Data)})
			continue
		}
		if _, err := r.Fill(); err != nil {
			return all, err
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", limit)
	for _, side := range sides {
		frame := func(op ws.OpCode, fin bool, payload string) []byte { return side.Frame(op, fin, []byte(payload)) }
		tests := []struct {
			name string
			give []byte
			want []read
		}{
			{"nothing", nil, nil},
			{"empty", frame(ws.OpText, true, ""), []read{{ws.OpText, ""}}},
			{"many at once", slices.Concat(frame(ws.OpText, true, "a"), frame(ws.OpBinary, true, "\xff"), frame(ws.OpPing, true, "")),
				[]read{{ws.OpText, "a"}, {ws.OpBinary, "\xff"}, {ws.OpPing, ""}}},
			{"in parts, with a ping between, cut inside a character", slices.Concat(frame(ws.OpText, false, "a\xe2\x82"),
				frame(ws.OpPing, true, "p"), frame(ws.OpContinuation, false, ""), frame(ws.OpContinuation, true, "\xacz")),
				[]read{{ws.OpPing, "p"}, {ws.OpText, "a€z"}}},
			{"16-bit length", frame(ws.OpText, true, long[:126]), []read{{ws.OpText, long[:126]}}},
			{"64-bit length, the longest, and one behind it", append(frame(ws.OpText, true, long), frame(ws.OpText, true, "b")...),
				[]read{{ws.OpText, long}, {ws.OpText, "b"}}},
			{"the longest in parts, twice", slices.Concat(frame(ws.OpText, false, long[1:]), frame(ws.OpContinuation, true, "x"),
				frame(ws.OpText, false, "x"), frame(ws.OpContinuation, true, long[1:])),
				[]read{{ws.OpText, long}, {ws.OpText, long}}},
			{"1000 empty parts", append(append(frame(ws.OpText, false, ""), bytes.Repeat(frame(ws.OpContinuation, false, ""), 999)...),
				frame(ws.OpContinuation, true, "a")...), []read{{ws.OpText, "a"}}},
		}
		for _, tt := range tests {
			for how, from := range map[string]io.Reader{
				"whole": bytes.NewReader(tt.give), "halves": iotest.HalfReader(bytes.NewReader(tt.give)),
				"data with the end": iotest.DataErrReader(bytes.NewReader(tt.give))} {
				got, err := readAll(NewReader(from, nil, configFor(side)))
				if err != io.EOF || !slices.Equal(got, tt.want) {
					t.Errorf("%s, %s: %d messages, %v", tt.name, how, len(got), err)
				}
			}
			if got, err := readAll(NewReader(strings.NewReader(""), tt.give, configFor(side))); err != io.EOF || !slices.Equal(got, tt.want) {
				t.Errorf("%s, all read before: %d messages, %v", tt.name, len(got), err)
			}
		}
	}
}

// A mistake is refused as soon as it has come, with memory that follows the bytes.
func TestReaderMistakes(t *testing.T) {
	for _, side := range sides {
		for _, tt := range side.Mistakes(limit) {
			for _, from := range []io.Reader{bytes.NewReader(tt.Bytes), iotest.OneByteReader(bytes.NewReader(tt.Bytes))} {
				r := NewReader(from, nil, configFor(side))
				_, err := readAll(r)
				var closed *CloseError
				if !errors.As(err, &closed) || closed.Code != tt.Code {
					t.Errorf("%s: %v, want %d", tt.Name, err, tt.Code)
				}
				if len(r.buf) > buffer || cap(r.parts) > buffer {
					t.Errorf("%s: takes %d bytes of memory", tt.Name, len(r.buf)+cap(r.parts))
				}
			}
		}
	}
}

func TestMemoryFollowsTheBytes(t *testing.T) {
	promise := "\x82\x7f\x00\x00\x00\x00\x3f\xff\xff\xff" // 1 GiB − 1
	r := NewReader(strings.NewReader(promise+"abc"), nil, Config{MaxMessage: 1 << 30, Buffer: 4096})
	if _, err := readAll(r); err != io.EOF || len(r.buf) > 4096 {
		t.Errorf("%d bytes are held for 3, %v", len(r.buf), err)
	}
}

// After a long message the reader needs no more memory than before.
func TestReaderGivesBack(t *testing.T) {
	long := make([]byte, limit)
	frame := websockettest.Client.Frame
	give := slices.Concat(frame(ws.OpBinary, true, long), frame(ws.OpBinary, false, long), frame(ws.OpContinuation, true, nil),
		frame(ws.OpBinary, false, nil), frame(ws.OpContinuation, true, []byte("b")))
	r := NewReader(bytes.NewReader(give), nil, configFor(websockettest.Client))
	if all, err := readAll(r); len(all) != 3 || err != io.EOF {
		t.Fatal(len(all), err)
	}
	if len(r.buf) != buffer || cap(r.parts) > keep {
		t.Errorf("keeps %d and %d bytes", len(r.buf), cap(r.parts))
	}
}

// The first reserved bit is that of compression where this was agreed on, in the
// first frame of a message only.
func TestCompressed(t *testing.T) {
	c := Config{MaxMessage: 10, Buffer: 16, Deflated: true}
	r := NewReader(strings.NewReader("\xc1\x01\xff\x41\x01a\x89\x00\x80\x01b\x81\x01c"), nil, c)
	var got []string
	for m, err := r.Next(); ; m, err = r.Next() {
		if m != nil {
			got = append(got, fmt.Sprintf("%d %v %q %d %d", m.Op, m.Compressed, m.Data, m.Wire, m.Body))
		} else if _, err = r.Fill(); err == io.EOF {
			break
		}
		testenv.Must(t, err)
	}
	if want := []string{`1 true "\xff" 3 1`, `9 false "" 0 0`, `1 true "ab" 6 2`, `1 false "c" 3 1`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, give := range []string{"\xa1\x00", "\x91\x00", "\xc9\x00", "\x41\x00\xc0\x00"} {
		var closed *CloseError
		if _, err := readAll(NewReader(strings.NewReader(give), nil, c)); !errors.As(err, &closed) || closed.Code != 1002 {
			t.Errorf("%x: %v", give, err)
		}
	}
}

// FirstByte is when the read ended that brought a message's first header.
func TestFirstByte(t *testing.T) {
	now := time.Duration(0)
	c := Config{MaxMessage: 10, Buffer: 16, Now: func() time.Duration { now++; return now }}
	r := NewReader(&cut{[]byte("\x81\x01a\x81\x02bc\x01\x00\x80\x01d"), 4}, nil, c) // 1 is taken by NewReader
	var got []string
	for {
		m, err := r.Next()
		testenv.Must(t, err)
		if m != nil {
			got = append(got, fmt.Sprintf("%s %d", m.Data, m.FirstByte))
		} else if _, err := r.Fill(); err != nil {
			break
		}
	}
	// The reads end after a81, 02bc01, 0080 01d.
	if want := []string{"a 2", "bc 3", "d 4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever the messages and however the network cuts them, they are what was sent.
func TestReaderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SampledFrom(sides).Draw(t, "side")
		var give []byte
		var want []read
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
			want = append(want, read{ws.OpBinary, string(data)})
			op := ws.OpBinary
			for len(data) > 0 && rapid.Bool().Draw(t, "in parts") {
				n := rapid.IntRange(0, len(data)).Draw(t, "part")
				give = append(give, side.Frame(op, false, data[:n])...)
				op, data = ws.OpContinuation, data[n:]
			}
			give = append(give, side.Frame(op, true, data)...)
		}
		got, err := readAll(NewReader(&cut{give, rapid.IntRange(1, 400).Draw(t, "cut")}, nil, configFor(side)))
		if err != io.EOF || !slices.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}

// A cut is a network that brings at most so many bytes at a time.
type cut struct {
	data []byte
	at   int
}

func (c *cut) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.at, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// Any bytes are read in the same way however they are cut, with memory that is
// bounded by what came.
func FuzzReader(f *testing.F) {
	for _, side := range sides {
		server := side == websockettest.Client
		for _, tt := range side.Mistakes(limit) {
			f.Add(tt.Bytes, uint8(3), server, false)
		}
		f.Add(append(side.Frame(ws.OpText, true, []byte("hello")), side.Frame(ws.OpPing, true, nil)...), uint8(1), server, true)
		f.Add(append(side.Frame(ws.OpText, false, []byte("hel")), side.Frame(ws.OpContinuation, true, []byte("lo"))...), uint8(200), server, false)
	}
	f.Add([]byte("\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00"), uint8(5), false, true)
	f.Fuzz(func(t *testing.T, data []byte, at uint8, server, deflated bool) {
		c := Config{Server: server, Deflated: deflated, MaxMessage: limit, Buffer: 4096}
		whole, wholeErr := readAll(NewReader(bytes.NewReader(data), nil, c))
		r := NewReader(&cut{data, int(at) + 1}, nil, c)
		parts, partsErr := readAll(r)
		if !slices.Equal(whole, parts) || wholeErr.Error() != partsErr.Error() {
			t.Fatalf("whole: %v, %v; in parts: %v, %v", whole, wholeErr, parts, partsErr)
		}
		if len(r.buf)+cap(r.parts) > 2*4096+4*len(data) {
			t.Fatalf("%d bytes of memory for %d", len(r.buf)+cap(r.parts), len(data))
		}
		total := 0
		for _, m := range whole {
			total += len(m.data) + ws.MinHeaderSize
		}
		if total > len(data) {
			t.Fatalf("%d bytes of frames in %d", total, len(data))
		}
	})
}

// repeated is a network that brings the same bytes with every read.
type repeated []byte

func (r repeated) Read(p []byte) (int, error) { return copy(p, r), nil }

// batch is many messages of one read.
func batch(side websockettest.Side) repeated {
	answer := []byte(`{"ProtocolVersion":1,"TransactionID":1763738011223344556,"DevEUI":11249791761593666359,"MIC":3726252033}`)
	return bytes.Repeat(side.Frame(ws.OpText, true, answer), 500)
}

func drain(r *Reader) (messages int) {
	_, _ = r.Fill() // repeated never fails
	for m, _ := r.Next(); m != nil; m, _ = r.Next() {
		messages++
	}
	return messages
}

func TestReaderDoesNotAllocate(t *testing.T) {
	for _, side := range sides {
		r := NewReader(batch(side), nil, configFor(side))
		if n := testing.AllocsPerRun(100, func() {
			if got := drain(r); got != 500 {
				t.Fatalf("%d messages", got)
			}
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	for name, side := range map[string]websockettest.Side{"masked": websockettest.Client, "plain": websockettest.Server} {
		b.Run(name, func(b *testing.B) {
			give := batch(side)
			r := NewReader(give, nil, configFor(side))
			b.ReportAllocs()
			b.SetBytes(int64(len(give) / 500))
			for i := 0; i < b.N; i += 500 {
				drain(r)
			}
		})
	}
}
