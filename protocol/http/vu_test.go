package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestMain(m *testing.M) { testenv.Main(m, 24) }

func newTestVU(t testing.TB, c Config) *vu {
	t.Helper()
	v := wiretest.VU[*vu](t, targetOf(t, c), 0)
	v.SetTimeout(10 * time.Second)
	return v
}

func echoMethod(w nethttp.ResponseWriter, r *nethttp.Request) { _, _ = io.WriteString(w, r.Method) }

// serveOn serves h on a listener of the given kind and returns its address.
func serveOn(t *testing.T, network, address string, h nethttp.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err) // a machine without IPv6
	}
	server := &httptest.Server{Listener: l, Config: &nethttp.Server{Handler: h}}
	server.Start()
	t.Cleanup(server.Close)
	return l.Addr().String()
}

func TestDoSendsTheRequestAndReportsTheAnswer(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X") != "y" || r.UserAgent() != "contend" || string(body) != "hello" {
			w.WriteHeader(400)
		}
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		w.WriteHeader(status)
		if status == 200 {
			_, _ = io.WriteString(w, strings.Repeat("x", 300_000))
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s nethttp.ConnState) {
		if s == nethttp.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for _, test := range []struct {
		status   int
		expect   []int
		failed   bool
		expected string
	}{
		{200, nil, false, ""}, {204, nil, false, ""}, {302, nil, false, ""}, {404, nil, true, ""}, {503, nil, true, ""},
		{404, []int{200, 404}, false, ""}, {204, []int{200, 404}, true, "200 or 404"},
	} {
		connections.Store(0)
		v := newTestVU(t, Config{
			URL: fmt.Sprintf("%s/?status=%d", server.URL, test.status), Method: "POST",
			Header: []wire.Field{{Name: "X", Value: "y"}}, Body: []byte("hello"), ExpectStatus: test.expect,
		})
		for range 5 {
			out, err := v.Do(context.Background())
			if err != nil || out.Status != test.status || out.Failed != test.failed || out.Expected != test.expected {
				t.Fatalf("status %d: got %+v, %v", test.status, out, err)
			}
			if test.status == 200 && out.BytesIn < 300_000 || out.BytesOut != int64(len(v.target.requests[0].fixed)) {
				t.Errorf("status %d: bytes in %d, out %d", test.status, out.BytesIn, out.BytesOut)
			}
			if p := out.Phases; p.FirstByte <= 0 || p != (load.Phases{FirstByte: p.FirstByte}) {
				t.Errorf("status %d: phases %+v although the connection was there", test.status, p)
			}
		}
		if got := connections.Load(); got != 1 {
			t.Errorf("status %d: %d connections for 5 iterations", test.status, got)
		}
	}
}

func TestDoSendsAndReadsMoreThanAnyBufferHolds(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	v := newTestVU(t, Config{URL: server.URL, Method: "POST", Body: body})
	for range 3 {
		out, err := v.Do(context.Background())
		if err != nil || out.Failed || out.BytesIn < int64(len(body)) || out.BytesOut < int64(len(body)) {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
	if len(v.buf) > maxBuffer {
		t.Errorf("buffer of %d bytes", len(v.buf))
	}
}

func TestDoWatchesEachContextOnce(t *testing.T) {
	server := httptest.NewServer(nethttp.HandlerFunc(echoMethod))
	defer server.Close()
	v := newTestVU(t, Config{URL: server.URL})
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		for range 5 {
			if out, err := v.Do(ctx); err != nil || out.Phases.Connect != 0 {
				t.Fatalf("got %+v, %v", out, err)
			}
		}
		cancel()
		testenv.Eventually(t, "an error of a cancelled context", func() bool {
			_, err := v.Do(ctx)
			return errkind.Of(err) == errkind.Cancelled
		})
		if _, err := v.Do(context.Background()); err != nil {
			t.Fatalf("after a cancelled context: %v", err)
		}
	}
}

func TestDoDoesNotAllocate(t *testing.T) {
	body := strings.Repeat("x", 130_000)
	for name, answer := range map[string]string{
		"small":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
		"large":   fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			v := newTestVU(t, Config{URL: "http://" + wiretest.Listen(t, wiretest.Answering(answer))})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			do := func() {
				if out, err := v.Do(ctx); err != nil || out.Failed {
					t.Fatalf("got %+v, %v", out, err)
				}
			}
			for range 20 {
				do() // the buffer grows
			}
			if got := testing.AllocsPerRun(200, do); got != 0 {
				t.Errorf("%v allocations per iteration", got)
			}
		})
	}
}

func BenchmarkDo(b *testing.B) {
	v := newTestVU(b, Config{URL: "http://" + wiretest.Listen(b, wiretest.Answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Do(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
