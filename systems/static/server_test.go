package static

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	p, err := NewPage(20_000_000, false)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Page: p})
	idle, half, big := dial(t, s.Addr()), dial(t, s.Addr()), dial(t, s.Addr())
	idle.send(t, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	idle.receive(t, "HEAD")
	half.send(t, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.1\r\nHost:")
	half.receive(t, "HEAD") // and with the first request half of another has arrived
	big.send(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := big.Peek(1); err != nil { // the answer is on its way, and does not fit into the sockets
		t.Fatal(err)
	}
	s.stop()
	idle.ended(t)
	half.send(t, " x\r\n\r\n")
	if got := half.receive(t, "HEAD"); got.StatusCode != 200 || !got.Close {
		t.Errorf("in flight: %d, close %v", got.StatusCode, got.Close)
	}
	half.ended(t)
	if got := big.receive(t, "GET"); len(got.body) != len(p.body) {
		t.Errorf("large answer: %d bytes", len(got.body))
	}
	_ = big.Close()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the port still accepts")
	}
}

func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	p, err := NewPage(20_000_000, false)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Page: p, DrainTimeout: 200 * time.Millisecond})
	deaf := dial(t, s.Addr())
	deaf.send(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := deaf.Peek(1); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := s.wait(t); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 HTTP connections cut off") {
		t.Errorf("Serve returned %v", err)
	}
	if n, _ := io.Copy(io.Discard, deaf); n >= int64(len(p.body)) {
		t.Errorf("%d bytes of a connection that was cut off", n)
	}
}

func TestConfig(t *testing.T) {
	page, _ := NewPage(1, true)
	for _, tt := range []struct {
		give Config
		want []string // "": no error
	}{
		{Config{}, []string{"http is missing", "one of Dir and Page"}},
		{Config{Addr: "x", Dir: ".", Page: page}, []string{"one of Dir and Page"}},
		{Config{Addr: "127.0.0.1:0", Page: page, MaxConns: -1, IdleTimeout: -1}, []string{"max-conns is -1", "idle-timeout is -1ns"}},
		{Config{Addr: "127.0.0.1:0", Dir: "/does/not/exist"}, []string{"does/not/exist"}},
		{Config{Addr: "127.0.0.1:x", Page: page}, []string{"cannot listen on"}},
	} {
		s, err := Listen(tt.give)
		if err == nil {
			_ = s.listener.Close()
			t.Errorf("%+v: no error", tt.give)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
	}
}
