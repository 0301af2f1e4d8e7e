package script

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
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
			{"a metric with a long name", "const long = new Counter('a'.repeat(129));", "long.name.length", "129"},
			{"metadata", "", "(exec.vu.metrics.metadata.a = 'b', exec.vu.metrics.metadata.a)", "b"},
		} {
			path := testenv.Files(t, "flow.js", `import { check } from 'k6'; import { Counter, Trend } from 'k6/metrics'; import exec from 'k6/execution';
				`+c.outermost+`
				let keep = [Counter, Trend, exec];
				export default function () { check(0, { [String(`+c.body+`)]: () => true }); }`)
			shows(t, drive(Config{Script: path, URL: server.URL}, 1), c.name, c.want, 1)
		}
	})
	for module, want := range map[string]string{
		"k6/experimental/timers": "is not there: its functions are global now: leave the import out",
	} {
		refuses(t, Config{Script: testenv.Files(t, "flow.js", "import a from 'k6/x/kafka';\nimport b from '"+module+"';\nexport default function () {}")},
			`flow.js:1:15: module "k6/x/kafka" is not there; those that are: `, "flow.js:2:15: module", want)
	}
	for made, want := range map[string]string{
		"new Trend('ws_msgs_sent')":      `metric "ws_msgs_sent" is there already, as a counter`,
		"new Trend('a')":                 `a metric's name is "a"; expected 2 to 129 letters, digits and _, and no digit first`,
		"new Trend('a'.repeat(130))":     `expected 2 to 129 letters`,
		"new Trend('http_req_duration')": `metric "http_req_duration" is there already, as a trend`, // of another unit
	} {
		refuses(t, Config{Script: testenv.Files(t, "flow.js", "import { Trend } from 'k6/metrics';\n"+made+";\nexport default function () {}")}, want, "flow.js:2:")
	}
}

