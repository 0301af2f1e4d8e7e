package script

import (
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// What scripts of others do that were written for k6: it means the same here.
func TestScriptsOfOthers(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		server := shop(t)
		for _, c := range []struct{ name, outermost, body, want string }{
			{"the global object is called global", "global.seen = typeof global;", "globalThis.seen + (global === globalThis) + Object.keys(globalThis).includes('global')", "objecttruetrue"},
			{"a script of its own names", "const global = 5;", "global", "5"},
			{"a metric that there is", "const sent = new Counter('ws_msgs_sent'), time = new Trend('http_req_waiting', true);", "sent.add(2) && time.add(1)", "true"},
			{"metadata", "", "(exec.vu.metrics.metadata.a = 'b', exec.vu.metrics.metadata.a)", "b"},
		} {
			path := testenv.Files(t, "flow.js", `import { check } from 'k6'; import { Counter, Trend } from 'k6/metrics'; import exec from 'k6/execution';
				`+c.outermost+`
				let keep = [Counter, Trend, exec];
				export default function () { check(0, { [String(`+c.body+`)]: () => true }); }`)
			shows(t, drive(Config{Script: path, URL: server.URL}, 1), c.name, c.want, 1)
		}
	})
	for made, want := range map[string]string{
		"new Trend('ws_msgs_sent')":      `metric "ws_msgs_sent" is there already, as a counter`,
		"new Trend('http_req_duration')": `metric "http_req_duration" is there already, as a trend`, // of another unit
	} {
		refuses(t, Config{Script: testenv.Files(t, "flow.js", "import { Trend } from 'k6/metrics';\n"+made+";\nexport default function () {}")}, want, "flow.js:2:")
	}
}

// What an iteration has measured that the end of the run cuts off is counted, as in scripts whose callers each hold a
// socket open.
func TestCutIterationsAreMeasured(t *testing.T) {
	address := socketServer(t)
	for _, goroutines := range []string{"", "goroutines"} {
		for _, body := range []string{
			`const w = new WebSocket(u); w.onopen = () => { check(0, { open: () => true }); w.send('x'); }; w.onmessage = () => got.add(1);`,
			`ws.connect(u, {}, (s) => { s.on('open', () => { check(0, { open: () => true }); s.send('x'); }); s.on('message', () => got.add(1)); });`,
		} {
			path := testenv.Files(t, "flow.js", `import ws from 'k6/ws'; import { WebSocket } from 'k6/websockets'; import { check } from 'k6'; import { Counter } from 'k6/metrics';
				const u = __ENV.BASE_URL.replace('http', 'ws') + '/ws', got = new Counter('got'); let keep = [ws, WebSocket];
				export const options = { thresholds: { ws_sessions: ['count==2'], ws_msgs_received: ['count==2'], got: ['count==2'], vus: ['value==2'], checks: ['rate==1'] } };
				export default function () { `+body+` }`)
			for length := 200 * time.Millisecond; ; length *= 4 { // until the messages have come
				c := Config{Script: path, URL: "http://" + address}
				c.Engine = goroutines
				target := newTarget(t, c)
				r := wiretest.Run(t, target, load.Plan{VUs: 2, Duration: length, Grace: 1e7})
				testenv.Must(t, target.Close())
				load.Settle(target, r)
				if m := r.Meter("got"); (m == nil || m.Sum < 2) && length < testenv.Patience {
					continue
				}
				for _, claim := range target.Options.Thresholds {
					if held, detail := claim.parsed.Check(r); !held || r.Unfinished != 2 {
						t.Errorf("%s %s: %s: %s; %d unfinished", goroutines, body, claim.Claim, detail, r.Unfinished)
					}
				}
				if len(r.Checks) != 1 || r.Checks[0].Passed != 2 {
					t.Errorf("%s %s: checks are %v", goroutines, body, r.Checks)
				}
				break
			}
		}
	}
}
