package http

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire/wiretest"
)

// afterRequest serves connections of which a request has arrived.
func afterRequest(serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			serve(conn)
		}
	}
}

// say sends parts with pauses until the client is gone.
func say(pause time.Duration, parts ...string) func(net.Conn) {
	return afterRequest(func(conn net.Conn) {
		for _, part := range parts {
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
			time.Sleep(pause)
		}
	})
}

func endless(start, more string, pause time.Duration) func(net.Conn) {
	return afterRequest(func(conn net.Conn) {
		_, err := io.WriteString(conn, start)
		for err == nil {
			_, err = io.WriteString(conn, more)
			time.Sleep(pause)
		}
	})
}

func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func closeWrite(conn net.Conn) { _ = conn.(interface{ CloseWrite() error }).CloseWrite() }

func reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

const ok200 = "HTTP/1.1 200 OK\r\n"

var hostile = []struct {
	name  string
	serve func(net.Conn)
	want  []errkind.Kind // the kernel may say one or the other
}{
	{"closes at once", func(net.Conn) {}, []errkind.Kind{errkind.Closed, errkind.Reset}},
	{"closes without an answer", afterRequest(func(net.Conn) {}), []errkind.Kind{errkind.Closed}},
	{"resets without an answer", afterRequest(reset), []errkind.Kind{errkind.Reset}},
	{"shuts down its side", afterRequest(func(c net.Conn) { closeWrite(c); hang(c) }), []errkind.Kind{errkind.Closed}},
	{"shuts down its side at once", func(c net.Conn) { closeWrite(c); hang(c) }, []errkind.Kind{errkind.Closed}},
	{"never answers", hang, []errkind.Kind{errkind.Timeout}},
	{"resets in the body", afterRequest(func(c net.Conn) {
		_, _ = io.WriteString(c, ok200+"Content-Length: 100\r\n\r\nabc")
		time.Sleep(20 * time.Millisecond)
		reset(c)
	}), []errkind.Kind{errkind.Reset}},
	{"closes in the header", say(0, ok200+"Content-"), []errkind.Kind{errkind.Closed}},
	{"closes in the body", say(0, ok200+"Content-Length: 100\r\n\r\nabc"), []errkind.Kind{errkind.Closed}},
	{"closes in a chunk", say(0, ok200+"Transfer-Encoding: chunked\r\n\r\n5\r\nabc"), []errkind.Kind{errkind.Closed}},
	{"sends more than announced", say(0, ok200+"Content-Length: 2\r\n\r\nabc"), []errkind.Kind{errkind.Protocol}},
	{"announces two lengths", say(0, ok200+"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), []errkind.Kind{errkind.Protocol}},
	{"endless header", endless(ok200, strings.Repeat("X: "+strings.Repeat("y", 995)+"\r\n", 20), 0), []errkind.Kind{errkind.Protocol}},
	{"endless line", endless(ok200+"X: ", strings.Repeat("y", 20_000), 0), []errkind.Kind{errkind.Protocol}},
	{"endless interim answers", endless("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000), 0), []errkind.Kind{errkind.Protocol}},
	{"endless body", endless(ok200+"\r\n", strings.Repeat("x", 20_000), time.Millisecond), []errkind.Kind{errkind.Timeout}},
	{"endless chunks", endless(ok200+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("5\r\nhello\r\n", 1000), time.Millisecond), []errkind.Kind{errkind.Timeout}},
	{"garbage", say(0, "\x00\x01\x02 garbage \xff\xfe\r\n\r\n"), []errkind.Kind{errkind.Protocol}},
	{"garbage without end", say(0, strings.Repeat("\xaa", 5000)), []errkind.Kind{errkind.Protocol}},
	{"speaks TLS", say(0, "\x15\x03\x01\x00\x02\x02\x46"), []errkind.Kind{errkind.Protocol}},
	{"dribbles", say(20*time.Millisecond, strings.Split(ok200+"Content-Length: 1\r\n\r\nx", "")...), []errkind.Kind{errkind.Timeout}},
	{"dribbles its body", say(20*time.Millisecond, strings.Split("HTTP/1.1 200\r\n\r\n"+strings.Repeat("x", 99), "")...), []errkind.Kind{errkind.Timeout}},
}

const hostileTimeout = 100 * time.Millisecond

// checkHostile does some iterations and wants an error of one of the kinds
// from each.
func checkHostile(t *testing.T, c Config, kinds ...errkind.Kind) {
	t.Helper()
	wiretest.Hostile(t, newTestVU(t, c), hostileTimeout, kinds...)
}

// runners are those of the engines that this system has.
func runners() []runner {
	if ok, _ := loop.Supported(); !ok {
		return []runner{runPortable}
	}
	return []runner{runPortable, runLoop}
}

// checkHostileRuns does a few iterations with both engines, with keep-alive and
// without, all at the same time, and wants an error of one of the kinds from
// each.
func checkHostileRuns(t *testing.T, c Config, kinds ...errkind.Kind) {
	t.Helper()
	plan := load.Plan{VUs: 2, Iterations: 6, Timeout: wiretest.TimeoutFor(hostileTimeout, kinds), Grace: testenv.Patience}
	var wg sync.WaitGroup
	for _, run := range runners() {
		for _, disable := range []bool{false, true} {
			c := c
			c.DisableKeepAlive = disable
			wg.Go(func() {
				r := run(t, c, plan)
				var expected int64
				for _, kind := range kinds {
					expected += r.Errored[kind]
				}
				if expected != plan.Iterations || r.Planned != plan.Iterations {
					t.Errorf("%s: planned %d, completed %d, failed %d, errored %v, want %d of %v: %v",
						r.Engine, r.Planned, r.Completed, r.Failed, r.Errored, plan.Iterations, kinds, r.Examples)
				}
			})
		}
	}
	wg.Wait()
}

func TestHostileServersAreErrorsOfTheirKind(t *testing.T) {
	t.Parallel()
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHostileRuns(t, Config{URL: "http://" + wiretest.Listen(t, test.serve)}, test.want...)
		})
	}
}

func TestARunOfFullSizeEndsInTime(t *testing.T) {
	t.Parallel()
	plan := load.Plan{VUs: 2, Duration: time.Second}
	var wg sync.WaitGroup
	for name, serve := range map[string]func(net.Conn){
		"never answers": hang,
		"dribbles":      say(time.Second/2, strings.Split(ok200+"\r\n", "")...),
		"endless body":  endless(ok200+"\r\n", strings.Repeat("x", 500), 5*time.Millisecond),
	} {
		for _, run := range runners() {
			wg.Go(func() {
				start := time.Now()
				r := run(t, Config{URL: "http://" + wiretest.Listen(t, serve)}, plan)
				if took := time.Since(start); took > plan.Duration+plan.Grace+testenv.Patience {
					t.Errorf("%s, %s: took %v", name, r.Engine, took)
				}
				if r.Planned != 2 || r.Unfinished != 2 {
					t.Errorf("%s, %s: planned %d, unfinished %d, errored %v", name, r.Engine, r.Planned, r.Unfinished, r.Errored)
				}
			})
		}
	}
	wg.Wait()
}

func TestNoServerIsAnErrorOfItsKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, url string
		want      []errkind.Kind
	}{
		{"refused", "http://" + testenv.HeldAddress(t), []errkind.Kind{errkind.Refused}},
		{"no such socket", "http+unix:///no/such/socket:/", []errkind.Kind{errkind.Dial}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHostile(t, Config{URL: test.url}, test.want...)
			checkHostileRuns(t, Config{URL: test.url}, test.want...)
		})
	}
	t.Run("no such name", func(t *testing.T) {
		t.Parallel()
		c := Config{URL: "http://name.invalid/"}
		checkHostile(t, c, errkind.DNS, errkind.Timeout)
		if loops, why := targetOf(t, c).Loops(10); loops != 0 {
			t.Errorf("%d loops, %s", loops, why)
		}
	})
}

func TestDoRecoversWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	address := testenv.HeldAddress(t)
	start := func() *httptest.Server {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &httptest.Server{Listener: l, Config: &nethttp.Server{Handler: nethttp.HandlerFunc(echoMethod)}}
		s.Start()
		return s
	}
	server := start()
	v := newTestVU(t, Config{URL: server.URL})
	ctx := context.Background()
	if _, err := v.Do(ctx); err != nil {
		t.Fatal(err)
	}
	server.Close()
	for range 3 {
		if out, err := v.Do(ctx); err == nil {
			t.Fatalf("got %+v from a dead server", out)
		}
	}
	server = start()
	defer server.Close()
	if out, err := v.Do(ctx); err != nil || out.Phases.Connect <= 0 {
		t.Errorf("got %+v, %v; want an answer over a new connection", out, err)
	}
}
