package script

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// shop is a server with a login, whose token the other paths want.
func shop(t testing.TB) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		var who struct{ User string }
		if json.NewDecoder(r.Body).Decode(&who) != nil || who.User == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s-" + who.User, Path: "/"})
		fmt.Fprintf(w, `{"token": "t-%s", "roles": [{"name": "buyer"}]}`, who.User)
	})
	mux.HandleFunc("/basket", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer t-") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		session, err := r.Cookie("session")
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, session.Value)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo?moved", http.StatusFound) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		fmt.Fprintf(w, "%s %s %s %q", r.Method, r.URL, r.Header.Get("Content-Type"), body)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// engines run a test by either engine.
func engines(t *testing.T, test func(t *testing.T, drive func(c Config, iterations int64) *load.Result)) {
	for _, engine := range []string{"event loop", "goroutines"} {
		t.Run(engine, func(t *testing.T) {
			test(t, func(c Config, iterations int64) *load.Result {
				t.Helper()
				return drive(t, c, iterations, engine == "goroutines")
			})
		})
	}
}

func TestMain(m *testing.M) { testenv.Main(m, 16) }

// drive runs a script so often by one virtual user.
func drive(t testing.TB, c Config, iterations int64, hidden bool) *load.Result {
	t.Helper()
	return driveIn(t, wire.Surroundings{}, c, iterations, hidden)
}

// newTargetIn reads a script.
func newTargetIn(t testing.TB, around wire.Surroundings, c Config) *Target {
	t.Helper()
	target, err := New(t.Context(), c, around)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = target.Close() }) // where the test has not closed it, which also looks at the error
	return target
}

func newTarget(t testing.TB, c Config) *Target {
	t.Helper()
	return newTargetIn(t, wire.Surroundings{}, c)
}

// refuses wants a script to be refused with all of these words.
func refuses(t testing.TB, c Config, want ...string) {
	t.Helper()
	err := c.Validate()
	if err == nil {
		_, err = New(t.Context(), c, wire.Surroundings{})
	}
	testenv.Says(t, err, want...)
}

// cameTo wants n iterations to be completed, or to fail by a cause, with a detail in the example.
func cameTo(t testing.TB, r *load.Result, n int64, cause, detail string) {
	t.Helper()
	if cause == "" {
		if r.Completed != n {
			t.Errorf("%d of %d completed: %+v %v %v", r.Completed, n, r.Faults, r.Errored, r.Examples)
		}
	} else if r.Failed != n || len(r.Faults) != 1 || r.Faults[0].Cause() != cause || !strings.Contains(r.Faults[0].Example, detail) {
		t.Errorf("failed %d by %+v, want %d by %q with %q: %v", r.Failed, r.Faults, n, cause, detail, r.Errored)
	}
}

// shows wants a script of one iteration to make a check named by what an expression comes to, so often. With "!" before
// it, it is thrown instead; with "~", the request errs, too.
func shows(t testing.TB, r *load.Result, expression, want string, times int64) {
	t.Helper()
	words, thrown := strings.CutPrefix(want, "!")
	words, errs := strings.CutPrefix(words, "~")
	switch {
	case thrown && len(r.Faults) == 1 && strings.Contains(r.Faults[0].Example, words):
	case errs && r.Errored["protocol"] == 1 && len(r.Checks) == 1 && strings.Contains(r.Checks[0].Name, words):
	case !thrown && !errs && r.Completed == 1 && len(r.Checks) == 1 && r.Checks[0].Name == words && r.Checks[0].Passed == times:
	default:
		t.Errorf("%s: %+v %+v %v, want %q", expression, r.Checks, r.Faults, r.Examples, want)
	}
}

