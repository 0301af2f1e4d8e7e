package counter

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp keeps the text of the Date header fresh for ever.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// Its pool of workers notices up to 10 s late that it was stopped.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// hang is how long a test waits for what should happen at once.
const hang = 30 * time.Second

// A running is a Server that serves on free ports of the loopback.
type running struct {
	*Server
	stop func()
	err  chan error // what Serve returned
}

// start serves cfg, with free ports where it asks for any address at all, until
// the test ends. before may change the server before it serves.
func start(t testing.TB, cfg Config, before ...func(*Server)) *running {
	t.Helper()
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, stop: cancel, err: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.err <- s.Serve(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// wait returns what Serve returned.
func (r *running) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-r.err:
		return err
	case <-time.After(hang):
		t.Fatal("Serve hangs")
		return nil
	}
}

// httpAddr returns the address that HTTP is bound to, or nil if it is off.
func (s *Server) httpAddr() net.Addr { return addrOf(s.http) }

// grpcAddr returns the address that gRPC is bound to, or nil if it is off.
func (s *Server) grpcAddr() net.Addr { return addrOf(s.grpc) }

func addrOf(ln net.Listener) net.Addr {
	if ln == nil {
		return nil
	}
	return ln.Addr()
}

func (r *running) url(path string) string { return "http://" + r.httpAddr().String() + path }

// A stuckGuard holds every caller until release or Close.
type stuckGuard struct {
	guarded
	entered chan struct{} // one token per caller
	release chan struct{}
}

func newStuck(t testing.TB, design string) *stuckGuard {
	t.Helper()
	inner, err := newGuarded(design)
	if err != nil {
		t.Fatal(err)
	}
	return &stuckGuard{guarded: inner, entered: make(chan struct{}, 1), release: make(chan struct{})}
}

func (s *stuckGuard) increment(n int64) (change, error) {
	s.entered <- struct{}{}
	<-s.release
	return s.guarded.increment(n)
}

func httpOnly() Config { return Config{HTTPAddr: "127.0.0.1:0"} }

func grpcOnly(design string) Config { return Config{GRPCAddr: "127.0.0.1:0", Guard: design} }

// isEnd reports whether a connection has ended, which one on which nothing comes has not.
func isEnd(err error) bool { return err != nil && !errors.Is(err, os.ErrDeadlineExceeded) }

// dial opens a plain connection that is closed at the end of the test.
func dial(t testing.TB, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * hang))
	return c
}
