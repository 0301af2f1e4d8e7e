package http

import (
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// One caller sends 8 requests to a server that answers k on each connection. If they may be
// sent again all are answered, and each that finds its connection ended is sent twice: the
// first after every k. Otherwise each (k+1)th is an error.
func TestBothEnginesSendAgainWhatAnIdleConnectionLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method            string
		answers           int
		completed, resent int64
		stale, lost       int64
	}{
		{"GET", 1, 8, 7, 0, 0},
		{"GET", 3, 8, 2, 0, 0},
		{"OPTIONS", 1, 8, 7, 0, 0},
		{"POST", 1, 4, 0, 4, 0},
		{"POST", 3, 6, 0, 2, 0},
		{"DELETE", 1, 4, 0, 4, 0},
		{"GET", 0, 0, 0, 0, 8}, // no connection was ever idle
		{"POST", 0, 0, 0, 0, 8},
	} {
		for name, end := range map[string]func(net.Conn){"close": func(net.Conn) {}, "reset": wiretest.Reset} {
			for _, network := range []string{"", "tls", "unix"} {
				for _, http10 := range []bool{false, network == ""} {
					t.Run(fmt.Sprintf("%s/%d/%s/%s/1.0=%t", tt.method, tt.answers, name, network, http10), func(t *testing.T) {
						t.Parallel()
						overBothEngines(t, func(t *testing.T, run runner) {
							l, url := listenOn(t, network)
							t.Cleanup(wiretest.Serve(l, wiretest.Forgetful(tt.answers, end)))
							c := Config{URL: url, Method: tt.method, AB: AB{HTTP10: http10}}
							if network == "tls" {
								c.TLS = anyTLS
							}
							r := run(t, c, load.Plan{VUs: 1, Iterations: 8, Timeout: testenv.Patience})
							lost := r.Errored[errkind.Closed] + r.Errored[errkind.Reset]
							if r.Completed != tt.completed || r.Resent != tt.resent || r.Errored[errkind.Stale] != tt.stale || lost != tt.lost || r.Accounted() != 8 {
								t.Errorf("completed %d, sent again %d, errored %v, want %+v: %v", r.Completed, r.Resent, r.Errored, tt, r.Examples)
							}
						})
					})
				}
			}
		}
	}
}

// The duration of a lost attempt is part of the time, and of the timeout.
func TestBothEnginesCountTheTimeOfALostAttempt(t *testing.T) {
	t.Parallel()
	const wait = 50 * time.Millisecond
	slow := func(net.Conn) { time.Sleep(wait) }
	overBothEngines(t, func(t *testing.T, run runner) {
		t.Parallel() // each waits for a timeout
		url := "http://" + wiretest.Listen(t, wiretest.Forgetful(1, slow))
		r := run(t, Config{URL: url}, load.Plan{VUs: 1, Iterations: 5, Timeout: testenv.Patience})
		if r.Completed != 5 || r.Resent != 4 || r.Service.Quantile(0.3) < wait { // 1 of 5 is sent once
			t.Errorf("completed %d, sent again %d, 30%% within %v", r.Completed, r.Resent, r.Service.Quantile(0.3))
		}
		for timeout := time.Second; ; timeout *= 2 {
			var first sync.Once
			url = "http://" + wiretest.Listen(t, func(conn net.Conn) {
				serve := wiretest.Hang
				first.Do(func() { serve = wiretest.Forgetful(1, func(net.Conn) {}) })
				serve(conn)
			})
			r = run(t, Config{URL: url}, load.Plan{VUs: 1, Iterations: 2, Timeout: timeout})
			if r.Completed == 0 && timeout < testenv.Patience {
				continue // the machine had no time for the first
			}
			if r.Completed != 1 || r.Resent != 1 || r.Errored[errkind.Timeout] != 1 {
				t.Errorf("completed %d, sent again %d, errored %v", r.Completed, r.Resent, r.Errored)
			}
			return
		}
	})
}

// A server of HTTP/2 that closes without a word.
func TestHTTP2SendsAgainWhatAnIdleConnectionLost(t *testing.T) {
	t.Parallel()
	url := "http://" + wiretest.Listen(t, wiretest.OnceOverHTTP2(false))
	for method, want := range map[string][3]int64{"GET": {12, 11, 0}, "POST": {6, 0, 6}} {
		r := runLoop(t, Config{URL: url, Method: method, HTTP2: true}, load.Plan{VUs: 1, Iterations: 12, Timeout: testenv.Patience})
		if got := [3]int64{r.Completed, r.Resent, r.Errored[errkind.Stale]}; got != want {
			t.Errorf("%s: completed, sent again, stale: %v, want %v: %v %v", method, got, want, r.Errored, r.Examples)
		}
	}
}

// A complete answer counts whatever follows it, and so does the next one.
func TestBothEnginesPassOverWhatBelongsToNoAnswer(t *testing.T) {
	t.Parallel()
	const length = "Content-Length: 5\r\n"
	for _, tt := range []struct {
		name, method, answer, stray string
		status                      int
	}{
		{"a line break", "GET", "HTTP/1.1 200 OK\r\n" + length + "\r\nhello", "\r\n", 200},
		{"line feeds", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "\n\n", 200},
		{"a body after 204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", "hello", 204},
		{"an announced one", "GET", "HTTP/1.1 204 No Content\r\n" + length + "\r\n", "hello", 204},
		{"a chunked one", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", 204},
		{"a body after 304", "GET", "HTTP/1.1 304 Not Modified\r\n" + length + "\r\n", "{}", 304},
		{"a body after HEAD", "HEAD", "HTTP/1.1 200 OK\r\n" + length + "\r\n", "hello", 200},
	} {
		for _, late := range []bool{false, true} {
			for _, network := range []string{"", "tls"} {
				t.Run(fmt.Sprintf("%s/late=%t/%s", tt.name, late, network), func(t *testing.T) {
					t.Parallel()
					overBothEngines(t, func(t *testing.T, run runner) {
						l, url := listenOn(t, network)
						t.Cleanup(wiretest.Serve(l, wiretest.Requests(func(conn net.Conn, _ int, _ *nethttp.Request) bool {
							if !late {
								_, _ = io.WriteString(conn, tt.answer+tt.stray)
								return true
							}
							_, _ = io.WriteString(conn, tt.answer)
							time.Sleep(time.Millisecond)
							_, _ = io.WriteString(conn, tt.stray)
							return true
						})))
						c := Config{URL: url, Method: tt.method, ExpectStatus: []int{tt.status}}
						if network == "tls" {
							c.TLS = anyTLS
						}
						r := run(t, c, load.Plan{VUs: 2, Iterations: 6, Timeout: testenv.Patience})
						// The last bytes may come when nobody reads any more.
						if r.Completed != 6 || r.Stray == 0 || !late && r.Stray != 6 {
							t.Errorf("completed %d, %d with stray bytes, errored %v %v", r.Completed, r.Stray, r.Errored, r.Examples)
						}
					})
				})
			}
		}
	}
}