// What scripts get by mistake, or do not: it is what they get in k6.
func TestMistakesOfOthers(t *testing.T) {
	server := shop(t)
	for body, want := range map[string]string{
		"http.post(u, { a: { b: 1 } }).body":                                  `POST /echo application/x-www-form-urlencoded "a=map%5Bb%3A1%5D"`,
		"http.post(u, { a: null, b: undefined }).body":                        `POST /echo application/x-www-form-urlencoded "a=%3Cnil%3E&b=%3Cnil%3E"`,
		"JSON.stringify(http.get(u, { cookies: { n: 5 } }).request.cookies)":  `{"n":[{"name":"n","replace":false,"value":"5"}]}`,
		"Object.keys(http.cookieJar().cookiesForURL('nope')).length":          "0",
		"encoding.b64encode('a?>', 'nope') + encoding.b64encode('a?>', '')":   "YT8+YT8+",
		"Object.keys(globalThis).includes('__resolve')":                       "false",
		"Object.keys(http.get(u)).filter((k) => k === 'json' || k === 'url')": "json,url",
		"Object.keys(http.get(u, { jar: null, cookies: { n: 5 } }).request.cookies).join() + http.cookieJar().set(u, 'a', 'b') + Object.keys(http.get(u, { jar: null }).request.cookies)": "ntruea",
		"http.get(u, { tags: { a: null } }).status":                          "0",
		"http.get(u, { tags: 'x', auth: 'none' }).status":                    "200",
		"http.get(u, { timeout: undefined }).status":                         "0",
		"http.get(u, { responseType: null }).status":                         "0",
		"http.get(u, { compression: 'nope' }).status":                        "0",
		"http.get(u.replace('/echo', '/moved'), { redirects: null }).status": "302",
		"thrown(() => http.batch('x'))":                                      "batch takes",
		"thrown(() => count.add(1, { a: null }))":                            `tags of count.add: an argument that has a, whose value is "null"`,
		"thrown(() => check(1, {}, { a: undefined }))":                       `check: an argument that has a, whose value is "undefined"`,
		"thrown(() => group('a', async () => 1))":                            "group takes no async function",
		"thrown(() => check(1, { a: async () => false }))":                   "check takes no async function",
		"check(1, { a: () => Promise.resolve(false) })":                      "true",
		"JSON.stringify(data)":                                               `["1970-01-01T00:00:00Z","2009-02-13T23:31:30.12Z",null]`,
	} {
		var out strings.Builder
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check, group } from 'k6'; import encoding from 'k6/encoding'; import { Counter } from 'k6/metrics';
			const u = __ENV.BASE_URL + '/echo', count = new Counter('count'), thrown = (f) => { try { return f(); } catch (e) { return e.message; } };
			let keep = [check, group, encoding];
			export function setup() { return [new Date(0), new Date(1234567890120), undefined]; }
			export default function (data) { console.log('it is', String(`+body+`)); }`)
		driveIn(t, wire.Surroundings{Console: &out}, Config{Script: path, URL: server.URL}, 1, true)
		if !strings.Contains(out.String(), "it is "+want) {
			t.Errorf("%s: %s, want %q", body, out.String(), want)
		}
	}
}

// What an iteration has measured that the end of the run cuts off is counted, as in scripts whose callers each hold a
// socket open.
func TestCutIterationsAreMeasured(t *testing.T) {
	t.Parallel()
	address := socketServer(t)
	for _, goroutines := range []string{"", "goroutines"} {
		for _, body := range []string{
			`const w = new WebSocket(u); w.onopen = () => { check(0, { open: () => true }); w.send('x'); }; w.onmessage = () => got.add(1);`,
			`ws.connect(u, {}, (s) => { s.on('open', () => { check(0, { open: () => true }); s.send('x'); }); s.on('message', () => got.add(1)); });`,
		} {
			path := testenv.Files(t, "flow.js", `import ws from 'k6/ws'; import { WebSocket } from 'k6/websockets'; import { check } from 'k6'; import { Counter } from 'k6/metrics';
				const u = __ENV.BASE_URL.replace('http', 'ws') + '/ws', got = new Counter('got'); let keep = [ws, WebSocket];
				export const options = { thresholds: { ws_sessions: ['count==2'], ws_msgs_received: ['count==2'], got: ['count==2'], checks: ['rate==1'] } };
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

// A request with a mistake is not sent, its response says so, and the script goes on; options.throw has it be an exception.
func TestRequestsWithMistakes(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		server := shop(t)
		for _, c := range []struct {
			call, want string // status, number and error of its response
			counted    float64
		}{
			{"http.get('/echo')", `0 1000 "/echo" is not an HTTP URL`, 1},
			{"http.get('ftp://host/')", `0 1000 "ftp://host/" is not an HTTP URL`, 1},
			{"http.get(undefined)", `0 1020 "undefined" is not an HTTP URL`, 0},
			{"http.get(new String(u))", `0 1020 the URL is an object`, 0},
			{"http.get('http://127.0.0.1:x/')", `0 1020 "http://127.0.0.1:x/" is not an HTTP URL`, 0},
			{"http.post(u, 5)", `0 0 a body is text, bytes or an object, and not "5"`, 0},
			{"http.post(u, http.file('a', 'b.txt'))", `0 0 a body is a file alone`, 0},
			{"http.post(u, new Map())", `0 0 a body is text, bytes or an object, and not "[object Map]"`, 0},
			{"http.get(u, { timeout: 'long' })", `0 0 params.timeout: timeout is "long"`, 0},
			{"http.get(u, { headers: { 'a b': 'c' } })", `0 1000 params.headers: header name "a b" is not a token`, 1},
			{"http.request('GE T', u)", `0 1000 method "GE T" is not a method of HTTP`, 1},
			{"await http.asyncRequest('GET', '/echo')", `0 1000 "/echo" is not an HTTP URL`, 1},
			{"http.batch([u, ['POST', u, 5], u])[1]", `0 0 a body is text, bytes or an object, and not "5"`, 0},
			{"http.batch([u, undefined, u]).filter((r, i) => i === 1 && r.status === 0)[0]", `0 1020 "undefined" is not an HTTP URL`, 0},
			{"http.batch([u, '/echo', u]).filter((r, i) => i === 1 || r.status !== 404)[0]", `0 1000 "/echo" is not an HTTP URL`, 3},
		} {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
				const u = __ENV.BASE_URL; http.setResponseCallback(http.expectedStatuses(404)); export const options = { thresholds: { http_reqs: ['count>=0'] } };
				export default async function () {
					const r = `+c.call+`;
					check(r, { [r.status + ' ' + r.error_code + ' ' + r.error]: (r) => (r.error_code === 1000 ? r.body === null : r.body.length === 0) && r.timings.duration === 0 && JSON.stringify(r.headers) === '{}' && (r.request === null || r.request.method) });
				}`)
			r := drive(Config{Script: path, URL: server.URL}, 1)
			if len(r.Checks) != 1 || r.Checks[0].Passed != 1 || !strings.HasPrefix(r.Checks[0].Name, c.want) {
				t.Errorf("%s: %+v %+v %v, want %s", c.call, r.Checks, r.Faults, r.Errored, c.want)
			}
			if m := r.Meter("http_reqs"); m == nil && c.counted > 0 || m != nil && m.Sum != c.counted {
				t.Errorf("%s: http_reqs is %+v, want %v", c.call, m, c.counted)
			}
			if r.Failed != 1 || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, "flow.js:4:") {
				t.Errorf("%s: the iteration is not wrong by it: %+v", c.call, r.Faults)
			}
		}
		path := testenv.Files(t, "flow.js", "import http from 'k6/http'; export const options = { throw: true };\nexport default function () { http.get('/echo'); while (true) {} }")
		cameTo(t, drive(Config{Script: path, URL: server.URL}, 1), 1, "check failed: exception", "flow.js:2:")
	})
}

// Fields of a response can be changed, and keep their types; json reads the body that it has then. Nothing can be added.
func TestFieldsOfAResponseCanBeChanged(t *testing.T) {
	server := shop(t)
	for change, want := range map[string]string{
		"r.status = '8'; return r.status":                                           "8",
		"r.status = 'abc'; return r.status":                                         "0",
		"r.url = 5; return typeof r.url":                                            "string",
		"r.body = '{\"z\":1}'; return r.json('z')":                                  "1",
		"r.body = null; return r.body":                                              "null",
		"r.body = { a: 1 }; return r.body.a":                                        "1",
		"r.headers.X = 'b'; return r.headers.X":                                     "b",
		"r.timings = { duration: 3 }; return r.timings.duration":                    "3",
		"try { r.foo = 1; } catch (e) { return e.name + ('foo' in r); }":            "TypeErrorfalse",
		"try { r.json = 1; } catch (e) { return e.name + typeof r.json; }":          "TypeErrorfunction",
		"try { Object.assign(r, { foo: 1 }); } catch (e) { return e.name; }":        "TypeError",
		`return http.post(u + '/login', '{"user":"a"}').cookies.session[0].expires`: "-6795364578871",
	} {
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6'; const u = __ENV.BASE_URL;
			export default function () { const r = http.get(u); const came = (() => { `+change+` })(); check(0, { [String(came)]: () => true }); }`)
		if r := drive(t, Config{Script: path, URL: server.URL}, 1, false); len(r.Checks) != 1 || r.Checks[0].Name != want {
			t.Errorf("%s: %+v %+v, want %s", change, r.Checks, r.Faults, want)
		}
	}
}

// Kinds of failures have the numbers that scripts look at.
func TestErrorCodes(t *testing.T) {
	certificate := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	for _, c := range []struct {
		kind errkind.Kind
		err  error
		want int
	}{
		{errkind.DNS, &net.DNSError{Err: "server misbehaving"}, 1100},
		{errkind.TLS, certificate(x509.HostnameError{Certificate: new(x509.Certificate), Host: "a"}), 1311},
		{errkind.TLS, certificate(x509.UnknownAuthorityError{}), 1310},
		{errkind.TLS, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, 1301},
		{errkind.TLS, errors.New("handshake failure"), 1300},
		{errkind.Timeout, errors.New("late"), 1050},
		{errkind.Other, errors.New("odd"), 1000},
	} {
		if got := numberOf(&errkind.Error{Kind: c.kind, Err: c.err}); got != c.want {
			t.Errorf("%s, %v: %d, want %d", c.kind, c.err, got, c.want)
		}
	}
}
