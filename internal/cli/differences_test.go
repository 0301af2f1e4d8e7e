package cli

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// A different is a run of a script that shows how contend differs from k6.
type different struct {
	text  string // of the script
	flags []string
	code  int
	want  []string // which it prints; with ! before it not
}

// once is a script whose one iteration prints what an expression comes to.
func once(expression string) string {
	return "export default async function () { console.log('it is', " + expression + "); sleep(0.01); }"
}

// inFlow are options of one scenario.
func inFlow(scenario, rest string) string {
	return "export const options = { scenarios: { one: " + scenario + " }" + rest + " };\n"
}

// ofCompare are the words of a comparison of a server with itself, which is short, and yet long enough for an iteration
// on a busy machine.
var ofCompare = []string{"compare", "-c", "2", "--rounds", "1", "--pairs", "1", "--block", (2 * window).String(), "--warmup", "0s"}

// differents are runs by the rows of the table of differences in docs/scripts.md.
var differents = map[string][]different{
	"an iteration with a failed check": {
		{"export default function () { check(0, { ok: () => false }); }", nil, exitDone, []string{"1 of 1 checks failed (100%)"}},
		{"export default function () { check(0, { ok: () => false }); }", []string{"--expect", "errors < 1%"}, exitUnmet, []string{"FAIL  errors < 1%: errors were 100%"}},
		{"export default function () { sleep(0.01); get(); check(0, { ok: () => false }); }", ofCompare, exitFailed, []string{"check failed: ok"}},
	},
	"a request with a mistake, such as an invalid URL": {
		{once("http.get('/echo').status"), nil, exitDone, []string{"it is 0", `flow.js:3:65: Error: "/echo" is not an HTTP URL`}},
		{"export default function () { sleep(0.01); http.get('/echo'); }", ofCompare, exitFailed, []string{`"/echo" is not an HTTP URL`}},
	},
	"`auth: 'digest'`, `auth: 'ntlm'`": {
		{once("http.get(u + '/echo', { auth: 'digest' }).status, http.get(u + '/echo', { auth: 'ntlm' }).status"), nil, exitDone, []string{"it is 0 0", `params.auth: is "digest"`, `params.auth: is "ntlm"`}},
	},
	"`close` of `k6/ws` with an impossible code": {
		{"import ws from 'k6/ws';\nexport default function () { ws.connect(u.replace('http', 'ws') + '/ws', {}, (s) => s.on('open', () => s.close(5))); }", nil, exitDone, []string{"flow.js:4:", "close takes a code from 1000 to 4999"}},
	},
	"`stream` of a `Blob`": {
		{"import { Blob } from 'k6/websockets';\n" + once("typeof new Blob(['a']).stream"), nil, exitDone, []string{"it is undefined"}},
	},
	"a parameter of HTTP or of `ws.connect` that has an unknown name": {
		{once("http.get(u + '/echo', { header: {} }).status"), nil, exitDone, []string{"it is 200", "flow.js:3:65: params.header"}},
		{"import ws from 'k6/ws';\nexport default function () { ws.connect(u.replace('http', 'ws') + '/ws', { header: {} }, (s) => s.on('open', () => { console.log('it is open'); s.close(); })); }", nil, exitDone, []string{"it is open", "flow.js:4:40: params.header"}},
	},
	"metrics and thresholds": {
		{"import { Counter } from 'k6/metrics';\nconst first = new Counter('first');\nexport const options = { thresholds: { first: ['count==0'], iterations: ['count>0'] } };\nexport default function () { if (__ITER == 0) first.add(1); sleep(0.01); }",
			[]string{"-c", "1", "--warmup", "500ms", "-d", "500ms"}, exitDone, []string{"pass  first count==0"}},
	},
	"iterations in flight when callers go": {
		{inFlow("{ executor: 'ramping-vus', startVUs: 2, gracefulRampDown: '0s', stages: [{ duration: '2s', target: 0 }] }", ", thresholds: { iterations: ['count==2'] }") +
			"export default function () { sleep(3); }", nil, exitDone, []string{"pass  iterations count==2"}},
	},
	"iterations of `constant-arrival-rate`": {
		{inFlow("{ executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 10 }", ", thresholds: { iterations: ['count==10'] }") +
			"export default function () {}", nil, exitDone, []string{"pass  iterations count==10"}},
	},
	"`maxVUs`": {
		{inFlow("{ executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 1, maxVUs: 3 }", "") + once("exec.instance.vusInitialized"), nil, exitDone, []string{"it is 3"}},
	},
	"`--vus` alone, with scenarios": {
		{inFlow("{ executor: 'constant-vus', vus: 1, duration: '1s' }", "") + once("exec.instance.vusInitialized"), []string{"-c", "3"}, exitDone, []string{"it is 3"}},
		{"export const options = { scenarios: { one: { executor: 'shared-iterations' }, two: { executor: 'shared-iterations' } } };\n" + once("1"), []string{"-c", "3"}, exitUsage, []string{"the script has the scenarios one, two"}},
	},
	"a run in which no request gets a response": {
		{"export default function () { http.get('http://127.0.0.1:1/'); }", nil, exitFailed, nil},
		{"export const options = { duration: '1h' };\nexport default function () { http.get('http://127.0.0.1:1/'); sleep(0.1); }", nil, exitFailed, []string{"2"}},
	},
	"an exception in `setup`": {
		{"export const options = { thresholds: { iterations: ['count>0'] } };\nexport function setup() { throw new Error('early'); }\nexport default function () {}", nil, exitFailed, []string{"flow.js:4:", "early", "!iterations count>0"}},
	},
	"an exception in a function of a `WebSocket`": {
		{"import { WebSocket } from 'k6/websockets';\nexport default function () { const w = new WebSocket(u.replace('http', 'ws') + '/ws'); w.onerror = w.onclose = () => console.log('it is fired'); w.onopen = () => { throw new Error('no'); }; }",
			nil, exitDone, []string{"flow.js:4:", "Error: no", "!it is fired"}},
	},
	"flags alone, such as `-d 10s`, and no options": {
		{once("exec.instance.vusInitialized"), []string{"-d", "200ms"}, exitDone, []string{"it is 10"}},
	},
	"an empty body": {
		{once("http.post(u + '/echo', '').body"), nil, exitDone, []string{"it is POST 0 [] "}},
	},
	"more redirects than `maxRedirects`, or a loop of them": {
		{"export const options = { maxRedirects: 2, thresholds: { http_req_failed: ['rate>0.2'] } };\n" + once("http.get(u + '/loop').status, http.get(u + '/loop', { redirects: 0 }).status"), nil, exitDone, []string{"it is 302 302", "pass  http_req_failed rate>0.2"}},
	},
	"an array of what `setup` returned, when it is changed": {
		{"export function setup() { return { a: [1, 2] }; }\nexport default function (data) { data.a.pop(); console.log('it is', JSON.stringify(data)); }", nil, exitDone, []string{`it is {"a":[1]}`}},
	},
	"the text of `error` of a response": {
		{once("http.get('http://127.0.0.1:1/').error_code, http.get('http://127.0.0.1:1/').error"), nil, exitFailed, []string{"it is 1212 dial tcp 127.0.0.1:1: connect: connection refused"}},
	},
	"`status_text`": {
		{once("http.get(u + '/words').status_text"), nil, exitDone, []string{"it is 200 OK"}},
	},
	"a space in the query of a URL": {
		{once("http.get(u + '/echo?a b').status, http.get(u + '/echo?a b').url.slice(-4)"), nil, exitDone, []string{"it is 200 %20b"}},
	},
	"`url` of a response to `http://user:password@…`": {
		{once("http.get(u.replace('//', '//me:secret@') + '/echo').url"), nil, exitDone, []string{"it is http://127.0.0.1:"}},
	},
	"a `select` with several chosen options that `submitForm` finds in a page": {
		{once("http.get(u + '/page').submitForm().body"), nil, exitDone, []string{"s=a&s=b"}},
	},
	"`data()` of a selection without a key: the attribute `data-user-id`": {
		{once("JSON.stringify(http.get(u + '/page').html('p').data())"), nil, exitDone, []string{`it is {"userId":7}`}},
	},
	"methods of an `Element` by its tag": {
		{once("http.get(u + '/page').html('select').get(0).labels()"), nil, exitDone, []string{"TypeError", "labels"}},
	},
	"`exec.scenario.startTime`": {
		{inFlow("{ executor: 'ramping-vus', startVUs: 0, stages: [{ duration: '400ms', target: 1 }, { duration: '2s', target: 1 }] }", "") +
			"export function setup() { return Date.now(); }\nexport default function (then) { if (__ITER == 0) console.log('it is', exec.scenario.startTime - then >= 399); sleep(1); }", nil, exitDone, []string{"it is true"}},
	},
	"`executionSegment`, `externally-controlled`, `k6/browser`, `k6/x/…`": {
		{"import { browser } from 'k6/browser';\nimport sql from 'k6/x/sql';\nexport default function () {}", nil, exitUsage, []string{"flow.js:3:25: ", "flow.js:4:17: "}},
		{inFlow("{ executor: 'externally-controlled', vus: 1, duration: '1s' }", ", executionSegment: '0:1/2'") + once("1"), nil, exitUsage, []string{"flow.js:3", "externally-controlled", "executionSegment"}},
	},
	"an assignment to a constant": {
		{"const a = 1;\nexport default function () { a = 2; }", nil, exitUsage, []string{"flow.js:4:"}},
	},
	"`paused`, `httpDebug`": {
		{"export const options = { paused: true, httpDebug: 'full' };\n" + once("1"), nil, exitDone, []string{"it is 1", "options.paused is ignored", "options.httpDebug is ignored"}},
	},
	"the pause of `minIterationDuration`": {
		{"export const options = { minIterationDuration: '500ms', iterations: 3, thresholds: { iteration_duration: ['min<500'] } };\nexport default function () {}", []string{"--expect", "p50 >= 500ms"}, exitDone, []string{"pass  p50 >= 500ms, iteration_duration min<500"}},
	},
	"thresholds on `count` of a trend, and on `min` and `max` of a gauge": {
		{"export const options = { thresholds: { iteration_duration: ['count==1'], vus: ['max>=0', 'min>=0'] } };\n" + once("1"), nil, exitDone, []string{"pass  iteration_duration count==1, vus max>=0, vus min>=0"}},
	},
	"a duration of a load below one second": {
		{"export const options = { duration: '900ms', thresholds: { iterations: ['count>0'] } };\nexport default function () { sleep(0.01); }", nil, exitDone, []string{"pass  iterations count>0"}},
	},
	"imports from `https://…`": {
		{"import a from 'https://jslib.k6.io/a.js';\nexport default function () { a(); }", nil, exitUsage, []string{"flow.js:3:15: ", "then --jslib lib"}},
	},
	"files outside of [the project](#what-is-there)": {
		{"const text = open('../../../../../../../../etc/hosts');\nexport default function () { text; }", nil, exitUsage, []string{"flow.js:3:", "--script-root"}},
	},
	"`--secret-source`": {
		{once("1"), []string{"--secret-source", "url=urlTemplate=http://127.0.0.1/{key}"}, exitUsage, []string{"file=", "mock="}},
	},
	"requests in flight at the end of a run": {
		{"export const options = { duration: '3s', thresholds: { http_reqs: ['count==1'], checks: ['rate==1'] } };\nexport default function () { check(get(), { got: () => true }); http.get(u + '/never'); }", []string{"--grace", "0s"}, exitDone,
			[]string{"pass  checks rate==1, http_reqs count==1"}},
	},
	"`console.log`": {
		{"export default function () { for (let i = 1; i < 13; i++) console.log('line', i); }", nil, exitDone, []string{"script: line 10\n", "!line 11", "script: 2 lines more"}},
	},
}

