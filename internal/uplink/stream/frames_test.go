package stream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gobwas/ws"
	"pgregory.net/rapid"
)

// frame returns a frame as a client sends it.
func frame(op ws.OpCode, fin bool, payload []byte) []byte {
	f := ws.NewFrame(op, fin, slices.Clone(payload))
	return ws.MustCompileFrame(ws.MaskFrameInPlaceWith(f, [4]byte{0xa5, 0x01, 0xfe, 0x70}))
}

// A read is what a reader returned.
type read struct {
	op   ws.OpCode
	data string
}

// readAll reads to the end, or to the first mistake.
func readAll(r *reader) (all []read, err error) {
	for {
		op, data, err := r.next()
		if err != nil {
			return all, err
		}
		if op != 0 {
			all = append(all, read{op, string(data)})
			continue
		}
		if _, err := r.fill(); err != nil {
			return all, err
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", maxMessage)
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	tests := []struct {
		name string
		give []byte
		want []read
	}{
		{"nothing", nil, nil},
		{"empty", frame(ws.OpText, true, nil), []read{{ws.OpText, ""}}},
		{"many at once", join(frame(ws.OpText, true, []byte("a")), frame(ws.OpBinary, true, []byte{0xff}), frame(ws.OpPing, true, nil)),
			[]read{{ws.OpText, "a"}, {ws.OpBinary, "\xff"}, {ws.OpPing, ""}}},
		{"in parts, with a ping between, cut inside a character", join(frame(ws.OpText, false, []byte("a\xe2\x82")),
			frame(ws.OpPing, true, []byte("p")), frame(ws.OpContinuation, false, nil), frame(ws.OpContinuation, true, []byte("\xacz"))),
			[]read{{ws.OpPing, "p"}, {ws.OpText, "a€z"}}},
		{"16-bit length", frame(ws.OpText, true, []byte(long[:126])), []read{{ws.OpText, long[:126]}}},
		{"64-bit length, the longest, and one behind it", join(frame(ws.OpText, true, []byte(long)), frame(ws.OpText, true, []byte("b"))),
			[]read{{ws.OpText, long}, {ws.OpText, "b"}}},
		{"the longest in parts, twice", join(frame(ws.OpText, false, []byte(long[1:])), frame(ws.OpContinuation, true, []byte("x")),
			frame(ws.OpText, false, []byte("x")), frame(ws.OpContinuation, true, []byte(long[1:]))),
			[]read{{ws.OpText, long}, {ws.OpText, long}}},
	}
	for _, tt := range tests {
		for how, from := range map[string]io.Reader{
			"whole": bytes.NewReader(tt.give), "halves": iotest.HalfReader(bytes.NewReader(tt.give)),
			"data with the end": iotest.DataErrReader(bytes.NewReader(tt.give))} {
			got, err := readAll(newReader(from, nil))
			if err != io.EOF || !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s: %d messages, %v", tt.name, how, len(got), err)
			}
		}
		if got, err := readAll(newReader(strings.NewReader(""), tt.give)); err != io.EOF || !slices.Equal(got, tt.want) {
			t.Errorf("%s, all read before: %d messages, %v", tt.name, len(got), err)
		}
	}
}

// mistakes are what closes a connection, and how. The bytes end with the mistake:
// what a header promises need not come.
var mistakes = []struct {
	name string
	give []byte
	want ws.StatusCode
}{
	{"not masked", []byte{0x81, 1, 'a'}, 1002},
	{"not masked, header only", []byte{0x81, 1}, 1002},
	{"reserved bit", []byte{0xc1, 0x81}, 1002},
	{"reserved code", []byte{0x83, 0x81}, 1002},
	{"reserved control code", []byte{0x8b, 0x80}, 1002},
	{"ping of 126 bytes", []byte{0x89, 0xfe}, 1002},
	{"ping in parts", []byte{0x09, 0x80}, 1002},
	{"continues nothing", []byte{0x80, 0x80}, 1002},
	{"new message inside one", append(frame(ws.OpText, false, nil), 0x81, 0x80), 1002},
	{"negative length", []byte{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, 1002},
	{"largest length", []byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, 1009},
	{"1 MiB and 1", []byte{0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1, 1, 2, 3, 4}, 1009},
	{"1 MiB and 1 in parts", append(frame(ws.OpBinary, false, []byte("a")), 0x80, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4), 1009},
	{"not UTF-8", frame(ws.OpText, true, []byte("\xff")), 1007},
	{"not UTF-8, in parts", append(frame(ws.OpText, false, []byte("\xe2")), frame(ws.OpContinuation, true, []byte("a"))...), 1007},
}

func TestReaderMistakes(t *testing.T) {
	for _, tt := range mistakes {
		for _, from := range []io.Reader{bytes.NewReader(tt.give), iotest.OneByteReader(bytes.NewReader(tt.give))} {
			r := newReader(from, nil)
			_, err := readAll(r)
			var closed *closeError
			if !errors.As(err, &closed) || closed.code != tt.want {
				t.Errorf("%s: %v, want %d", tt.name, err, tt.want)
			}
			if len(r.buf) > buffer || cap(r.message) > buffer {
				t.Errorf("%s: takes %d bytes of memory", tt.name, len(r.buf)+cap(r.message))
			}
		}
	}
}

// After a long message the reader needs no more memory than before.
func TestReaderGivesBack(t *testing.T) {
	long := make([]byte, maxMessage)
	give := slices.Concat(frame(ws.OpBinary, true, long), frame(ws.OpBinary, false, long), frame(ws.OpContinuation, true, nil),
		frame(ws.OpBinary, false, nil), frame(ws.OpContinuation, true, []byte("b")))
	r := newReader(bytes.NewReader(give), nil)
	if all, err := readAll(r); len(all) != 3 || err != io.EOF {
		t.Fatal(len(all), err)
	}
	if len(r.buf) != buffer || cap(r.message) > buffer {
		t.Errorf("keeps %d and %d bytes", len(r.buf), cap(r.message))
	}
}

// What is appended as a frame is read as one by the library, at all lengths
// around the limits of the three headers.
func TestFrames(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 125, 126, 127, 65535, 65536, 65537, 100_000} {
		payload := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		out := endFrame(append(beginFrame([]byte("before")), payload...), 6, ws.OpText)
		out = endFrame(append(beginFrame(out), "after"...), len(out), ws.OpBinary)
		from := bytes.NewReader(out[6:])
		for _, want := range []string{string(payload), "after"} {
			if _, data, err := readFrame(from); err != nil || string(data) != want {
				t.Fatalf("%d: %d bytes, %v", n, len(data), err)
			}
		}
		if string(out[:6]) != "before" || from.Len() > 0 {
			t.Errorf("%d: something else was changed", n)
		}
	}
}

// A close frame holds what it can of its reason, as valid UTF-8.
func TestCloseFrame(t *testing.T) {
	tests := []struct {
		give, want string
	}{
		{"why", "why"},
		{strings.Repeat("x", 124), strings.Repeat("x", 123)},
		{strings.Repeat("€", 42), strings.Repeat("€", 41)}, // 126 bytes, and 123
		{strings.Repeat("x", 122) + "€", strings.Repeat("x", 122)},
		{"\xff!", "!"},
	}
	for _, tt := range tests {
		out := (&closeError{1008, tt.give}).appendFrame(nil)
		op, data, err := readFrame(bytes.NewReader(out))
		if code, reason := ws.ParseCloseFrameData(data); op != ws.OpClose || code != 1008 || reason != tt.want || err != nil {
			t.Errorf("%q: %x %d %q %v", tt.give, op, code, reason, err)
		}
	}
}

// Whatever the messages and however the network cuts them, they are what was sent.
func TestReaderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var give []byte
		var want []read
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
			want = append(want, read{ws.OpBinary, string(data)})
			op := ws.OpBinary
			for len(data) > 0 && rapid.Bool().Draw(t, "in parts") {
				n := rapid.IntRange(0, len(data)).Draw(t, "part")
				give = append(give, frame(op, false, data[:n])...)
				op, data = ws.OpContinuation, data[n:]
			}
			give = append(give, frame(op, true, data)...)
		}
		got, err := readAll(newReader(&cut{give, rapid.IntRange(1, 400).Draw(t, "cut")}, nil))
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
	for _, tt := range mistakes {
		f.Add(tt.give, uint8(3))
	}
	f.Add(append(frame(ws.OpText, true, []byte("hello")), frame(ws.OpPing, true, nil)...), uint8(1))
	f.Add(append(frame(ws.OpText, false, []byte("hel")), frame(ws.OpContinuation, true, []byte("lo"))...), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		whole, wholeErr := readAll(newReader(bytes.NewReader(data), nil))
		r := newReader(&cut{data, int(at) + 1}, nil)
		parts, partsErr := readAll(r)
		if !slices.Equal(whole, parts) || wholeErr.Error() != partsErr.Error() {
			t.Fatalf("whole: %v, %v; in parts: %v, %v", whole, wholeErr, parts, partsErr)
		}
		if len(r.buf)+cap(r.message) > 4*buffer+4*len(data) {
			t.Fatalf("%d bytes of memory for %d", len(r.buf)+cap(r.message), len(data))
		}
		total := 0
		for _, m := range whole {
			total += len(m.data) + ws.MinHeaderSize + 4
		}
		if total > len(data) {
			t.Fatalf("%d bytes of frames in %d", total, len(data))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	answer := []byte(`{"ProtocolVersion":1,"TransactionID":1763738011223344556,"DevEUI":11249791761593666359,"MIC":3726252033}`)
	give := bytes.Repeat(frame(ws.OpText, true, answer), 500)
	r := newReader(nil, give)
	scratch := slices.Clone(give)
	b.ReportAllocs()
	b.SetBytes(int64(len(give) / 500))
	for i := 0; i < b.N; i += 500 {
		r.begin, r.end = 0, copy(r.buf, scratch)
		for {
			if op, _, err := r.next(); err != nil || op == 0 {
				break
			}
		}
	}
}
