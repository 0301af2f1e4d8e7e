package faults_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/internal/testenv"
)

// echo is a server that sends everything back, and counts what it has read.
func echo(t *testing.T) func() (net.Conn, error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
}

// A clientConn is a client's connection through a proxy.
type clientConn struct {
	t *testing.T
	net.Conn
}

func connect(t *testing.T, p *proxy) clientConn {
	t.Helper()
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return clientConn{t, c}
}

// say sends text and expects it back.
func (c clientConn) say(text string) {
	c.t.Helper()
	c.send(text)
	got := make([]byte, len(text))
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		c.t.Fatalf("echo of %q: %q, %v", text, got, err)
	}
}

func (c clientConn) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// ends returns how the connection ends.
func (c clientConn) ends() error {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, err := c.Read(make([]byte, 1024)); err != nil {
			return err
		}
	}
}

// silent tells that nothing comes for a while.
func (c clientConn) silent() {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n > 0 || !isTimeout(err) {
		c.t.Fatalf("%d bytes came, error %v: want silence", n, err)
	}
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func TestProxyPasses(t *testing.T) {
	p := startProxy(t, echo(t))
	c := connect(t, p)
	c.say("hello")
	p.become(weather{latency: time.Millisecond, jitter: time.Millisecond})
	c.say(strings.Repeat("long", 50_000))
	if p.tolls.delayed.Load() == 0 {
		t.Error("nothing was delayed")
	}
	p.become(weather{})
	c.say("hello again")
}

func TestProxySevers(t *testing.T) {
	p := startProxy(t, echo(t))
	for reset, want := range map[bool]error{false: io.EOF, true: syscall.ECONNRESET} {
		c := connect(t, p)
		c.say("hello")
		if n := p.sever(reset); n != 1 {
			t.Fatalf("%d connections severed: want 1", n)
		}
		if err := c.ends(); !errors.Is(err, want) {
			t.Errorf("severed, reset %v: %v, want %v", reset, err, want)
		}
		testenv.Eventually(t, "the connection is gone", func() bool { return p.sever(reset) == 0 })
	}
}

// A connection that has lost data stays silent in fine weather, others work.
func TestProxySwallows(t *testing.T) {
	for name, deaf := range map[string]weather{
		"requests": {deafToRequests: true}, "answers": {deafToAnswers: true},
		"both": {deafToRequests: true, deafToAnswers: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, echo(t))
			idle, lost := connect(t, p), connect(t, p)
			idle.say("hello")
			lost.say("hello")
			p.become(deaf)
			lost.send("swallowed")
			testenv.Eventually(t, "bytes are swallowed", func() bool { return p.tolls.swallowed.Load() == int64(len("swallowed")) })
			p.become(weather{})
			lost.send("too late")
			lost.silent()
			idle.say("nothing lost here")
			connect(t, p).say("a new one")
		})
	}
}

func TestProxyCuts(t *testing.T) {
	p := startProxy(t, echo(t))
	c := connect(t, p)
	c.say("hello")
	p.become(weather{cut: 1})
	c.send("cut")
	if err := c.ends(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a cut connection: %v, want %v", err, syscall.ECONNRESET)
	}
	// What is left of the piece may have been echoed, and cut, before the connection ended.
	if n := p.tolls.cut.Load(); n < 1 || n > 2 {
		t.Errorf("%d pieces cut: want 1 or 2", n)
	}
}

func TestProxyKeepsTheDoorClosed(t *testing.T) {
	p := startProxy(t, echo(t))
	before := connect(t, p)
	before.say("hello")
	p.become(weather{closedDoor: true})
	c := connect(t, p) // the kernel takes it on, the proxy does not
	c.send("hello")
	c.silent()
	before.say("still here")
	p.become(weather{})
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, make([]byte, len("hello"))); err != nil {
		t.Error(err)
	}
}

func TestProxyWithoutUpstream(t *testing.T) {
	p := startProxy(t, func() (net.Conn, error) { return nil, errors.New("no Redis") })
	if err := connect(t, p).ends(); err == nil || isTimeout(err) {
		t.Errorf("a connection without an upstream: %v, want its end", err)
	}
}
