package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// overBothEngines calls test for each engine that this system has, with a
// function that runs a plan over it.
func overBothEngines(t *testing.T, test func(t *testing.T, run runner)) {
	wiretest.Engines(t, loop.Supported, func(t *testing.T, engine load.Engine) {
		test(t, func(t testing.TB, c Config, plan load.Plan) *load.Result {
			if engine == load.EventLoop {
				return runLoop(t, c, plan)
			}
			return wiretest.Over(t, engine, targetOf(t, c), plan)
		})
	})
}

type runner func(t testing.TB, c Config, plan load.Plan) *load.Result

// runLoop runs a plan by event loops, where there are any.
func runLoop(t testing.TB, c Config, plan load.Plan) *load.Result {
	t.Helper()
	wiretest.Needs(t, loop.Supported)
	engine := load.EventLoop
	if c.DisableKeepAlive && !c.HTTP2 && strings.HasPrefix(c.URL, "https:") {
		engine = load.Goroutines // for the handshakes
	}
	return wiretest.By(t, engine, targetOf(t, c), plan)
}

func targetOf(t testing.TB, c Config) *Target {
	t.Helper()
	target, err := New(c)
	testenv.Must(t, err)
	return target
}

// A script is a server that answers each request with the same bytes.
type script struct {
	answer    string
	cut       bool // sends each answer in two pieces, cut at one byte after the other
	close     bool // ends the connection after an answer
	halfClose bool // ends only its own side

	requests, used, pipelined atomic.Int64
	wrong                     atomic.Pointer[string] // a request that is not as expected
	want                      []byte
}

func (s *script) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	request := make([]byte, len(s.want))
	for first := true; ; first = false {
		if _, err := io.ReadFull(r, request); err != nil {
			return
		}
		if first {
			s.used.Add(1)
		}
		if !bytes.Equal(request, s.want) {
			wrong := string(request)
			s.wrong.Store(&wrong)
		}
		n := s.requests.Add(1)
		if s.cut {
			cut := 1 + int(n)%max(1, len(s.answer)-1)
			_, _ = io.WriteString(conn, s.answer[:cut])
			time.Sleep(100 * time.Microsecond)
			if r.Buffered() > 0 {
				s.pipelined.Add(1)
			}
			_, _ = io.WriteString(conn, s.answer[cut:])
		} else if _, err := io.WriteString(conn, s.answer); err != nil {
			return
		}
		switch {
		case s.close:
			return
		case s.halfClose:
			wiretest.HalfClose(conn)
			return
		}
	}
}

// A conformance is one row: what is asked, what is answered, what it comes to.
type conformance struct {
	name     string
	config   Config // without URL
	script   *script
	network  string // "" means tcp4
	plan     load.Plan
	status   int
	body     int          // bytes
	errored  errkind.Kind // instead of an answer
	failed   bool
	reusable bool
}

// check runs the row and compares with the arithmetic of n iterations.
func (test conformance) check(t *testing.T, run runner) {
	t.Helper()
	like := test.script
	s := &script{answer: like.answer, cut: like.cut, close: like.close, halfClose: like.halfClose}
	c := test.config
	l, url := listenOn(t, test.network)
	c.URL = url
	if test.network == "tls" {
		c.TLS = anyTLS
	}
	if test.status != 0 && !test.failed {
		c.ExpectStatus = []int{test.status, 999}
	}
	s.want = targetOf(t, c).requests[0].fixed
	t.Cleanup(wiretest.Serve(l, s.serve))
	n := int64(6) // two of each caller, with one thought between them
	if s.cut {
		n = int64(len(s.answer) - 1) // every cut once
	}
	plan := test.plan
	plan.VUs, plan.Iterations, plan.Timeout = 3, n, testenv.Patience
	got := wiretest.AccountOf(run(t, c, plan))
	want := wiretest.Account{Errored: map[errkind.Kind]int64{}, Statuses: map[int]int64{}}
	switch {
	case test.errored != "":
		want.Errored[test.errored] = n
	case test.failed:
		want.Failed = n
	default:
		want.Completed, want.FirstBytes = n, n
	}
	if test.errored == "" {
		want.Statuses[test.status] = n
		want.BytesIn, want.BodyIn = n*int64(len(s.answer)), n*int64(test.body)
		want.BytesOut = n * int64(len(s.want))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if wrong := s.wrong.Load(); wrong != nil || s.requests.Load() != n || s.pipelined.Load() > 0 {
		t.Errorf("%d requests of %d, %d pipelined, wrong: %v", s.requests.Load(), n, s.pipelined.Load(), wrong)
	}
	if used := s.used.Load(); test.reusable && used > 3 || !test.reusable && used != n {
		t.Errorf("%d connections for %d requests of 3 virtual users", used, n)
	}
}

// listenOn returns a listener on the network and its URL.
func listenOn(t *testing.T, network string) (net.Listener, string) {
	t.Helper()
	address := map[string]string{"": "127.0.0.1:0", "tcp6": "[::1]:0"}[network]
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	secure := network == "tls"
	if network == "" || secure {
		address, network = "127.0.0.1:0", "tcp"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err) // a machine without IPv6
	}
	if secure {
		return tls.NewListener(l, wiretest.TLS()), "https://" + l.Addr().String() + "/"
	}
	if network == "unix" {
		return l, "http+unix://" + address + ":/"
	}
	return l, "http://" + l.Addr().String() + "/"
}