func driveIn(t testing.TB, around wire.Surroundings, c Config, iterations int64, hidden bool) *load.Result {
	t.Helper()
	target := newTargetIn(t, around, c)
	driven := load.Target(target)
	if loops, _ := target.Loops(1); hidden {
		driven = wiretest.Calls{Target: target}
	} else if loops == 0 {
		t.Log("no event loop drives this")
	}
	result := wiretest.Run(t, driven, load.Plan{VUs: 1, Iterations: iterations})
	testenv.Must(t, target.Close())
	return result
}

func TestFlow(t *testing.T) { engines(t, testFlow) }

func testFlow(t *testing.T, drive func(Config, int64) *load.Result) {
	server := shop(t)
	path := testenv.Files(t, "flow.js", `
		import http from 'k6/http';
		import { check, group, sleep } from 'k6';
		import { base } from './lib/base.ts';
		export const options = { vus: 3, duration: '7s', userAgent: 'me' };
		export function setup() { return { user: 'ann' }; }
		export default function (data) {
			const login = http.post(base() + '/login', JSON.stringify({ User: data.user }), { headers: { 'Content-Type': 'application/json' } });
			check(login, { 'logged in': (r) => r.status === 200 && r.json('roles.0.name') === 'buyer' });
			const token = login.json().token;
			group('shopping', () => {
				const basket = http.get(base() + '/basket?id=' + __ITER, { headers: { Authorization: 'Bearer ' + token }, tags: { name: 'basket' } });
				check(basket, { 'is mine': (r) => r.body === 's-ann' });
			});
			const moved = http.get(base() + '/moved');
			check(moved, { 'was moved': (r) => r.url.endsWith('/echo?moved') && r.headers['X-Method'] === 'GET' });
			sleep(0.001);
		}`,
		"lib/base.ts", `export const base = (): string => __ENV.BASE_URL as string;`)
	r := drive(Config{Script: path, URL: server.URL + "/"}, 5)
	if r.Completed != 5 {
		t.Errorf("%d of 5 completed: %v %v %v", r.Completed, r.Faults, r.Examples, r.Errored)
	}
	for _, check := range r.Checks {
		if check.Passed != 5 || check.Failed != 0 {
			t.Errorf("check %+v, want 5 passed", check)
		}
	}
	if len(r.Checks) != 3 || r.Checks[1].Name != "shopping::is mine" {
		t.Errorf("checks are %v", r.Checks)
	}
	for name, want := range map[string]int64{"POST /login": 5, "basket": 5, "GET /moved": 5, "GET /echo": 5} {
		if got := r.Requests[name]; got == nil || got.Completed != want {
			t.Errorf("request %s: %+v, want %d", name, got, want)
		}
	}
	if r.Statuses[200] != 15 || r.Statuses[302] != 5 {
		t.Errorf("statuses %v, want 15 of 200 and 5 of 302", r.Statuses)
	}
}

// What goes wrong in an iteration, and how it is counted.
func TestWrong(t *testing.T) { engines(t, testWrong) }

