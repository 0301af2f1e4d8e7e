package script

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// A server serves one connection until it ends: nine of ten virtual users get no response, those that give up after 300 ms and go on neither.
// One that only sleeps asks for none.
func TestVirtualUsersThatAreNotServed(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         int
	}{
		{"waiting", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL); }`, 9},
		{"giving up", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL, { timeout: 300 * __ENV.LENGTH }); }`, 9},
		{"sleeping", `import http from 'k6/http'; import { sleep } from 'k6';
			export default function () { if (__VU > 1) { sleep(60); } http.get(__ENV.BASE_URL); }`, 0},
	} {
		for _, engine := range []string{"", "goroutines"} {
			for length := 1; ; length *= 4 { // seconds, until the one has responses enough
				r := serveOne(t, tt.script, engine, length)
				if r.Starved == tt.want && finding.Starved.In(r.Warnings) == (tt.want > 0) && (r.Shares == nil || r.Shares.Answered > 40) {
					break
				} else if length > 60 || r.Starved > tt.want {
					t.Errorf("%s, by %s: %d starved, shares %+v, %v", tt.name, r.Engine, r.Starved, r.Shares, r.Warnings)
					break
				}
			}
		}
	}
}

// serveOne runs a script for so many seconds with a server that serves one of ten connections.
func serveOne(t *testing.T, script, engine string, length int) *load.Result {
	t.Helper()
	var turn sync.Mutex
	url := "http://" + wiretest.Listen(t, func(conn net.Conn) {
		from := bufio.NewReader(conn)
		if _, err := http.ReadRequest(from); err != nil {
			return
		}
		turn.Lock()
		defer turn.Unlock()
		for err := error(nil); err == nil; _, err = http.ReadRequest(from) {
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := Config{Script: write(t, "flow.js", script), URL: url, Env: []string{fmt.Sprint("LENGTH=", length)}}
	c.Engine = engine
	target, err := New(t.Context(), c, wire.Surroundings{})
	testenv.Must(t, err)
	r, err := load.Run(t.Context(), "", target, load.Plan{VUs: 10, Duration: time.Duration(length) * time.Second, WholeFlows: true})
	testenv.Must(t, err)
	testenv.Must(t, target.Close())
	return r
}

// A server that takes three requests over each connection also has a limit for scripts, which the event loop sees.
func TestLimitOfRequestsForEachConnection(t *testing.T) {
	if ok, why := loop.Supported(); !ok {
		t.Skip(why)
	}
	url := "http://" + wiretest.Listen(t, func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for n := 1; n <= 3; n++ {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			if n == 3 {
				answer = strings.Replace(answer, "\r\n", "\r\nConnection: close\r\n", 1)
			}
			_, _ = io.WriteString(conn, answer)
		}
	})
	c := Config{Script: write(t, "flow.js", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL); }`), URL: url}
	target, err := New(t.Context(), c, wire.Surroundings{})
	testenv.Must(t, err)
	r, err := load.Run(t.Context(), "", target, load.Plan{VUs: 2, Iterations: 60, WholeFlows: true})
	testenv.Must(t, err)
	if r.PartedLeast != 3 || r.PartedMost != 3 || !finding.KeepaliveLimit.In(r.Warnings) {
		t.Errorf("%d connections ended after %d to %d requests: %v", r.Parted, r.PartedLeast, r.PartedMost, r.Warnings)
	}
}