func TestBothEnginesReadEveryFormOfAnswer(t *testing.T) {
	t.Parallel()
	for _, a := range answers {
		for _, cut := range []bool{false, true} {
			test := conformance{
				config: Config{Method: methodFor(a.head)},
				script: &script{answer: a.answer, cut: cut, close: !a.reusable},
				status: a.status, reusable: a.reusable, body: bodyOf(t, a.head, a.answer),
			}
			for _, network := range []string{"", "tls"} {
				if network == "tls" && cut && !a.reusable {
					continue // too many handshakes
				}
				test.network = network
				test := test
				t.Run(fmt.Sprintf("%s/cut=%t/%s", a.name, cut, test.network), func(t *testing.T) {
					t.Parallel()
					overBothEngines(t, test.check)
				})
			}
		}
	}
}

// bodyOf lets the parser, which has tests of its own, count the body.
func bodyOf(t *testing.T, head bool, answer string) int {
	t.Helper()
	p := parser{head: head}
	p.reset()
	if _, err := p.feed([]byte(answer)); err != nil {
		t.Fatal(err)
	}
	return int(p.body)
}

func TestBothEnginesConform(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(w, strings.Repeat("text ", 1000))
	_ = w.Close()
	gz := zipped.String()
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	long := func(size int) string { // a header of size bytes
		return ok + "X: " + strings.Repeat("y", size-len(ok)-len("X: \r\n\r\n")) + "\r\n\r\nok"
	}
	for _, test := range []conformance{
		{name: "redirect", script: &script{answer: "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 4\r\n\r\ngone"},
			status: 302, body: 4, reusable: true},
		{name: "gzip", script: &script{answer: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(gz), gz)},
			status: 200, body: len(gz), reusable: true},
		{name: "header just short enough", script: &script{answer: long(maxHeaderBytes)}, status: 200, body: 2, reusable: true},
		{name: "header just too long", script: &script{answer: long(maxHeaderBytes + 1), close: true}, errored: errkind.Protocol},
		{name: "says close", script: &script{answer: ok + "Connection: close\r\n\r\nok"}, status: 200, body: 2},
		{name: "says close and half-closes", script: &script{answer: ok + "Connection: close\r\n\r\nok", halfClose: true}, status: 200, body: 2},
		{name: "half-closes until the end", script: &script{answer: "HTTP/1.1 200 OK\r\n\r\nbody", halfClose: true}, status: 200, body: 4},
		{name: "half-closes while idle", script: &script{answer: ok + "\r\nok", halfClose: true},
			plan: load.Plan{Think: 40 * idleCheck}, status: 200, body: 2},
		{name: "closes while idle", script: &script{answer: ok + "\r\nok", close: true},
			plan: load.Plan{Think: 40 * idleCheck}, status: 200, body: 2},
		{name: "closes while idle before a POST", config: Config{Method: "POST"}, script: &script{answer: ok + "\r\nok", close: true},
			plan: load.Plan{Think: 40 * idleCheck}, status: 200, body: 2},
		{name: "asks to close", config: Config{Header: []wire.Field{{Name: "connection", Value: "te, Close"}}}, script: &script{answer: ok + "\r\nok"}, status: 200, body: 2},
		{name: "no keep-alive", config: Config{DisableKeepAlive: true}, script: &script{answer: ok + "\r\nok"}, status: 200, body: 2},
		{name: "1.0", config: Config{AB: AB{HTTP10: true}}, script: &script{answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"},
			status: 200, body: 2, reusable: true},
		{name: "1.0, not kept", config: Config{AB: AB{HTTP10: true}}, script: &script{answer: ok + "\r\nok"}, status: 200, body: 2},
		{name: "IPv6", network: "tcp6", script: &script{answer: ok + "\r\nok", cut: true}, status: 200, body: 2, reusable: true},
		{name: "unix", network: "unix", script: &script{answer: ok + "\r\nok", cut: true}, status: 200, body: 2, reusable: true},
		{name: "body sent", config: Config{Method: "POST", Body: bytes.Repeat([]byte("z"), 100_000)},
			script: &script{answer: ok + "\r\nok"}, status: 200, body: 2, reusable: true},
		{name: "large body", script: &script{answer: "HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n" + strings.Repeat("x", 500_000)},
			status: 200, body: 500_000, reusable: true},
		{name: "wrong status", script: &script{answer: "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"}, status: 503, body: 4, failed: true, reusable: true},
		{name: "large wrong answer", script: &script{answer: "HTTP/1.1 500 X\r\nContent-Length: 500000\r\n\r\n" + strings.Repeat("x", 500_000)},
			status: 500, body: 500_000, failed: true, reusable: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			overBothEngines(t, test.check)
		})
		// The portable engine does not see that TLS has ended if the connection has not.
		if test.network == "" && !(test.script.halfClose && test.plan.Think > 0) {
			test := test
			test.network = "tls"
			t.Run(test.name+" over TLS", func(t *testing.T) {
				t.Parallel()
				overBothEngines(t, test.check)
			})
		}
	}
}

