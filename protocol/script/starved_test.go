package script

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/finding"
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
		{"giving up", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL, { timeout: '300ms' }); }`, 9},
		{"sleeping", `import http from 'k6/http'; import { sleep } from 'k6';
			export default function () { if (__VU > 1) { sleep(60); } http.get(__ENV.BASE_URL); }`, 0},
	} {
		for _, engine := range []string{"", "goroutines"} {
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
			c := Config{Script: write(t, "flow.js", tt.script), URL: url}
			c.Engine = engine
			target, err := New(t.Context(), c, wire.Surroundings{})
			if err != nil {
				t.Fatal(err)
			}
			var r *load.Result
			for length := time.Second; ; length *= 4 { // until the one has responses enough
				if r, err = load.Run(t.Context(), "", target, load.Plan{VUs: 10, Duration: length, WholeFlows: true}); err != nil {
					t.Fatal(err)
				}
				if r.Shares == nil || r.Shares.Answered > 40 || length > time.Minute {
					break
				}
			}
			if r.Starved != tt.want || finding.Starved.In(r.Warnings) != (tt.want > 0) {
				t.Errorf("%s, by %s: %d starved, shares %+v, %v", tt.name, r.Engine, r.Starved, r.Shares, r.Warnings)
			}
			if err := target.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
	r, err := load.Run(t.Context(), "", target, load.Plan{VUs: 2, Iterations: 60, WholeFlows: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.PartedLeast != 3 || r.PartedMost != 3 || !finding.KeepaliveLimit.In(r.Warnings) {
		t.Errorf("%d connections ended after %d to %d requests: %v", r.Parted, r.PartedLeast, r.PartedMost, r.Warnings)
	}
}