func testWrong(t *testing.T, drive func(Config, int64) *load.Result) {
	server := shop(t)
	for _, c := range []struct{ name, body, cause, detail string }{
		{"check", `check(http.get(u + '/echo'), { 'is a tea pot': (r) => r.status === 418 })`, "check failed: is a tea pot", "GET /echo"},
		{"status", `http.get(u + '/none')`, "status 404", "404 Not Found"},
		{"status expected", `http.get(u + '/none', { responseCallback: http.expectedStatuses(404) })`, "", ""},
		{"nothing expected", `http.setResponseCallback(null); http.get(u + '/none')`, "", ""},
		{"exception", `const a = undefined; a.b()`, "check failed: exception", "flow.js:5"},
		{"exception in a module", `boom()`, "check failed: exception", "lib.js:2"},
		{"thrown text", `throw 'oh'`, "check failed: exception", "oh"},
		{"thrown nothing", `throw undefined`, "check failed: exception", "undefined"},
		{"fail", `fail('no way')`, "check failed: exception", "no way"},
		{"recursion", `const f = () => f() + 1; f()`, "check failed: exception", ""},
		{"promise that is rejected", `return Promise.reject(new Error('late'))`, "check failed: exception", "late"},
		{"promise that never settles", `return new Promise(() => {})`, "check failed: exception", "never settles"},
		{"timer that throws", `setTimeout(() => { throw new Error('tick') }, 1)`, "check failed: exception", "tick"},
		{"URL of nothing", `http.get('/echo')`, "check failed: exception", "__ENV.BASE_URL"},
		{"no JSON", `http.get(u + '/echo').json()`, "check failed: exception", "no JSON"},
		{"open late", `open('lib.js')`, "check failed: exception", "outermost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check, fail } from 'k6'; import { boom } from './lib.js';
				const u = __ENV.BASE_URL;
				let keep = [boom, check, fail, http];
				export default function () {
`+c.body+` }`, "lib.js", "export function boom() {\nthrow new Error('boom');\n}")
			cameTo(t, drive(Config{Script: path, URL: server.URL}, 2), 2, c.cause, c.detail)
		})
	}
}

// A server that is gone: the request errs, the script goes on, and the iteration has no valid answer.
func TestNoServer(t *testing.T) { engines(t, testNoServer) }

func testNoServer(t *testing.T, drive func(Config, int64) *load.Result) {
	server := shop(t)
	url := server.URL
	server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export default function () {
			const r = http.get(__ENV.BASE_URL + '/echo');
			check(r, { 'is nothing': (r) => r.status === 0 && r.error_code === 1212 && r.body === null });
		}`)
	r := drive(Config{Script: path, URL: url}, 3)
	if r.Errored["refused"] != 3 || r.Checks[0].Passed != 3 || r.Requests["GET /echo"].Errored != 3 {
		t.Errorf("errored %v, checks %v, want 3 refused after 3 checks", r.Errored, r.Checks)
	}
}

// What is refused before anything runs, with its place.
func TestRefused(t *testing.T) {
	ok := "export default function () {}\n"
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "export default function () {\n  let = ;\n}", "flow.js:2"},
		{"no default", "export function other() {}", `no function "default"`},
		{"unknown module", "import b from 'k6/browser';\n" + ok, `flow.js:1:15: module "k6/browser" drives a browser`},
		{"unknown name", "import { chek } from 'k6';\nchek();\n" + ok, "flow.js:2:"},
		{"remote", "import x from 'https://jslib.k6.io/x.js';\n" + ok, "nothing is fetched"},
		{"package", "import x from 'lodash';\n" + ok, "packages are not looked up"},
		{"outside", "import x from '/etc/x.js';\n" + ok, "is outside of"},
		{"missing above", "import x from '../x.js';\n" + ok, "flow.js:1:15"},
		{"missing", "import x from './x.js';\n" + ok, "flow.js:1"},
		{"ends in init", "import exec from 'k6/execution';\nexec.test.abort('no URL');\n" + ok, "flow.js:2:16: the script ended the run: no URL"},
		{"awaits nothing", "await new Promise(() => {});\n" + ok, "awaits what never comes"},
		{"throws later in init", "setTimeout(() => { throw new Error('late'); }, 1);\n" + ok, "flow.js:1:25: Error: late"},
		{"throws in init", "throw new Error('early');\n" + ok, "flow.js:1:6: Error: early"},
		{"request in init", "import http from 'k6/http';\nhttp.get('http://localhost/');\n" + ok, "flow.js:2:9: Error: requests can be sent within an iteration, setup and teardown, not in the outermost part"},
		{"open outside", "open('/etc/passwd');\n" + ok, "is outside of"},
		{"unknown option", "export const options = { vuss: 1 };\n" + ok, ""},
		{"option of another type", "export const options = { vus: 'many' };\n" + ok, `options.vus is "many"`},
		{"duration", "export const options = { duration: 'long' };\n" + ok, `options.duration is "long"`},
		{"two mistakes", "export const options = { vus: 'many', duration: 'x' };\n" + ok, "flow.js:1: options.duration is \"x\"; expected a duration, as in \"30s\"\nscript: flow.js:1: options.vus is"},
		{"stages", "export const options = { stages: [{ duration: 'x', target: 3 }] };\n" + ok, "flow.js:1: options.stages stages: duration is \"x\""},
		{"no callers", "export const options = { stages: [{ duration: '1s', target: 0 }], vus: 0 };\n" + ok, ""},
		{"executor", "export const options = { scenarios: { a: { executor: 'externally-controlled' } } };\n" + ok, "a: executor is externally-controlled, which is not possible"},
		{"two scenarios", "export const options = { scenarios: { a: { executor: 'ramping' }, b: { executor: 'constant-vus' } } };\n" + ok, "a: executor is \"ramping\"; expected constant-arrival-rate"},
		{"two mistakes", "export const options = { scenarios: { a: { executor: 'ramping' }, b: { executor: 'constant-vus' } } };\n" + ok, "b: duration is missing"},
		{"a scenario's number", "export const options = { scenarios: { a: { executor: 'shared-iterations', vus: 'x' } } };\n" + ok, `a: vus is "x"; expected a number`},
		{"a scenario's text", "export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 5 } } };\n" + ok, "a: exec is number; expected a value of type string"},
		{"a scenario for browsers", "export const options = { scenarios: { a: { executor: 'shared-iterations', options: { browser: { type: 'chromium' } } } } };\n" + ok, ""},
		{"no function", "export const options = { scenarios: { a: { executor: 'shared-iterations' } } };\nexport function other() {}", `no function "default"`},
		{"exec", "export const options = { scenarios: { a: { executor: 'shared-iterations', exec: 'no' } } };\n" + ok, `exec is "no"`},
		{"hosts", "export const options = { hosts: { a: 'b' } };\n" + ok, `options.hosts has "b" for a`},
		{"no UTF-8", "export default function () {}\n// \xff\xfe", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if config := (Config{Script: testenv.Files(t, "flow.js", c.text)}); c.want == "" {
				newTarget(t, config)
			} else {
				refuses(t, config, c.want)
			}
		})
	}
}