func TestBothEnginesNameTheCausesOfFailedAnswers(t *testing.T) {
	overBothEngines(t, func(t *testing.T, run runner) {
		var n atomic.Int64
		answers := []string{ // in turn, over one connection
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
			"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nodd",
		}
		url := "http://" + wiretest.Listen(t, func(conn net.Conn) {
			request := make([]byte, 4096)
			for {
				if _, err := conn.Read(request); err != nil {
					return
				}
				_, _ = io.WriteString(conn, answers[int(n.Add(1)-1)%len(answers)])
			}
		})
		r := run(t, Config{URL: url, AB: AB{SameLength: true}}, load.Plan{VUs: 1, Iterations: 30, Timeout: testenv.Patience})
		want := []load.Fault{
			{Status: 503, Count: 10, Example: "HTTP/1.1 503 Busy\r\n\r\nbusy"},
			{Check: "length", Status: 200, Count: 10, Example: "HTTP/1.1 200 OK\r\n\r\nodd"},
		}
		for i := range r.Faults {
			if r.Faults[i].Check != "" {
				want[i].Status = r.Faults[i].Status // the engine may leave it out
			}
		}
		if r.Completed != 10 || !reflect.DeepEqual(r.Faults, want) {
			t.Errorf("completed %d, faults %+v, want %+v", r.Completed, r.Faults, want)
		}
	})
}

// Every answer takes longer than the timeout: none is right, however late it is read.
func TestBothEnginesHoldTheTimeout(t *testing.T) {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		time.Sleep(1050 * time.Microsecond)
		_, _ = io.WriteString(w, "late")
	}))
	t.Cleanup(server.Close)
	overBothEngines(t, func(t *testing.T, run runner) {
		r := run(t, Config{URL: server.URL}, load.Plan{VUs: 3, Iterations: 100, Timeout: time.Millisecond, Grace: testenv.Patience})
		if r.Completed+r.Failed != 0 || r.ErroredTotal() != 100 {
			t.Errorf("%d right, %d wrong, errored %v; want 100 errors", r.Completed, r.Failed, r.Errored)
		}
	})
}

func await(ctx context.Context, event <-chan struct{}) {
	select {
	case <-event:
	case <-ctx.Done():
	}
}
