package counter

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

// fetch does one request and returns its answer with the body read.
func fetch(t testing.TB, method, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: hang}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// exactAnswer is the form of the contract, byte by byte.
var exactAnswer = regexp.MustCompile(
	`^\{"counter":\d+,"status":(true|false),"lastChanged":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}$`)

func parseAnswer(t testing.TB, body string) (a statusAnswer) {
	t.Helper()
	if !exactAnswer.MatchString(body) {
		t.Fatalf("answer %s is not of the form of the contract", body)
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStatusOverHTTP(t *testing.T) {
	s := start(t, httpOnly())
	for _, path := range append([]string{pathAtomic, pathMutex, "/status/inputQ?x=1"}, designPaths()...) {
		t.Run(path, func(t *testing.T) {
			first := int64(1)
			if path == pathDesigns+"inputq" {
				first = 4 // "/status/inputQ" has asked it three times
			}
			for want := first; want < first+3; want++ {
				before := time.Now().Truncate(time.Second)
				resp, body := fetch(t, "GET", s.url(path))
				if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
					t.Fatalf("%s %v", resp.Status, resp.Header)
				}
				a := parseAnswer(t, body)
				if a.Counter != want || a.Status != (want%2 == 1) {
					t.Errorf("call %d: %s", want, body)
				}
				if a.LastChanged.Before(before) || a.LastChanged.After(time.Now()) {
					t.Errorf("lastChanged %v is not between call and answer", a.LastChanged)
				}
			}
		})
	}
}

func TestHTTPContract(t *testing.T) {
	s := start(t, httpOnly())
	testenv.Eventually(t, "it serves", s.phase.serving) // its sockets take connections before
	const problem = `"error":"`
	tests := []struct {
		method, path string
		code         int
		contains     string
	}{
		{"GET", "/health", 200, "true"},
		{"GET", "/ready", 200, "true"},
		{"HEAD", "/health", 200, ""},
		{"HEAD", "/ready", 200, ""},
		{"HEAD", "/status", 200, ""},
		{"GET", "/", 404, problem},
		{"GET", "/statusV3", 404, problem},
		{"GET", "/statusv2", 404, problem},
		{"GET", "/status/nosuch", 404, `design is \"nosuch\"; expected mutex, `},
		{"GET", "/status/Striped", 400, `design striped returns no value; expected mutex, `},
		{"GET", "/status/mutex/x", 404, problem},
		{"GET", "/status/mutex/", 404, problem},
		{"GET", "/status/", 404, problem},
		{"GET", "/STATUS/mutex", 404, problem},
		{"POST", "/status", 405, "GET and HEAD"},
		{"PUT", "/statusV2", 405, "GET and HEAD"},
		{"DELETE", "/status/Mutex", 405, "GET and HEAD"},
		{"POST", "/health", 405, "GET and HEAD"},
		{"OPTIONS", "/metrics", 405, "GET and HEAD"},
		{"POST", "/nosuch", 404, problem},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			resp, body := fetch(t, tt.method, s.url(tt.path))
			if resp.StatusCode != tt.code || !strings.Contains(body, tt.contains) {
				t.Errorf("%d %s; want %d with %s", resp.StatusCode, body, tt.code, tt.contains)
			}
			if allow := resp.Header.Get("Allow"); (allow == "GET, HEAD") != (tt.code == 405) {
				t.Errorf("Allow: %q with status %d", allow, tt.code)
			}
			if tt.method != "HEAD" && !json.Valid([]byte(body)) {
				t.Errorf("not JSON: %s", body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	s := start(t, httpOnly())
	for _, path := range []string{"/status", "/status", "/status/INPUTQ", "/health", "/nosuch", "/nosuch2", "/status/striped"} {
		fetch(t, "GET", s.url(path))
	}
	fetch(t, "HEAD", s.url("/status"))
	fetch(t, "POST", s.url("/statusV2"))
	resp, body := fetch(t, "GET", s.url("/metrics"))
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	for _, want := range []string{
		`contend_counter_http_requests_total{code="200",path="/status"} 3`,
		`contend_counter_http_requests_total{code="200",path="/statusV2"} 0`,
		`contend_counter_http_requests_total{code="405",path="/statusV2"} 1`,
		`contend_counter_http_requests_total{code="200",path="/status/inputq"} 1`,
		`contend_counter_http_requests_total{code="200",path="/health"} 1`,
		`contend_counter_http_requests_total{code="404",path="other"} 2`,
		`contend_counter_http_requests_total{code="400",path="other"} 1`,
		"\ngo_goroutines ",
		"\nprocess_start_time_seconds ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
}

type panicking struct{ guarded }

func (panicking) increment(int64) (change, error) { panic("planted") }

func TestClosedGuardIs503(t *testing.T) {
	h := newTestHandler(t)
	_ = h.routes[pathAtomic].own.Close()
	ctx := newGet(pathAtomic)
	h.serve(ctx)
	if got := ctx.Response.StatusCode(); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
}
