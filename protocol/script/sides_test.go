package script

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire/wiretest"
)

// What is in flight side by side goes over connections of its own, and the script goes on in between. The server answers
// /held when /release has come.
func TestSideBySide(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		for name, flow := range map[string]string{
			"what one reply leads to": `const [held, free] = [get('/held'), get('/free')];
				await free.then(() => http.get(u + '/release'));
				return (await held).body;`,
			"a batch": `const held = get('/held');
				http.batch([u + '/a', u + '/release', u + '/b']);
				return (await held).body;`,
			"a sleep": `const held = get('/held'); get('/release');
				sleep(0.001);
				return (await held).body;`,
			"a timer": `const held = get('/held');
				setTimeout(() => http.get(u + '/release'), 1);
				return (await held).body;`,
			"no end of it": `get('/held').then((r) => { check(r, { 'is there in the end': (r) => r.body === '/held' }); });
				get('/release');
				return '/held';`,
			"redirects": `const all = await Promise.all([get('/moved'), get('/moved'), get('/release')]);
				return all[0].body === '/free' && all[1].url === u + '/free' ? '/held' : '';`,
			"a connection that ends": `const all = await Promise.all([get('/cut'), get('/last'), get('/release'), get('/last')]);
				http.batch([u + '/last', u + '/a', u + '/last', u + '/b']);
				return all.map((r) => r.status).join() === '0,200,200,200' ? (await get('/held')).body : '';`,
			"an exception": `if (__ITER % 2) { return '/held'; }
				get('/held'); get('/a'); sleep(0.001);
				http.get(u + '/release');
				throw new Error('on purpose');`,
		} {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check, sleep } from 'k6';
				const u = __ENV.BASE_URL, get = (path) => http.asyncRequest('GET', u + path, null, { responseCallback: null });
				export default async function () {
					const came = await (async () => { `+flow+` })();
					check(came, { 'came': (came) => came === '/held' });
				}`)
			r := drive(Config{Script: path, URL: serveHeld(t)}, 4)
			want := int64(4)
			if name == "an exception" {
				want = 2
			}
			for _, c := range r.Checks {
				if c.Passed != want || c.Failed > 0 {
					t.Errorf("%s: %+v, want %d: %+v %v %v", name, c, want, r.Faults, r.Errored, r.Examples)
				}
			}
			if len(r.Checks) == 0 || r.Accounted() != 4 {
				t.Errorf("%s: %d checks, %d iterations accounted for", name, len(r.Checks), r.Accounted())
			}
		}
	})
}

// A server that is silent costs a script what its request allows, and the script goes on; also where nobody waits for it alone.
func TestASilentServerHasALimit(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		t.Parallel() // each waits for three seconds
		for name, flow := range map[string]string{
			"alone":        "came.push(http.get(u + '/held', patient));",
			"a batch":      "came.push(...http.batch([['GET', u + '/held', null, patient], u + '/free']));",
			"side by side": "const [held, free] = [ask('/held'), ask('/free')]; await free; came.push(http.get(u + '/a')); came.push(await held, await free);",
		} {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
				const u = __ENV.BASE_URL, patient = { timeout: '1s' }, ask = (path) => http.asyncRequest('GET', u + path, null, patient);
				export default async function () {
					const came = [];
					`+flow+`
					const late = came.filter((r) => r.status === 0);
					check(late, { 'one is late': (late) => late.length === 1 && late[0].error_code === 1050 && late[0].error.includes('within 1s') });
					check(http.get(u + '/free'), { 'the next is not': (r) => r.body === '/free' });
				}`)
			r := drive(Config{Script: path, URL: serveHeld(t)}, 1)
			for _, c := range r.Checks {
				if c.Passed != 1 || c.Failed > 0 {
					t.Errorf("%s: %+v, want 1: %v", name, c, r.Examples)
				}
			}
			if len(r.Checks) != 2 || r.Accounted() != 1 {
				t.Errorf("%s: %d checks, %d iterations accounted for", name, len(r.Checks), r.Accounted())
			}
		}
	})
}

