package script

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// A remote import is a file of the library, as is what that file imports by a relative path.
func TestLibrary(t *testing.T) {
	path := testenv.Files(t, "flow.js", `import { add } from 'https://jslib.example/add/1.0.0/index.js';
		import { check } from 'k6';
		export default function () { check(0, { 'is added': () => add(1, 2) === 3 }); }`)
	const folder = "jslib.example/add/1.0.0"
	library := strings.TrimSuffix(testenv.Files(t, folder+"/index.js", "export { add } from './add.js';", folder+"/add.js", "export const add = (a, b) => a + b;"), folder+"/index.js")
	if r := drive(t, Config{Script: path, JSLib: library}, 1, true); r.Completed != 1 {
		t.Errorf("%+v %v", r.Faults, r.Errored)
	}
	for _, test := range map[string]struct{ address, library, want string }{
		"no library":  {"https://jslib.example/add/1.0.0/index.js", "", "curl -fL --create-dirs -o lib/jslib.example/add/1.0.0/index.js https://jslib.example/add/1.0.0/index.js, then --jslib lib"},
		"not saved":   {"https://jslib.example/other.js", library, "jslib.example/other.js\", which cannot be read"},
		"a way out":   {"https://jslib.example/../../../../etc/passwd", library, "etc/passwd\", which cannot be read"},
		"a parameter": {"https://jslib.example/a.js?x=1", library, "is no address of a file"},
	} {
		path := testenv.Files(t, "flow.js", fmt.Sprintf("import x from %q;\nexport default function () { x(); }", test.address))
		refuses(t, Config{Script: path, JSLib: test.library}, test.want, "flow.js:1:")
	}
}

// All virtual users together send at most so many requests a second, including those of a batch.
func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		t.Parallel()
		server := shop(t)
		path := testenv.Files(t, "flow.js", `import http from 'k6/http';
			export const options = { rps: 50 };
			export default function () { http.get(__ENV.BASE_URL + '/echo'); http.batch([__ENV.BASE_URL + '/echo', __ENV.BASE_URL + '/echo']); }`)
		r := drive(Config{Script: path, URL: server.URL}, 3)
		if least := 8 * 20 * time.Millisecond; r.Completed != 3 || r.Duration < least { // the ninth is sent after eight waits
			t.Errorf("%d iterations in %v, want 3 in %v at least", r.Completed, r.Duration, least)
		}
	})
}

// A server is shown the certificate that its name asks for.
func TestClientCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	own := testenv.NewCertificate("mine")
	for domains, want := range map[string]string{"['127.0.0.1']": "mine", "['*.example.com']": "", "[]": "mine"} {
		path := testenv.Files(t, "flow.js", fmt.Sprintf(`import http from 'k6/http';
			import { check } from 'k6';
			export const options = { insecureSkipTLSVerify: true, tlsAuth: [{ cert: %q, key: %q, domains: %s }] };
			export default function () { check(http.get(__ENV.BASE_URL), { 'is shown': (r) => r.body === %q && r.proto === 'HTTP/2.0' }); }`, own.PEM, own.Key, domains, want))
		if r := drive(t, Config{Script: path, URL: server.URL}, 1, true); r.Completed != 1 {
			t.Errorf("%s: %+v %v", domains, r.Faults, r.Examples)
		}
	}
	for text, want := range map[string]string{"{ cert: 'a', key: 'b' }": "cert and key are PEM text", fmt.Sprintf("{ cert: %q, key: %q, password: 'x' }", own.PEM, own.Key): "has a password"} {
		path := testenv.Files(t, "flow.js", "export const options = { tlsAuth: ["+text+"] };\nexport default function () {}")
		refuses(t, Config{Script: path}, want)
	}
}

// A result says which script ran, and by what.
func TestScriptOfResult(t *testing.T) {
	path := testenv.Files(t, "flow.js", "export default function () {}")
	target := newTarget(t, Config{Script: path})
	r := wiretest.Run(t, target, load.Plan{VUs: 1, Iterations: 1})
	if s := r.Script; s == nil || s.File != path || len(s.SHA256) != 64 || !strings.HasPrefix(s.Interpreter, "github.com/grafana/sobek") {
		t.Errorf("%+v", s)
	}
}

// Requests that nobody waits for go on side by side, also with those that a script waits for at once: each of two is
// answered when both have come.
func TestAsyncRequests(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		for _, both := range []string{
			"await Promise.all(['/a', '/b'].map((path) => http.asyncRequest('GET', u + path)))",
			"await (async () => { const a = http.asyncRequest('GET', u + '/a'), b = http.get(u + '/b'); return [await a, b]; })()",
			"await (async () => { const a = http.asyncRequest('GET', u + '/a'); let b; setTimeout(() => { b = http.get(u + '/b'); }, 1); return [await a, b]; })()",
		} {
			path := testenv.Files(t, "flow.js", `import http from 'k6/http';
				import { check } from 'k6';
				const u = __ENV.BASE_URL;
				export default async function () {
					const all = `+both+`;
					check(all, { 'came': (all) => all.map((r) => r.body).join() === '/a,/b' });
					const lost = await http.asyncRequest('GET', 'http://127.0.0.1:1/');
					check(lost, { 'is lost': (r) => r.status === 0 });
				}`)
			r := drive(Config{Script: path, URL: serveTogether(t)}, 1)
			if len(r.Checks) != 2 || r.Checks[0].Passed != 1 || r.Checks[1].Passed != 1 || r.ErroredTotal() != 1 {
				t.Errorf("%s: %+v %+v %v %v", both, r.Checks, r.Faults, r.Errored, r.Examples)
			}
		}
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6'; export const options = { throw: true };
			export default async function () {
				let caught = [];
				for (const n of [1, 2]) try { await Promise.all(Array(n).fill('http://127.0.0.1:1/').map((u) => http.asyncRequest('GET', u))); } catch (e) { caught.push(e.message); }
				check(caught, { 'are caught': (c) => c.length === 2 && c.every((m) => m.includes('refused')) });
				http.asyncRequest('GET', __ENV.BASE_URL + '/');
			}`)
		if r := drive(Config{Script: path, URL: shop(t).URL}, 1); len(r.Checks) != 1 || r.Checks[0].Passed != 1 || r.Meter("http_reqs").Sum != 4 {
			t.Errorf("%+v %+v %v %v", r.Checks, r.Faults, r.Errored, r.Examples)
		}
	})
}

// serveTogether answers each of two requests when both have come.
func serveTogether(t *testing.T) string {
	var come atomic.Int64
	both := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if come.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
			fmt.Fprint(w, r.URL.Path)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
