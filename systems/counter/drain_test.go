package counter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/systems/counter/counterpb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// stick puts a stuck guard behind /status or behind gRPC.
func stick(stuck *stuckGuard) func(*Server) {
	return func(s *Server) {
		for _, side := range s.sides {
			switch side := side.(type) {
			case *httpSide:
				side.handler.routes[pathAtomic].own = stuck
			case *rpc:
				side.own = stuck
			}
		}
	}
}

// begin sends the start of a request, so that it is in flight.
func begin(t *testing.T, s *running, path string) (net.Conn, *bufio.Reader) {
	t.Helper()
	before := activeConns(s)
	c := dial(t, s.httpAddr())
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the request begins to arrive", func() bool { return activeConns(s) > before })
	return c, bufio.NewReader(c)
}

func activeConns(s *running) int { return s.sides[0].(*httpSide).server.Active() }

func finish(t *testing.T, c net.Conn, br *bufio.Reader) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, "\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestDrainAnswersWhatIsInFlight(t *testing.T) {
	stuck := newStuck(t, "atomic")
	s := start(t, httpOnly(), stick(stuck))
	answered := make(chan int)
	go func() { // in the guard
		resp, err := http.Get(s.url(pathAtomic))
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-stuck.entered
	early, br := begin(t, s, pathMutex) // in the middle of its header
	ready, readyBR := begin(t, s, pathReady)
	s.stop()
	testenv.Eventually(t, "draining", s.phase.draining)

	// A new connection is still answered, with a refusal.
	for path, want := range map[string]int{pathReady: 503, pathMutex: 503, pathHealth: 200, pathMetrics: 200} {
		resp, _ := fetch(t, "GET", s.url(path))
		if resp.StatusCode != want || !resp.Close {
			t.Errorf("%s while draining: %s, close %v; want %d and close", path, resp.Status, resp.Close, want)
		}
	}
	if resp := finish(t, ready, readyBR); resp.StatusCode != 503 {
		t.Errorf("/ready while draining: %s", resp.Status)
	}
	if resp := finish(t, early, br); resp.StatusCode != 200 || !resp.Close {
		t.Errorf("request in flight: %s, close %v", resp.Status, resp.Close)
	}
	close(stuck.release)
	if code := <-answered; code != 200 {
		t.Errorf("request in the guard: %d", code)
	}
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.httpAddr().String()); err == nil {
		c.Close()
		t.Error("the port still accepts after the drain")
	}
}

func TestDrainEndsIdleConnections(t *testing.T) {
	s := start(t, httpOnly())
	silent, idle := dial(t, s.httpAddr()), dial(t, s.httpAddr())
	if _, err := io.WriteString(idle, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(idle)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.stop()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]io.Reader{"silent": silent, "idle": br} {
		if n, err := r.Read(make([]byte, 1)); n != 0 || !isEnd(err) {
			t.Errorf("%s connection: read %d, %v; want its end", name, n, err)
		}
	}
}

// TestDrainUnderLoad checks that exactly the counted requests were answered.
func TestDrainUnderLoad(t *testing.T) {
	s := start(t, httpOnly())
	var answered, largest atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr, Timeout: hang}
			for {
				n, ok := getOnce(client, s.url(pathMutex))
				if !ok {
					return
				}
				answered.Add(1)
				for old := largest.Load(); n > old && !largest.CompareAndSwap(old, n); old = largest.Load() {
				}
			}
		})
	}
	testenv.Eventually(t, "load", func() bool { return answered.Load() > 200 })
	s.stop()
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if answered.Load() != largest.Load() {
		t.Errorf("%d answers, but the counter went to %d", answered.Load(), largest.Load())
	}
}

func getOnce(client *http.Client, url string) (counter int64, ok bool) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	var a statusAnswer
	err = json.NewDecoder(resp.Body).Decode(&a)
	return a.Counter, err == nil && resp.StatusCode == 200
}

func TestDrainDeadlineCutsOff(t *testing.T) {
	cfg := httpOnly()
	cfg.DrainTimeout = 50 * time.Millisecond
	s := start(t, cfg)
	c, br := begin(t, s, pathMutex)
	s.stop()
	if err := s.wait(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want the passed deadline", err)
	}
	_, _ = io.WriteString(c, "\r\n")
	if b, err := br.Peek(1); !isEnd(err) {
		t.Errorf("after the deadline: %q, %v; want the connection's end", b, err)
	}
}

func TestNotReadyBeforeServing(t *testing.T) {
	h := newTestHandler(t)
	h.phase = &phase{}
	ctx := newGet(pathReady)
	h.serve(ctx)
	if got := ctx.Response.StatusCode(); got != 503 {
		t.Errorf("/ready before serving: %d, want 503", got)
	}
}

func TestGRPCDrain(t *testing.T) {
	stuck := newStuck(t, "mutex")
	s := start(t, grpcOnly("mutex"), stick(stuck))
	cc := connect(t, s)
	client := counterpb.NewIncrementCounterClient(cc)
	watch, err := grpc_health_v1.NewHealthClient(cc).Watch(timeout(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error)
	go func() {
		_, err := client.Increment(timeout(t), &counterpb.IncrementBy{Value: 1})
		answered <- err
	}()
	<-stuck.entered
	if got, err := watch.Recv(); err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health before: %v, %v", got, err)
	}
	s.stop()
	testenv.Eventually(t, "later calls are refused", func() bool {
		_, err := counterpb.NewIncrementCounterClient(connect(t, s)).
			Increment(timeout(t), &counterpb.IncrementBy{Value: -1})
		return status.Code(err) == codes.Unavailable
	})
	for err == nil { // NOT_SERVING may or may not arrive before the stream ends
		_, err = watch.Recv()
	}
	close(stuck.release)
	if err := <-answered; err != nil {
		t.Errorf("call in flight: %v", err)
	}
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

func TestGRPCDrainDeadlineCutsOff(t *testing.T) {
	cfg := grpcOnly("mutex")
	cfg.DrainTimeout = 50 * time.Millisecond
	stuck := newStuck(t, "mutex")
	s := start(t, cfg, stick(stuck))
	client := counterpb.NewIncrementCounterClient(connect(t, s))
	answered := make(chan error)
	go func() {
		_, err := client.Increment(timeout(t), &counterpb.IncrementBy{Value: 1})
		answered <- err
	}()
	<-stuck.entered
	s.stop()
	if err := <-answered; status.Code(err) != codes.Unavailable {
		t.Errorf("call that was cut off: %v, want Unavailable", err)
	}
	close(stuck.release)
	if err := s.wait(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve returned %v, want the passed deadline", err)
	}
}
