package http

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// A fakeLoop is all of a loop that a conversation sees, without sockets.
type fakeLoop struct {
	t       testing.TB
	c       *conversation
	begun   int
	drained bool
	ended   []load.Outcome
	skipped int64
}

func (l *fakeLoop) FirstByte(slot int) {
	if l.begun++; slot != 0 || l.begun != 1 || len(l.ended) > 0 {
		l.t.Fatalf("first byte %d of slot %d after %d answers", l.begun, slot, len(l.ended))
	}
}

func (l *fakeLoop) End(slot int, out *load.Outcome, err error) {
	if slot != 0 || err != nil || len(l.ended) > 0 || l.begun != 1 {
		l.t.Fatalf("slot %d ended with %+v, %v after %d answers, %d first bytes", slot, out, err, len(l.ended), l.begun)
	}
	end := *out
	end.Detail = slices.Clone(out.Detail)
	l.ended = append(l.ended, end)
}

func (l *fakeLoop) Drain() { l.drained = true }

// A talk is what a conversation made of one answer.
type talk struct {
	Outcome load.Outcome
	Ended   bool
	Drained bool
	Err     error
}

// converse starts an iteration and receives data in pieces of the given sizes,
// over and over, and then the peer's end. It drops what need not be seen if
// drop is set.
func (l *fakeLoop) converse(data []byte, drop bool, sizes ...int) talk {
	l.begun, l.drained, l.ended = 0, false, nil
	if out := l.c.Start(nil, 0); string(out) != string(l.c.target.requests[0].fixed) {
		l.t.Fatalf("started with %q", out)
	}
	var err error
	for i := 0; len(data) > 0 && err == nil && len(l.ended) == 0; i++ {
		n := min(max(1, sizes[i%len(sizes)]), len(data))
		if skip := min(l.c.Skip(), int64(n)); drop && skip > 0 {
			l.c.Skipped(skip, l)
			l.skipped += skip
			data = data[skip:]
			continue
		}
		piece := slices.Clone(data[:n])
		_, err = l.c.Receive(nil, piece, l)
		clear(piece) // is valid only during the call
		data = data[n:]
	}
	if err == nil && len(data) == 0 {
		_, err = l.c.Receive(nil, nil, l)
	}
	got := talk{Ended: len(l.ended) > 0, Drained: l.drained, Err: err}
	if got.Ended {
		got.Outcome = l.ended[0]
	}
	return got
}

func newFakeLoop(t testing.TB, c Config) *fakeLoop {
	t.Helper()
	c.URL = "http://h/"
	target, err := New(c)
	testenv.Must(t, err)
	s, err := target.newSender(0)
	testenv.Must(t, err)
	l := &fakeLoop{t: t, c: newConversation(target, s)}
	if out := l.c.Open(nil); len(out) != 0 {
		t.Fatalf("opened with %q", out)
	}
	return l
}

func methodFor(head bool) string {
	if head {
		return "HEAD"
	}
	return "GET"
}

func TestConversationReadsEachAnswerHoweverItArrives(t *testing.T) {
	for _, test := range answers {
		t.Run(test.name, func(t *testing.T) {
			l := newFakeLoop(t, Config{Method: methodFor(test.head), ExpectStatus: []int{test.status}})
			data := []byte(test.answer)
			for _, drop := range []bool{false, true} {
				for cut := 1; cut <= len(data); cut++ {
					got := l.converse(data, drop, cut, len(data))
					out := got.Outcome
					if got.Err != nil || !got.Ended || out.Failed || out.Status != test.status ||
						out.BytesIn != int64(len(data)) || got.Drained == test.reusable {
						t.Fatalf("cut at %d, drop %t: %+v", cut, drop, got)
					}
				}
			}
		})
	}
}

func TestConversationDropsBodiesThatNobodyReads(t *testing.T) {
	// 10 of 100 bytes come with the header; the other 90 need not be seen. 200 -
	// len("HTTP/1.1 503 Busy\r\n\r\n") = 179 bytes of a wrong answer are kept.
	for _, test := range []struct {
		answer string
		want   int64
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100), 90},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n064\r\n" + strings.Repeat("x", 100) + "\r\n0\r\n\r\n", 95},
		{"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 100), 0},
		{"HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), 1000 - 179},
	} {
		l := newFakeLoop(t, Config{})
		header := strings.Index(test.answer, "\r\n\r\n") + 4
		got := l.converse([]byte(test.answer), true, header+10, 179-10, 10_000)
		if got.Err != nil || got.Outcome.BytesIn != int64(len(test.answer)) || l.skipped != test.want {
			t.Errorf("%.20q: %+v, %d bytes dropped, want %d", test.answer, got, l.skipped, test.want)
		}
	}
}

