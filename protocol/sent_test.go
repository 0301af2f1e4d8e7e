package protocol

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	checks "contend/protocol/check"
	"contend/protocol/coding"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// A recorder is a server that notes what it is asked for.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func record(t *testing.T, answer http.HandlerFunc) *recorder {
	r := &recorder{}
	r.Server = wiretest.BothVersions(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, request.Method+" "+request.RequestURI)
		r.mu.Unlock()
		answer(w, request)
	}))
	wiretest.Started(t, r.Server)
	return r
}

// take returns what was asked since the last time.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

func once(t *testing.T, target Target) *load.Result {
	t.Helper()
	opened, err := Opener{Surroundings: wire.Surroundings{VUs: 1}}.Open(t.Context(), target)
	testenv.Must(t, err)
	r, err := load.Run(t.Context(), "once", opened, load.Plan{VUs: 1, Iterations: 1})
	testenv.Must(t, err)
	return r
}

// A path is sent as it is written, whatever sends it and wherever it is written.
func TestPathsAreSentAsWritten(t *testing.T) {
	t.Parallel()
	server := record(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.RequestURI, "/from") {
			w.Header()["Location"] = []string{"/a%2fb|c/{d}//e ü;f?g=h%2fi|#j"}
			w.WriteHeader(http.StatusFound)
		}
	})
	const written = "/a%2fb|c/{d}//e ü;f?g=h%2fi|#j"
	const want = "GET /a%2fb%7Cc/%7Bd%7D//e%20%C3%BC;f?g=h%2fi|"
	templated := strings.NewReplacer("{", "", "}", "", "#j", "").Replace(written)
	script := At(server.URL).With("script", testenv.Files(t, "flow.js", `import http from 'k6/http'; import ws from 'k6/ws';
		const written = '`+written+`'; const u = __ENV.BASE_URL;
		const ways = {
			get: () => http.get(u + written), batch: () => http.batch([u + written]), moved: () => http.get(u + '/from'),
			async: async () => { await http.asyncRequest('GET', u + written); },
			timed: () => http.get(u + written, { timeout: 50000 }), // not by the event loop
			socket: () => ws.connect(u.replace('http', 'ws') + written.replace('#j', ''), () => {}),
		};
		export default function () { return ways[__ENV.WAY](); }`))
	requests := testenv.Files(t, "requests.json", `[{"name": "a", "path": "`+strings.TrimSuffix(written, "#j")+`"}]`)
	for name, target := range map[string]Target{
		"1.1":                 At(server.URL + written),
		"1.1, goroutines":     At(server.URL+written).With("engine", "goroutines"),
		"2":                   At(server.URL+written).With("http", "2"),
		"2, goroutines":       At(server.URL+written).With("http", "2").With("engine", "goroutines"),
		"requests":            At(server.URL).With("requests", requests),
		"rows":                At(server.URL + templated + "{{vu}}"),
		"rows 2":              At(server.URL+templated+"{{vu}}").With("http", "2"),
		"WebSocket":           At(strings.Replace(server.URL, "http", "ws", 1) + strings.TrimSuffix(written, "#j")),
		"script get":          script.With("script_env", "WAY=get"),
		"script batch":        script.With("script_env", "WAY=batch"),
		"script asyncRequest": script.With("script_env", "WAY=async"),
		"script timeout":      script.With("script_env", "WAY=timed"),
		"script WebSocket":    script.With("script_env", "WAY=socket"),
		"script redirect":     script.With("script_env", "WAY=moved"),
		"script, goroutines":  script.With("script_env", "WAY=get").With("engine", "goroutines"),
	} {
		server.take()
		once(t, target)
		asked := server.take()
		sent := want
		if strings.HasPrefix(name, "rows") {
			sent = strings.NewReplacer("%7B", "", "%7D", "").Replace(want) + "0"
		}
		if len(asked) == 0 || asked[len(asked)-1] != sent {
			t.Errorf("%s: asked for %q, want %q", name, asked, sent)
		}
	}
}

// Checks look at what a body was before it was encoded; what cannot be decoded is named.
func TestChecksReadEncodedBodies(t *testing.T) {
	t.Parallel()
	const content = `{"a": 1, "text": "hello hello hello hello"}`
	server := record(t, func(w http.ResponseWriter, r *http.Request) {
		encoding, kind, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		w.Header().Set("Content-Encoding", encoding)
		body, err := coding.Encode(encoding, []byte(content))
		switch {
		case kind == "204":
			w.WriteHeader(http.StatusNoContent)
			return
		case kind == "damaged" || err != nil:
			body = []byte(content)
		case kind == "bomb":
			body, _ = coding.Encode(encoding, make([]byte, 2*checks.BodyLimit))
		}
		_, _ = w.Write(body)
	})
	for _, way := range []struct{ version, engine string }{{"1.1", ""}, {"1.1", "goroutines"}, {"2", ""}} {
		if loops, _ := loop.Supported(); !loops && way.version == "2" {
			continue
		}
		for _, tt := range []struct{ method, path, check, fault, example string }{
			{"GET", "/gzip", "json $.a == 1", "", ""},
			{"GET", "/deflate", "json $.a == 1", "", ""},
			{"GET", "/br", "body contains hello", "", ""},
			{"GET", "/zstd", "not body contains bye", "", ""},
			{"GET", "/gzip, br", `body == '` + content + `'`, "", ""},
			{"GET", "/identity", "json $.a == 1", "", ""},
			{"GET", "/br", "header content-encoding == br", "", ""},
			{"GET", "/gzip", "json $.a == 2", "json $.a == 2", "200"},
			{"GET", "/gzip", "size < 68", "", ""}, // 44 bytes, as they were sent
			{"GET", "/gzip/204", "body == ''", "", ""},
			{"HEAD", "/gzip", "body == ''", "", ""},
			{"GET", "/lzma", "body contains hello", "body contains hello (body not decoded)", `content encoding "lzma" is unknown`},
			{"GET", "/lzma", "size == 43", "", ""},
			{"GET", "/br/damaged", "not body contains x", "not body contains x (body not decoded)", "content encoding br: brotli"},
			{"GET", "/zstd/bomb", "not body contains x", "not body contains x (body too long)", "200"},
		} {
			target := At(server.URL+tt.path).With("http", way.version).With("checks", tt.check).With("method", tt.method)
			if way.engine != "" {
				target = target.With("engine", way.engine)
			}
			r := once(t, target)
			switch {
			case tt.fault == "" && r.Completed != 1, tt.fault != "" && (len(r.Faults) != 1 || r.Faults[0].Check != tt.fault || !strings.Contains(r.Faults[0].Example, tt.example)):
				t.Errorf("HTTP/%s %s: %s, %s: %+v %v, want %q with %q", way.version, way.engine, tt.path, tt.check, r.Faults, r.Errored, tt.fault, tt.example)
			}
		}
	}
}
