package redis

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a wire whose other end takes everything.
func piped(t *testing.T, l *connector) *countedConn {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, theirs)
	}()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = theirs.Close()
		<-done
	})
	w := &countedConn{Conn: ours, link: l, born: time.Since(l.begun)}
	w.used.Store(int64(w.born))
	return w
}

func TestWire(t *testing.T) {
	const hello = "*1\r\n$5\r\nHELLO\r\n"
	for _, test := range []struct {
		name   string
		writes []string
		before func(l *connector)
		trips  uint64
		unsent bool // the last write
	}{
		{name: "a greeting is none", writes: []string{"HELLO"}},
		{name: "each write after it is one", writes: []string{"HELLO", "a", "bc"}, trips: 2},
		{name: "a probe and a command are one", trips: 1, writes: []string{hello, "*1\r\n$4\r\nPING\r\n*1\r\n$1\r\na\r\n"}},
		{name: "probes are none", trips: 0, writes: []string{hello, "*1\r\n$4\r\nPING\r\n", "*2\r\n$6\r\nEXISTS\r\n$1\r\na\r\n"}},
		{name: "unused, but not for long", writes: []string{"HELLO", "a"}, trips: 1,
			before: func(*connector) { time.Sleep(maxIdle) }},
		{name: "unused for long", writes: []string{"HELLO", "a"}, unsent: true,
			before: func(*connector) { time.Sleep(maxIdle + 1) }},
		{name: "in doubt", writes: []string{"HELLO", "a"}, unsent: true,
			before: func(l *connector) { time.Sleep(time.Nanosecond); l.distrust() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &connector{oneByOne: true, begun: time.Now()}
				w := piped(t, l)
				var err error
				for i, text := range test.writes {
					if i == len(test.writes)-1 && test.before != nil {
						test.before(l)
					}
					_, err = w.Write([]byte(text))
				}
				if isStale(err) != test.unsent || (err != nil) != test.unsent || l.roundTrips.Load() != test.trips {
					t.Errorf("%v, %d round trips, want %d", err, l.roundTrips.Load(), test.trips)
				}
			})
		})
	}
}

// TestWireOfAPipeline: nothing there is known not to have been sent, as others may
// wait for answers on the same connection.
func TestWireOfAPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &connector{begun: time.Now()}
		w := piped(t, l)
		if _, err := w.Write([]byte("HELLO")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond)
		l.distrust()
		var u *unsent
		if _, err := w.Write([]byte("a")); err == nil || errors.As(err, &u) {
			t.Errorf("in doubt: %v, want an error of the connection", err)
		}
		if _, err := w.Conn.Write([]byte("a")); err == nil {
			t.Error("the connection is still open")
		}
	})
}