func TestConversationRefusesWhatNobodyAskedFor(t *testing.T) {
	l := newFakeLoop(t, Config{})
	if _, err := l.c.Receive(nil, []byte("HTTP/1.1 408"), l); errkind.Of(err) != errkind.Protocol {
		t.Errorf("unasked bytes: %v", err)
	}
	if _, err := l.c.Receive(nil, nil, l); err != nil {
		t.Errorf("a close between iterations: %v", err)
	}
}

func TestConversationForgetsABrokenConnection(t *testing.T) {
	l := newFakeLoop(t, Config{})
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for range 3 {
		if got := l.converse([]byte(ok[:len(ok)-1]), false, 7); got.Ended || got.Err == nil {
			t.Fatalf("cut off: %+v", got)
		}
		l.c.Open(nil)
		if got := l.converse([]byte(ok), false, 7); !got.Ended || got.Drained || got.Outcome.BodyIn != 2 {
			t.Fatalf("after that: %+v", got)
		}
	}
}

func TestConversationDoesNotAllocate(t *testing.T) {
	l := newFakeLoop(t, Config{})
	data := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	var out []byte
	slots := nothingDone{}
	if got := testing.AllocsPerRun(100, func() {
		out = l.c.Start(out[:0], 0)
		if _, err := l.c.Receive(out, data, slots); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("%v allocations per iteration", got)
	}
}

type nothingDone struct{}

func (nothingDone) FirstByte(int)                 {}
func (nothingDone) End(int, *load.Outcome, error) {}
func (nothingDone) Drain()                        {}

// FuzzConversation checks that the result is the same whatever the split, and
// whether bytes are dropped or seen.
func FuzzConversation(f *testing.F) {
	for _, a := range answers {
		f.Add(a.head, []byte(a.answer), uint8(3), uint8(7))
	}
	f.Add(false, []byte("HTTP/1.1 503 X\r\nContent-Length: 5\r\n\r\nhello"), uint8(1), uint8(9))
	f.Add(false, []byte("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), uint8(1), uint8(9))
	f.Add(true, []byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\no"), uint8(3), uint8(7)) // closed, and spoilt
	f.Fuzz(func(t *testing.T, head bool, data []byte, a, b uint8) {
		for _, checks := range [][]string{nil, {"not body contains hello", "not header X contains a"}} {
			c := Config{Method: methodFor(head), AB: AB{SameLength: true}, Checks: checks}
			whole := newFakeLoop(t, c).converse(data, false, len(data))
			for _, drop := range []bool{false, true} {
				got := newFakeLoop(t, c).converse(data, drop, int(a), int(b))
				if !sameTalk(whole, got, len(data)) {
					t.Fatalf("whole: %+v, in pieces of %d and %d, drop %t: %+v", whole, a, b, drop, got)
				}
			}
		}
	})
}

// sameTalk compares what became of sent bytes.
func sameTalk(whole, pieces talk, sent int) bool {
	switch {
	case whole.Err == nil:
		if whole.Outcome.Stray && sent > int(pieces.Outcome.BytesIn) { // what follows the answer may have come in a piece of its own
			pieces.Outcome.Stray, pieces.Outcome.Parted, pieces.Drained = true, whole.Outcome.Parted, whole.Drained
		}
		return reflect.DeepEqual(whole, pieces)
	case pieces.Ended: // and what follows the answer came in a piece of its own
		return sent > int(pieces.Outcome.BytesIn)
	}
	return errkind.Of(whole.Err) == errkind.Of(pieces.Err) && errors.Is(whole.Err, io.EOF) == errors.Is(pieces.Err, io.EOF)
}

// BenchmarkConversation is what an iteration costs without the kernel.
func BenchmarkConversation(b *testing.B) {
	l := newFakeLoop(b, Config{})
	data := []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:15:38 GMT\r\n" +
		"Content-Type: application/json\r\nContent-Length: 61\r\nConnection: keep-alive\r\n\r\n" + strings.Repeat("x", 61))
	var out []byte
	var err error
	b.ReportAllocs()
	for b.Loop() {
		out = l.c.Start(out[:0], 0)
		if out, err = l.c.Receive(out, data, nothingDone{}); err != nil {
			b.Fatal(err)
		}
	}
}
