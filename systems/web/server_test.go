package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"

	"contend/internal/testenv"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // what fasthttp never ends
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// A service answers /wait when it is released, and says of others whether their connection is late.
type service struct {
	*Server
	address  string
	draining atomic.Bool
	entered  chan struct{}
	release  chan struct{}
}

func start(t *testing.T) *service {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{address: ln.Addr().String(), entered: make(chan struct{}), release: make(chan struct{})}
	s.Server = New(ln, &fasthttp.Server{MaxRequestBodySize: 10, Handler: func(ctx *fasthttp.RequestCtx) {
		switch {
		case string(ctx.Path()) == "/wait":
			s.entered <- struct{}{}
			<-s.release
		case IsLate(ctx):
			ctx.SetStatusCode(http.StatusServiceUnavailable)
		}
	}, ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) { ctx.SetStatusCode(Refusal(ctx, err)) }}, s.draining.Load)
	ended := make(chan error)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Drain(done) // again, where the test has done so
		<-ended
	})
	return s
}

// ask sends a request on a connection of its own, and returns that with what it responds to come.
func (s *service) ask(t *testing.T, request string) (net.Conn, func() int) {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(testenv.Patience))
	go func() { _, _ = io.WriteString(c, request) }()
	return c, func() int {
		t.Helper()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
}

func TestDrain(t *testing.T) {
	s := start(t)
	silent, _ := s.ask(t, "")
	_, waiting := s.ask(t, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	<-s.entered
	if n := s.Active(); n != 1 {
		t.Errorf("%d connections carry a request, want 1", n)
	}
	s.draining.Store(true)
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context()) }()
	if n, err := silent.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("an idle connection: %d bytes, %v; want its end", n, err)
	}
	if _, late := s.ask(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); late() != http.StatusServiceUnavailable {
		t.Error("a connection that comes while draining is not late")
	}
	close(s.release)
	if code := waiting(); code != http.StatusOK {
		t.Errorf("in flight: %d", code)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.address); err == nil {
		c.Close()
		t.Error("the port still accepts")
	}
}

func TestDrainIsCutOff(t *testing.T) {
	s := start(t)
	s.ask(t, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	<-s.entered
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	time.AfterFunc(200*time.Millisecond, func() { close(s.release) })
	if err := s.Drain(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 HTTP connections cut off") {
		t.Errorf("Drain: %v", err)
	}
}

// A response to a refused request arrives, although most of the request is not read.
func TestRefusal(t *testing.T) {
	s := start(t)
	for request, want := range map[string]int{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" + strings.Repeat("x", 500_000): 413,
		"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 500_000) + "\r\n\r\n":                431,
		"\x00\x01\r\n\r\n": 400,
	} {
		c, response := s.ask(t, request)
		if code := response(); code != want {
			t.Errorf("%.20q…: %d, want %d", request, code, want)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%.20q…: %d bytes more, %v; want the end", request, n, err)
		}
	}
}
