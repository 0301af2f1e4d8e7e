package script

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
)

// What the event loop cannot do runs outside it: the script sees no difference.
func TestElsewhere(t *testing.T) { engines(t, testElsewhere) }

func testElsewhere(t *testing.T, drive func(Config, int64) *load.Result) {
	other := shop(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/close":
			w.Header().Set("Connection", "close")
		case "/away":
			http.Redirect(w, r, other.URL+"/echo?from=away", http.StatusTemporaryRedirect)
			return
		case "/late":
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		case "/zipped":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcbH\xcd\xc9\xc9\x07\x00\x86\xa6\x106\x05\x00\x00\x00"))
			return
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	defer server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check, sleep } from 'k6';
		const u = __ENV.BASE_URL;
		export default function () {
			const holds = (name, value) => check(value, { [name]: (v) => v === true });
			sleep(0.001);
			holds('closing', http.get(u + '/close?1').body === 'GET /close?1 ' && http.get(u + '/close?2').body === 'GET /close?2 ');
			sleep(0.001);
			holds('moved to another server', http.post(u + '/away', 'b').body === 'POST /echo?from=away  "b"');
			holds('timeout', http.get(u + '/late', { timeout: 20, responseCallback: null }).error_code === 1050);
			const both = http.batch([u + '/a', ['POST', u + '/b', 'x'], { method: 'PUT', url: __ENV.OTHER + '/echo', body: 'y' }]);
			holds('batch', both.map((r) => r.body).join() === 'GET /a ,POST /b x,PUT /echo  "y"');
			const named = http.batch({ one: u + '/1', two: { url: u + '/2' } });
			holds('batch by name', named.one.body + named.two.body === 'GET /1 GET /2 ');
			holds('unpacked', http.get(u + '/zipped').body === 'hello');
			holds('form', http.post(u + '/f', { a: 1, b: 'x y' }).body === 'POST /f a=1&b=x+y');
			holds('file', http.post(u + '/f', { a: http.file('content', 'n.txt', 'text/plain') }).body.includes('filename="n.txt"'));
			holds('no body', http.get(u + '/n', { responseType: 'none' }).body === null);
			holds('bytes', new Uint8Array(http.get(u + '/n', { responseType: 'binary' }).body)[0] === 71);
			holds('tagged', http.get(http.url`+"`${u}/item/${__ITER}`"+`).status === 200);
			holds('keys', JSON.parse(JSON.stringify(http.get(u + '/k'))).status === 200);
		}`)
	r := drive(Config{Script: path, URL: server.URL, Env: []string{"OTHER=" + other.URL}}, 3)
	for _, check := range r.Checks {
		if check.Failed > 0 {
			t.Errorf("%s failed %d times", check.Name, check.Failed)
		}
	}
	if len(r.Checks) != 12 || r.Errored["timeout"] != 3 {
		t.Errorf("%d checks, want 12; errored %v, want 3 by the timeout; faults %v", len(r.Checks), r.Errored, r.Faults)
	}
}

// A server that cuts connections off within a flow: the script gets an error, and what it does next has another
// connection.
func TestCutOff(t *testing.T) { engines(t, testCutOff) }

func testCutOff(t *testing.T, drive func(Config, int64) *load.Result) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/cut") {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export default function () {
			const u = __ENV.BASE_URL;
			const all = [http.get(u + '/a'), http.post(u + '/cut'), http.get(u + '/b'), http.post(u + '/cut')];
			check(all, { 'as it was': (all) => all.map((r) => r.status).join() === '200,0,200,0' });
		}`)
	r := drive(Config{Script: path, URL: server.URL}, 5)
	if r.Checks[0].Passed != 5 || r.ErroredTotal() != 5 || r.Requests["POST /cut"].Errored != 10 || r.Requests["GET /b"].Completed != 5 {
		t.Errorf("checks %v, errored %v, requests %v: want 5 that went on after each cut", r.Checks, r.Errored, r.Requests)
	}
}

// Virtual users outlive runs, and what a run cut off is not in the next one.
func TestRunAfterRun(t *testing.T) {
	var late atomic.Bool
	late.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" && late.Load() {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { sleep } from 'k6';
		export default function () {
			http.get(__ENV.BASE_URL + '/first');
			sleep(__VU % 2 ? 0 : 0.001);
			http.get(__ENV.BASE_URL + '/late');
		}`)
	target := newTarget(t, Config{Script: path, URL: server.URL})
	session, err := load.Open(context.Background(), "script", target, 4)
	testenv.Must(t, err)
	defer session.Close()
	for length := 50 * time.Millisecond; ; length *= 4 { // until all have begun
		cut, err := session.Run(context.Background(), load.Plan{VUs: 4, Duration: length, Grace: time.Millisecond})
		testenv.Must(t, err)
		if cut.Unfinished != cut.Planned || cut.Accounted() != cut.Planned || cut.Planned != 4 && length > time.Minute {
			t.Fatalf("%d planned, %d unfinished, want 4", cut.Planned, cut.Unfinished)
		} else if cut.Planned == 4 {
			break
		}
	}
	late.Store(false)
	whole, err := session.Run(context.Background(), load.Plan{VUs: 4, Iterations: 40})
	testenv.Must(t, err)
	if whole.Completed != 40 || whole.Requests["GET /first"].Completed != 40 || whole.Requests["GET /late"].Completed != 40 {
		t.Errorf("%d completed, want 40: %v %v %v", whole.Completed, whole.Errored, whole.Faults, whole.Requests)
	}
}

// BenchmarkIteration has the server's part in it, which is in this process.
func BenchmarkIteration(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	path := testenv.Files(b, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export default function () { check(http.get(__ENV.BASE_URL + '/'), { ok: (r) => r.status === 200 }); }`)
	for _, hidden := range []bool{false, true} {
		b.Run(map[bool]string{false: "event loop", true: "goroutines"}[hidden], func(b *testing.B) {
			b.ReportAllocs()
			if r := drive(b, Config{Script: path, URL: server.URL}, int64(b.N), hidden); r.Completed != int64(b.N) {
				b.Fatal(r.Errored, r.Faults)
			}
		})
	}
}
