package h2

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"contend/errkind"
)

// A recorder writes down its calls.
type recorder struct {
	events []string
	body   map[int]int // bytes since the last other event
	refuse string      // what Header and Data refuse
}

func (r *recorder) note(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Header(slot int, h *Header, ends bool) error {
	r.flush(slot)
	r.note("%d header %d ends=%v %s", slot, h.Status, ends, strings.ReplaceAll(strings.TrimSpace(lines(h)), "\n", ", "))
	return r.judge("header")
}

func (r *recorder) Data(slot int, p []byte) error {
	if r.body == nil {
		r.body = map[int]int{}
	}
	r.body[slot] += len(p)
	return r.judge("data")
}

func (r *recorder) End(slot int, err error) {
	r.flush(slot)
	r.note("%d end %v", slot, err)
}

func (r *recorder) flush(slot int) {
	if n := r.body[slot]; n > 0 {
		r.note("%d data %d", slot, n)
		r.body[slot] = 0
	}
}

var errRefused = errors.New("refused")

func (r *recorder) judge(what string) error {
	if r.refuse == what {
		return errRefused
	}
	return nil
}

// Frames of a server, as bytes.
const (
	empty    = "000000 04 00 00000000" // SETTINGS
	settings = empty
	answered = "000001 01 04 00000001 88"
	trailers = "000004 01 05 00000001 00 01 61 00"
)

// ours are what the connection says when it is opened and to the first SETTINGS.
const (
	greeting = "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a" + // the preface
		"000012 04 00 00000000" + "0002 00000000" + "0004 3fffffff" + "0006 00040000" + // no push, window, header size
		"000004 08 00 00000000 3fff0000" // 2³⁰ − 1 − 65535
	ack = "000000 04 01 00000000"
)

func simpleRequest(body string) *Request {
	return NewRequest([]Field{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "h"}}, []byte(body))
}

// one returns a connection with a request on the first of two slots.
func one(t testing.TB, owner Streams) *Conn {
	t.Helper()
	c := NewConn(2, owner)
	c.Start(c.Open(nil), 0, simpleRequest("ab"))
	return c
}

func TestGreeting(t *testing.T) {
	c := NewConn(2, &recorder{})
	request := simpleRequest("ab")
	out := c.Start(c.Open(nil), 0, request)
	first := greeting + "000006 01 04 00000001 83 86 84 41 01 68" + "000002 00 01 00000001 6162"
	if want := unhex(t, first); string(out) != string(want) {
		t.Errorf("first request:\n%x, want\n%x", out, want)
	}
	if out := c.Start(nil, 1, request); len(out) > 0 {
		t.Errorf("a second stream before the server's SETTINGS: %x", out)
	}
	out, err := c.Receive(nil, unhex(t, settings))
	again := ack + "000004 01 04 00000003 83 86 84 be" + "000002 00 01 00000003 6162"
	if want := unhex(t, again); err != nil || string(out) != string(want) {
		t.Errorf("second request:\n%x, %v, want\n%x", out, err, want)
	}
}