// Rows that tests of other packages are about, by the name of the test and its file.
var differentElsewhere = map[string]string{
	"a threshold that ends the run":                       "load/meter_test.go TestUntil",
	"which address of a name with several, without `dns`": "protocol/script/options_test.go TestWhere",
}

// serveDifferent answers the scripts of differents.
func serveDifferent(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ws":
		accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x01a", base64.StdEncoding.EncodeToString(accept[:]))
		for frame := make([]byte, 2); frame[0] != 0x88; { // until it is closed; the mask follows
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 4+int64(frame[1]&0x7f))
		}
		io.WriteString(conn, "\x88\x00")
	case "/words":
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/never":
		<-r.Context().Done()
	case "/page":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<p data-user-id="7"></p><form action="/echo" method="post"><select name="s" multiple><option selected>a<option selected>b</select></form>`)
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %s", r.Method, r.ContentLength, r.TransferEncoding, body)
	}
}

// Each row of the table of differences is shown by a run here, or by a test elsewhere.
func TestDifferences(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(serveDifferent))
	t.Cleanup(s.Close)
	_, table, _ := strings.Cut(string(testenv.Read(t, "../../docs/scripts.md")), "\n## What is different\n")
	var rows []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && cells[1] != "k6" && cells[1] != "---" {
			rows = append(rows, strings.TrimPrefix(cells[0], "| "))
		}
	}
	for row := range differents {
		if !slices.Contains(rows, row) {
			t.Errorf("docs/scripts.md has no row %s", row)
		}
	}
	for _, row := range rows {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			if file, name, ok := strings.Cut(differentElsewhere[row], " "); ok {
				if !bytes.Contains(testenv.Read(t, "../../"+file), []byte("func "+name+"(")) {
					t.Errorf("%s has no %s", file, name)
				}
			} else if differents[row] == nil {
				t.Error("no run shows that")
			}
			for _, d := range differents[row] {
				d.run(t, s.URL)
			}
		})
	}
}

func (d *different) run(t *testing.T, url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.js")
	testenv.Write(t, file, "import http from 'k6/http'; import { check, sleep } from 'k6'; import exec from 'k6/execution';\nconst u = __ENV.BASE_URL, get = () => http.get(u + '/echo');\n"+d.text)
	args := append(append([]string{"run", "--script", file}, d.flags...), url)
	if len(d.flags) > 0 && d.flags[0] == "compare" {
		args = append(slices.Concat([]string{"compare", file}, d.flags[1:]), url, url)
	}
	var out, errs bytes.Buffer
	code := Main(t.Context(), args, Streams{&out, &errs})
	said := out.String() + errs.String()
	for _, want := range d.want {
		text, not := strings.CutPrefix(want, "!")
		if strings.Contains(said, text) == not {
			t.Errorf("%s\n%v\nit says %t of %q:\n%s", d.text, d.flags, not, text, said)
		}
	}
	if code != d.code {
		t.Errorf("%s\n%v\nexit code %d, want %d\n%s", d.text, d.flags, code, d.code, said)
	}
}
