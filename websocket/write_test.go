package websocket

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gobwas/ws"
)

var lengths = []int{0, 1, 2, 3, 125, 126, 127, 65535, 65536, 65537, 100_000}

func payloadOf(n int) []byte { return bytes.Repeat([]byte("0123456789"), n/10+1)[:n] }

// A frame that is appended is read as one by the library, at all lengths around
// the limits of the three headers.
func TestEndFrame(t *testing.T) {
	for _, n := range lengths {
		out := EndFrame(append(BeginFrame([]byte("before")), payloadOf(n)...), 6, ws.OpText)
		out = EndFrame(append(BeginFrame(out), "after"...), len(out), ws.OpBinary)
		from := bytes.NewReader(out[6:])
		for _, want := range []string{string(payloadOf(n)), "after"} {
			if f, err := readFrame(from); err != nil || string(f.Payload) != want || !f.Header.Fin || f.Header.Masked {
				t.Fatalf("%d: %d bytes, %v", n, len(f.Payload), err)
			}
		}
		if string(out[:6]) != "before" || from.Len() > 0 {
			t.Errorf("%d: something else was changed", n)
		}
	}
}

// readFrame reads one frame as the library does.
func readFrame(from *bytes.Reader) (f ws.Frame, err error) {
	if f.Header, err = ws.ReadHeader(from); err != nil {
		return f, err
	}
	f.Payload = make([]byte, f.Header.Length)
	_, err = io.ReadFull(from, f.Payload)
	return f, err
}

func TestAppendMasked(t *testing.T) {
	for i, n := range lengths {
		payload := payloadOf(n)
		deflated := i%2 == 1
		out := AppendMasked([]byte("before"), ws.OpBinary, deflated, payload, 0x01020304)
		from := bytes.NewReader(out[6:])
		f, err := readFrame(from)
		if err != nil || from.Len() > 0 {
			t.Fatal(err, from.Len())
		}
		if f.Header.Mask != [4]byte{4, 3, 2, 1} || f.Header.Rsv1() != deflated || !f.Header.Fin || f.Header.OpCode != ws.OpBinary ||
			!bytes.Equal(ws.UnmaskFrame(f).Payload, payload) || !bytes.Equal(payload, payloadOf(n)) {
			t.Errorf("%d: %+v", n, f.Header)
		}
	}
}

func TestParseClose(t *testing.T) {
	for _, tt := range []struct {
		give   string
		code   ws.StatusCode // 0: a mistake
		reason string
	}{
		{"", 1005, ""}, {"\x03\xe8", 1000, ""}, {"\x03\xe8bye", 1000, "bye"}, {"\x10\xe1why", 4321, "why"}, {"\x03\xf5later", 1013, "later"},
		{give: "\x03"}, {give: "\x03\xed"}, {give: "\x03\xe7"}, {give: "\x03\xe8\xff"},
	} {
		code, reason, err := ParseClose([]byte(tt.give))
		var closed *CloseError
		if code != tt.code || reason != tt.reason || (tt.code == 0) != errors.As(err, &closed) || closed != nil && closed.Code != 1002 {
			t.Errorf("%q: got %d %q %v, want %d %q", tt.give, code, reason, err, tt.code, tt.reason)
		}
	}
}