// What frames of a server mean, and the responses to them.
func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name, in string
		events   string
		out      string // after the acknowledgement
		err      string // part of it
	}{
		{"answer", answered + "000003 00 00 00000001 616263" + trailers,
			"0 header 200 ends=false :status: 200|0 data 3|0 header 0 ends=true a:|0 end <nil>", "", ""},
		{"header only", "000001 01 05 00000001 88", "0 header 200 ends=true :status: 200|0 end <nil>", "", ""},
		{"data ends", answered + "000001 00 01 00000001 61", "0 header 200 ends=false :status: 200|0 data 1|0 end <nil>", "", ""},
		{"empty data ends", answered + "000000 00 01 00000001", "0 header 200 ends=false :status: 200|0 end <nil>", "", ""},
		{"padded data", answered + "000006 00 09 00000001 02 616263 0000", "0 header 200 ends=false :status: 200|0 data 3|0 end <nil>", "", ""},
		{"only padding", answered + "000003 00 09 00000001 02 0000", "0 header 200 ends=false :status: 200|0 end <nil>", "", ""},
		{"only a padding's length", answered + "000001 00 09 00000001 00", "0 header 200 ends=false :status: 200|0 end <nil>", "", ""},
		{"padded header with priority", "000009 01 2d 00000001 02 00000000 ff 88 0000", "0 header 200 ends=true :status: 200|0 end <nil>", "", ""},
		{"continuation", "000001 01 01 00000001 88" + "000002 09 00 00000001 0001" + "000002 09 04 00000001 6100",
			"0 header 200 ends=true :status: 200, a:|0 end <nil>", "", ""},
		{"1xx", "000005 01 04 00000001 08 03 313033" + answered, "0 header 200 ends=false :status: 200", "", ""},
		{"ping", "000008 06 00 00000000 0102030405060708", "", "000008 06 01 00000000 0102030405060708", ""},
		{"ping acknowledged", "000008 06 01 00000000 0102030405060708", "", "", ""},
		{"settings again", settings, "", ack, ""},
		{"settings acknowledged", ack, "", "", ""},
		{"priority and unknown", "000005 02 00 00000001 0000000000" + "000003 fa ff 00000009 616263" + answered, "0 header 200 ends=false :status: 200", "", ""},
		{"reset", "000004 03 00 00000001 00000002", "0 end HTTP/2: the server reset the stream: INTERNAL_ERROR", "", ""},
		{"unknown code", "000004 03 00 00000001 000000ff", "0 end HTTP/2: the server reset the stream: error 255", "", ""},
		{"frames after a reset", "000004 03 00 00000001 00000008" + answered + "000003 00 00 00000001 616263" + "000004 08 00 00000001 00000001",
			"0 end HTTP/2: the server reset the stream: CANCEL", "", ""},
		{"going away, processing", "000008 07 00 00000000 00000001 00000000" + answered + trailers,
			"0 header 200 ends=false :status: 200|0 header 0 ends=true a:|0 end <nil>", "", ""},
		{"going away, not processing", "00000a 07 00 00000000 00000000 0000000b 6162",
			"0 end HTTP/2: the server did not process the request: GOAWAY, ENHANCE_YOUR_CALM", "", ""},

		{"data before the header", "000001 00 00 00000001 61", "0 end HTTP/2: a body before its header", "000004 03 00 00000001 00000001", ""},
		{"header in the middle", answered + answered, "0 header 200 ends=false :status: 200|0 end HTTP/2: a header out of place", "000004 03 00 00000001 00000001", ""},
		{"trailers that do not end", answered + "000004 01 04 00000001 00 01 61 00", "0 header 200 ends=false :status: 200|0 end HTTP/2: a header out of place", "000004 03 00 00000001 00000001", ""},
		{"trailers first", trailers, "0 end HTTP/2: a header out of place", "000004 03 00 00000001 00000001", ""},
		{"1xx that ends", "000005 01 05 00000001 08 03 313033", "0 end HTTP/2: a header out of place", "000004 03 00 00000001 00000001", ""},
		{"switching protocols", "000005 01 04 00000001 08 03 313031", "0 end HTTP/2: a header out of place", "000004 03 00 00000001 00000001", ""},
		{"malformed", "000001 01 04 00000001 82", "0 end HTTP/2: an answer with malformed pseudo-header fields", "000004 03 00 00000001 00000001", ""},
		{"window grows by 0", "000004 08 00 00000001 00000000", "0 end HTTP/2: a stream's window grows by 0", "000004 03 00 00000001 00000001", ""},
		{"window too large", "000004 08 00 00000001 7fffffff", "0 end HTTP/2: a stream's window grows by 2147483647", "000004 03 00 00000001 00000001", ""},

		{"pushed", "000005 05 04 00000001 00000002 88", "", "", "pushed"},
		{"stream not opened", "000001 01 04 00000003 88", "", "", "not opened"},
		{"even stream", "000001 00 00 00000002 61", "", "", "not opened"},
		{"stream 0", "000001 01 04 00000000 88", "", "", "not opened"},
		{"too long", "004001 00 00 00000001", "", "", "16385 bytes"},
		{"not HPACK", "000001 01 04 00000001 80", "", "", "not HPACK"},
		{"interrupted block", "000001 01 00 00000001 88" + settings, "", "", "interrupted"},
		{"continues nothing", "000001 09 04 00000001 88", "", "", "continues no"},
		{"padding too long", answered + "000002 00 08 00000001 02 61", "0 header 200 ends=false :status: 200", "", "padding"},
		{"padding without length", "000000 00 08 00000001", "", "", "padding"},
		{"padded header too long", "000002 01 0c 00000001 02 88", "", "", "padding"},
		{"priority cut off", "000002 01 24 00000001 02 88", "", "", "padding"},
		{"window of the connection", "000004 08 00 00000000 00000000", "", "", "grows by 0"},
		{"push allowed", "000006 04 00 00000000 0002 00000001", "", "", "setting 2"},
		{"window setting", "000006 04 00 00000000 0004 80000000", "", "", "setting 4"},
		{"frame size setting", "000006 04 00 00000000 0005 00000001", "", "", "setting 5"},
		{"settings of 5 bytes", "000005 04 00 00000000 0005 000000", "", "", "5 bytes"},
		{"ping of 1 byte", "000001 06 00 00000000 00", "", "", "type 6"},
		{"reset of 1 byte", "000001 03 00 00000001 00", "", "", "type 3"},
		{"reset of no stream", "000004 03 00 00000003 00000000", "", "", "not opened"},
		{"goaway of 1 byte", "000001 07 00 00000000 00", "", "", "type 7"},
		{"window update of 1 byte", "000001 08 00 00000000 00", "", "", "type 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := unhex(t, settings+test.in)
			for _, pieces := range []int{len(in), 1, 3} {
				r := &recorder{}
				c := one(t, r)
				out, err := receive(c, in, pieces)
				if got := strings.Join(r.events, "|"); got != test.events {
					t.Errorf("in pieces of %d:\n%s, want\n%s", pieces, got, test.events)
				}
				if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || errkind.Of(err) != errkind.Protocol) {
					t.Errorf("in pieces of %d: error %v, want %q", pieces, err, test.err)
				}
				if want := unhex(t, ack+test.out); err == nil && string(out) != string(want) {
					t.Errorf("in pieces of %d: sent %x, want %x", pieces, out, want)
				}
			}
		})
	}
}