func TestLoadOfOptions(t *testing.T) {
	for _, c := range []struct {
		options string
		want    Load
	}{
		{`{ vus: 5, iterations: 20 }`, Load{VUs: 5, Iterations: 20, Grace: 30e9}},
		{`{ vus: 5, duration: '1m30s' }`, Load{VUs: 5, Duration: 90e9, Grace: 30e9}},
		{`{ duration: 500 }`, Load{Duration: 5e8, Grace: 30e9}},
		{`{ scenarios: { s: { executor: 'shared-iterations', vus: 2, iterations: 9, gracefulStop: '1s' } } }`,
			Load{VUs: 2, Iterations: 9, Duration: 600e9, Grace: 1e9, Name: "s", Executor: "shared-iterations"}},
		{`{ scenarios: { s: { executor: 'constant-vus', vus: 2, duration: '3s', exec: 'other', env: { A: 'b' } } } }`,
			Load{VUs: 2, Duration: 3e9, Grace: 30e9, Exec: "other", Env: map[string]string{"A": "b"}, Name: "s", Executor: "constant-vus"}},
		{`{ stages: [{ duration: '2s', target: 4 }, { duration: '0s', target: 1 }, { duration: '1s', target: 1 }], vus: 2 }`,
			Load{VUs: 4, Duration: 3e9, Callers: "2-4/2s,1-1/1s", Executor: "ramping-vus", Grace: 30e9}},
		{`{ scenarios: { s: { executor: 'ramping-vus', startVUs: 1, stages: [{ duration: '2s', target: 4 }], startTime: '1s', gracefulRampDown: '5s' } } }`,
			Load{Name: "s", VUs: 4, Duration: 3e9, Start: 1e9, Callers: "0/1s,1-4/2s", Executor: "ramping-vus", Grace: 30e9}},
		{`{ scenarios: { s: { executor: 'per-vu-iterations', vus: 2, iterations: 3, startTime: '1s', tags: { a: 1 } } } }`,
			Load{Name: "s", VUs: 2, Iterations: 6, PerVU: 3, Duration: 601e9, Start: 1e9, Callers: "0/1s,2/10m0s", Executor: "per-vu-iterations", Grace: 30e9, Tags: map[string]string{"a": "1"}}},
		{`{ scenarios: { s: { executor: 'constant-arrival-rate', rate: 5, duration: '3s', preAllocatedVUs: 2, startTime: '1s' } } }`,
			Load{Name: "s", VUs: 2, Duration: 4e9, Start: 1e9, Rate: "steps:0/1s,5/3s", Executor: "constant-arrival-rate", Grace: 30e9}},
		{`{ scenarios: { s: { executor: 'constant-arrival-rate', rate: 30, timeUnit: '1m', duration: '3s', preAllocatedVUs: 2, maxVUs: 9 } } }`,
			Load{VUs: 9, Duration: 3e9, Rate: "constant:0.5", Grace: 30e9, Name: "s", Executor: "constant-arrival-rate"}},
		{`{ scenarios: { s: { executor: 'ramping-arrival-rate', startRate: 10, stages: [{ duration: '2s', target: 20 }, { duration: 0, target: 50 }, { duration: '1s', target: 50 }], preAllocatedVUs: 2 } } }`,
			Load{VUs: 2, Duration: 3e9, Rate: "steps:10-20/2s,50-50/1s", Grace: 30e9, Name: "s", Executor: "ramping-arrival-rate"}},
	} {
		target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", "export const options = "+c.options+"; export default function () {} export function other() {}")})
		if got := target.Options.Load; fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.options, got, c.want)
		} else if plan := (load.Plan{}); target.Options.Apply(&plan) != nil || !plan.FixedGrace {
			t.Errorf("%s: iterations may take longer than gracefulStop", c.options)
		}
	}
}

