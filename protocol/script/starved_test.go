package script

import (
	"fmt"
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
	t.Parallel()
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
			t.Run(tt.name+" "+engine, func(t *testing.T) {
				t.Parallel()
				for length, enough := 1, false; !enough && !t.Failed(); length *= 4 { // seconds, until the one has responses enough
					r := serveOne(t, tt.script, engine, length)
					enough = r.Starved == tt.want && finding.Starved.In(r.Warnings) == (tt.want > 0) && (r.Shares == nil || r.Shares.Answered > 40)
					if !enough && (length > 60 || r.Starved > tt.want) {
						t.Errorf("by %s: %d starved, shares %+v, %v", r.Engine, r.Starved, r.Shares, r.Warnings)
					}
				}
			})
		}
	}
}

// serveOne runs a script for so many seconds with a server that serves one of ten connections.
func serveOne(t *testing.T, script, engine string, length int) *load.Result {
	t.Helper()
	url := "http://" + wiretest.Listen(t, wiretest.OneByOne(time.Millisecond))
	target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", script), URL: url, Env: []string{fmt.Sprint("LENGTH=", length)}, Engines: wire.Engines{Engine: engine}})
	r := wiretest.Run(t, target, load.Plan{VUs: 10, Duration: time.Duration(length) * time.Second, WholeFlows: true})
	testenv.Must(t, target.Close())
	return r
}

// A server that takes three requests over each connection also has a limit for scripts, which the event loop sees.
func TestLimitOfRequestsForEachConnection(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	url := "http://" + wiretest.Listen(t, wiretest.Limited(3))
	target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL); }`), URL: url})
	r := wiretest.Run(t, target, load.Plan{VUs: 2, Iterations: 60, WholeFlows: true})
	if r.PartedLeast != 3 || r.PartedMost != 3 || !finding.KeepaliveLimit.In(r.Warnings) {
		t.Errorf("%d connections ended after %d to %d requests: %v", r.Parted, r.PartedLeast, r.PartedMost, r.Warnings)
	}
}