func receive(c *Conn, in []byte, pieces int) (out []byte, err error) {
	for len(in) > 0 && err == nil {
		n := min(pieces, len(in))
		// A copy, so that nothing may be kept of it.
		piece := append([]byte(nil), in[:n]...)
		out, err = c.Receive(out, piece)
		clear(piece)
		in = in[n:]
	}
	return out, err
}

// A protocol other than HTTP/2 is detected by the first frame.
func TestForeign(t *testing.T) {
	for _, in := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", string(unhex(t, answered)), string(unhex(t, ack))} {
		if _, err := one(t, &recorder{}).Receive(nil, []byte(in)); err != errForeign {
			t.Errorf("%q: %v", in, err)
		}
	}
	if _, err := one(t, &recorder{}).Receive(nil, nil); errkind.Of(err) != errkind.Closed {
		t.Errorf("closed: %v", err)
	}
}

// An answer that the owner refuses is reset, and the rest of it is ignored.
func TestRefusal(t *testing.T) {
	for what, end := range map[string]string{"header": "0 end refused", "data": "0 data 1|0 end refused"} {
		r := &recorder{refuse: what}
		out, err := receive(one(t, r), unhex(t, settings+answered+"000001 00 00 00000001 61"+"000001 00 01 00000001 62"), 1)
		if got := strings.Join(r.events[1:], "|"); got != end || err != nil {
			t.Errorf("%s: %s, %v", what, got, err)
		}
		if want := unhex(t, ack+"000004 03 00 00000001 00000008"); string(out) != string(want) {
			t.Errorf("%s: sent %x", what, out)
		}
	}
}

// A stream that is given up frees its slot; what the server still sends on it
// is ignored, but keeps the tables in step.
func TestCancel(t *testing.T) {
	r := &recorder{}
	c := one(t, r)
	c.Start(nil, 1, simpleRequest("")) // held back
	if out := c.Cancel(nil, 1); len(out) > 0 {
		t.Errorf("sent %x for a stream that was held back", out)
	}
	if out := c.Cancel(nil, 1); len(out) > 0 {
		t.Errorf("sent %x for no stream", out)
	}
	receive(c, unhex(t, settings), 100)
	if out := c.Cancel(nil, 0); string(out) != string(unhex(t, "000004 03 00 00000001 00000008")) {
		t.Errorf("sent %x", out)
	}
	c.Start(nil, 0, simpleRequest(""))
	inserts := "000005 01 04 00000001 88 40 01 61 00" + "000000 00 01 00000001"
	if _, err := receive(c, unhex(t, inserts+"000002 01 05 00000003 88 be"), 100); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.events, "|"); got != "0 header 200 ends=true :status: 200, a:|0 end <nil>" {
		t.Error(got)
	}
}