// The end of a run ends whatever a script is at, and what it did until then adds up.
func TestEndless(t *testing.T) {
	for _, body := range []string{`while (true) {}`, `sleep(1e9)`, `new Promise(() => { while (true) {} })`, `setInterval(() => {}, 1)`, `'x'.repeat(1e6).split('').sort(() => { while (true) {} })`} {
		target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", "import { sleep } from 'k6'; let keep = sleep; export default function () { "+body+" }")})
		unfinished(t, body, target)
	}
}

// unfinished drives two virtual users whose iterations only the end of a run ends. One that the machine does not let begin by
// then was not planned, so runs become longer until both have begun.
func unfinished(t *testing.T, body string, target *Target) {
	t.Helper()
	for length := 100 * time.Millisecond; ; length *= 4 {
		r := wiretest.Run(t, target, load.Plan{VUs: 2, Duration: length, Grace: 1e7})
		wrong := r.Accounted() != r.Planned || r.Unfinished != r.Planned
		if wrong || r.Planned == 2 || length > time.Minute {
			if wrong || r.Planned != 2 {
				t.Errorf("%s: %d planned, %d unfinished, want 2: %v %v", body, r.Planned, r.Unfinished, r.Errored, r.Faults)
			}
			return
		}
	}
}

// Every module can be imported as a whole and by name.
func TestModules(t *testing.T) {
	for name, exports := range moduleExports() {
		exports = slices.DeleteFunc(exports, func(e string) bool { return e == "default" })
		text := fmt.Sprintf("import all from %q; import * as each from %[1]q; import { %s } from %[1]q;\nlet keep = [all, each, %[2]s];\nexport default function () {}", name, strings.Join(exports, ", "))
		newTarget(t, Config{Script: testenv.Files(t, "flow.js", text)})
	}
}