// A promise that is rejected and that nobody waits for ends the iteration at once: what is in flight is given up.
func TestARejectionEndsTheIteration(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		for _, flow := range []string{
			"get('/held'); get('/held'); await (await get('/free')).nothing.at.all;",
			"get('/held'); setTimeout(() => { throw new Error('on purpose'); }, 60000); Promise.reject(new Error('on purpose'));",
			"await Promise.all([get('/held'), (async () => { throw new Error('on purpose'); })()]);",
		} {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http';
				const get = (path) => http.asyncRequest('GET', __ENV.BASE_URL + path);
				export default async function () { `+flow+` }`)
			cameTo(t, drive(Config{Script: path, URL: serveHeld(t)}, 3), 3, "check failed: exception", "flow.js:3:")
		}
	})
}

// serveHeld answers /held once /release has come, then or before.
func serveHeld(t *testing.T) string {
	released := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/release":
			released <- struct{}{}
		case "/held":
			select {
			case <-released:
			case <-r.Context().Done():
			}
		case "/moved":
			http.Redirect(w, r, "/free", http.StatusFound)
			return
		case "/last":
			w.Header().Set("Connection", "close")
		case "/cut":
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Of a batch at most so many requests are in flight as the options allow, and so many are: each two are answered when both
// have come. Replies have the order of the requests.
func TestBatchKeepsToItsLimits(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		for _, options := range []string{"batch: 2", "batchPerHost: 2"} {
			var inFlight, most atomic.Int64
			pair := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n := inFlight.Add(1); n > most.Load() {
					most.Store(n)
				}
				select {
				case pair <- struct{}{}:
				case <-pair:
				case <-r.Context().Done():
				}
				inFlight.Add(-1)
				fmt.Fprint(w, r.URL.Path)
			}))
			path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6'; export const options = { `+options+` };
				export default function () {
					const all = http.batch([1, 2, 3, 4, 5, 6].map((n) => __ENV.BASE_URL + '/' + n));
					check(all, { 'in order': (all) => all.map((r) => r.body).join('') === '/1/2/3/4/5/6' });
				}`)
			if r := drive(Config{Script: path, URL: server.URL}, 3); len(r.Checks) != 1 || r.Checks[0].Passed != 3 || most.Load() != 2 {
				t.Errorf("%s: %+v, %d in flight, want 2: %v %v", options, r.Checks, most.Load(), r.Errored, r.Examples)
			}
			server.Close()
		}
	})
}

// The event loop uses a connection again for what comes side by side, alone and in the next iteration; it keeps as many as
// batchPerHost says.
func TestConnectionsSideBySide(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	for flow, want := range map[string]int64{
		"http.get(u); http.batch([u, u, u]); http.get(u)":              3,
		"await Promise.all([get(), get(), get()]); http.get(u)":        3,
		"await Promise.all([get(), get(), get()]); http.batch([u, u])": 3,
		"await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(get))":         6 + 2*5,
	} {
		var connections atomic.Int64
		listen := wiretest.Answering(wiretest.OK)
		url := "http://" + wiretest.Listen(t, func(conn net.Conn) { connections.Add(1); listen(conn) })
		path := testenv.Files(t, "flow.js", `import http from 'k6/http';
			const u = __ENV.BASE_URL, get = () => http.asyncRequest('GET', u);
			export default async function () { `+flow+` }`)
		if r := drive(t, Config{Script: path, URL: url}, 5, false); r.Completed != 5 || connections.Load() != want {
			t.Errorf("%s: %d completed over %d connections, want 5, %d: %v", flow, r.Completed, connections.Load(), want, r.Errored)
		}
	}
}

// Two at a time, each over a connection that ends with its second request: a GET is sent again, once; a POST is not, so that every second one fails.
func TestSendsAgainSideBySide(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	for flow, want := range map[string][3]int64{
		"http.batch([u, u])": {12, 22, 0},
		"await Promise.all([http.asyncRequest('GET', u), http.asyncRequest('GET', u)])":               {12, 22, 0},
		"const p = [http.asyncRequest('GET', u), http.asyncRequest('GET', u)]; sleep(0.001); await p": {12, 22, 0},
		"http.batch([['POST', u, 'x'], ['POST', u, 'x']])":                                            {6, 0, 6},
	} {
		url := "http://" + wiretest.Listen(t, wiretest.Forgetful(1, func(net.Conn) {}))
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { sleep } from 'k6';
			const u = __ENV.BASE_URL; export default async function () { `+flow+` }`)
		r := drive(t, Config{Script: path, URL: url}, 12, false)
		if got := [3]int64{r.Completed, r.Resent, r.Errored[errkind.Stale]}; got != want {
			t.Errorf("%s: completed, sent again, stale: %v, want %v: %v %v", flow, got, want, r.Errored, r.Examples)
		}
	}
}

// The end of a run cuts off what is in flight side by side, and the next run has none of it.
func TestRunAfterRunSideBySide(t *testing.T) {
	var late atomic.Bool
	late.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" && late.Load() {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http';
		const u = __ENV.BASE_URL, get = (path) => http.asyncRequest('GET', u + path);
		export default async function () {
			if (__VU % 2) { await Promise.all([get('/late'), get('/first'), get('/late')]); } else { http.batch([u + '/late', u + '/first', u + '/late']); }
		}`)
	session, err := load.Open(t.Context(), "script", newTarget(t, Config{Script: path, URL: server.URL}), 4)
	testenv.Must(t, err)
	defer session.Close()
	cut, err := session.Run(t.Context(), load.Plan{VUs: 4, Duration: 50 * time.Millisecond, Grace: time.Millisecond})
	testenv.Must(t, err)
	if cut.Unfinished != cut.Planned || cut.Accounted() != cut.Planned {
		t.Errorf("%d planned, %d unfinished", cut.Planned, cut.Unfinished)
	}
	late.Store(false)
	whole, err := session.Run(t.Context(), load.Plan{VUs: 4, Iterations: 40})
	testenv.Must(t, err)
	if whole.Completed != 40 || whole.Requests["GET /first"].Completed != 40 || whole.Requests["GET /late"].Completed != 80 {
		t.Errorf("%d completed, want 40: %v %v %v", whole.Completed, whole.Errored, whole.Faults, whole.Requests)
	}
}
