package grpc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"contend/load"
	"contend/loop"
)

// told are slots that record their calls.
type told struct{ events []string }

func (s *told) FirstByte(slot int) { s.events = append(s.events, fmt.Sprint(slot, " first byte")) }
func (s *told) Drain()             {}

func (s *told) End(slot int, out *load.Outcome, err error) {
	if err != nil {
		s.events = append(s.events, fmt.Sprint(slot, " ", err))
		return
	}
	said := load.Content{}
	shown := *out
	if out.Content != nil {
		said, shown.Content = *out.Content, nil
	}
	s.events = append(s.events, fmt.Sprintf("%d %+v %q", slot, shown, said.StatusName))
}

func newCall() *loopCall {
	c := &loopCall{call: call{method: methodPath, request: newRequest([]byte("\x08\x01")), expect: codes.OK,
		said: load.Content{StatusName: "OK"}}, authority: "h", maxMessage: 1000}
	c.build(time.Second)
	return c
}

// A server's side of a connection, and two calls on it.
var exchanges = []string{
	"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
	"\x00\x00\x19\x01\x04\x00\x00\x00\x01\x88\x0f\x10\x10application/grpc\x00\x01a\x01b" +
		"\x00\x00\x07\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x02ab" +
		"\x00\x00\x0f\x01\x05\x00\x00\x00\x01\x00\x0bgrpc-status\x010",
	"\x00\x00\x24\x01\x05\x00\x00\x00\x03\x88\x0f\x10\x10application/grpc\x00\x0bgrpc-status\x0212",
	"\x00\x00\x04\x03\x00\x00\x00\x00\x03\x00\x00\x00\x08",
	"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00",
}

// However an exchange is cut, the calls come to the same end.
func FuzzConversation(f *testing.F) {
	f.Add([]byte(exchanges[0]+exchanges[1]+exchanges[2]), byte(1))
	f.Add([]byte(exchanges[0]+exchanges[1]+exchanges[3]), byte(7))
	f.Add([]byte(exchanges[0]+exchanges[4]+exchanges[1]), byte(20))
	f.Fuzz(func(t *testing.T, in []byte, piece byte) {
		var events [2]string
		for i, n := range []int{max(1, len(in)), 1 + int(piece)} {
			c := newConversation(newCall(), 2)
			c.Start(c.Start(c.Open(nil), 0), 1)
			s := &told{}
			var err error
			for rest := in; len(rest) > 0 && err == nil; rest = rest[min(n, len(rest)):] {
				_, err = c.Receive(nil, rest[:min(n, len(rest))], s)
			}
			events[i] = fmt.Sprint(s.events, err)
		}
		if events[0] != events[1] {
			t.Errorf("whole: %s\nin pieces: %s", events[0], events[1])
		}
	})
}

func TestExchanges(t *testing.T) {
	c := newConversation(newCall(), 2)
	c.Start(c.Start(c.Open(nil), 0), 1)
	s := &told{}
	for _, in := range exchanges[:3] {
		if _, err := c.Receive(nil, []byte(in), s); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprint([]string{
		"0 first byte", fmt.Sprintf("0 %+v %q", load.Outcome{BytesIn: 2, BodyIn: 2, BytesOut: 2}, "OK"),
		"1 first byte", fmt.Sprintf("1 %+v %q", load.Outcome{Status: 12, Failed: true, BytesOut: 2, Detail: []byte{}}, ""),
	})
	if got := fmt.Sprint(s.events); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// quiet are slots that only count.
type quiet struct{ ended int }

func (*quiet) FirstByte(int)                   {}
func (*quiet) Drain()                          {}
func (s *quiet) End(int, *load.Outcome, error) { s.ended++ }

var _, _ loop.Slots = (*quiet)(nil), (*told)(nil)

// A call allocates nothing once its connection has seen one.
func TestCallAllocatesNothing(t *testing.T) {
	c := newConversation(newCall(), 1)
	out := c.Start(c.Open(nil), 0)
	s := &quiet{}
	if _, err := c.Receive(nil, []byte(exchanges[0]), s); err != nil {
		t.Fatal(err)
	}
	in := []byte(exchanges[1])
	// The number of the stream is in the sixth to ninth byte of each frame.
	var frames [3][]byte
	for i, rest := 0, in; len(rest) > 0; i++ {
		length := 9 + int(rest[2])
		frames[i], rest = rest[:length], rest[length:]
	}
	id := byte(1)
	allocations := testing.AllocsPerRun(100, func() {
		for _, frame := range frames {
			frame[8] = id
		}
		id += 2
		var err error
		if out, err = c.Receive(out[:0], in, s); err != nil {
			t.Fatal(err)
		}
		out = c.Start(out[:0], 0)
	})
	if allocations > 0 || s.ended != 101 || !bytes.Contains(out, []byte("\x08\x01")) {
		t.Errorf("%v allocations per call, %d calls", allocations, s.ended)
	}
}
