package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"contend/internal/testenv"
)

// scripted runs a script of k6 against a server, which calls fifth at the fifth request, and returns the exit code and what
// was printed.
func scripted(ctx context.Context, t *testing.T, fifth func(), text string, flags ...string) (code int, out, errs string) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 5 {
			fifth()
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "flow.js")
	text = "import http from 'k6/http'; import { check, sleep } from 'k6';\nconst get = () => http.get(__ENV.BASE_URL);\n" + text
	testenv.Write(t, file, text)
	var stdout, stderr bytes.Buffer
	code = Main(ctx, append(append([]string{"run", "--script", file}, flags...), s.URL), Streams{&stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// A run of a script fails by its thresholds, however many checks failed; claims about errors are contend's own.
func TestFailedChecksAreTheScripts(t *testing.T) {
	const every10th = "export default function () { check(get(), { ok: () => __ITER % 10 != 7 }); }\nexport const options = { vus: 1, iterations: 50, thresholds: "
	for _, tt := range []struct {
		text  string
		flags []string
		code  int
		first string
	}{
		{every10th + "{ checks: ['rate>0.5'] } }", nil, exitDone, "no; 5 of 50 checks failed (10%)"},
		{every10th + "{} }", nil, exitDone, "5 of 50 checks failed (10%)"},
		{every10th + "{ checks: ['rate>0.95'] } }", nil, exitUnmet, "FAIL: checks rate>0.95: it is 0.9"},
		{every10th + "{} }", []string{"--expect", "errors < 1%"}, exitUnmet, "5 of 50 failed (10%)"},
		{every10th + "{} }", []string{"--expect", "p95 < 1m"}, exitDone, "5 of 50 checks failed (10%)"},
		{"export default function () { if (get() && __ITER % 10 == 7) throw new Error('no'); }\nexport const options = { vus: 1, iterations: 50 }", nil,
			exitDone, "5 of 50 failed (10%)"},
		{"export default function () { http.get(__ENV.BASE_URL, { responseCallback: http.expectedStatuses(201) }); }\nexport const options = { vus: 1, iterations: 50 }", nil,
			exitDone, "50 of 50 requests failed (100%)"},
	} {
		code, out, errs := scripted(t.Context(), t, func() {}, tt.text, tt.flags...)
		first, _, _ := strings.Cut(out, "\n\n")
		first = strings.Join(strings.Fields(first), " ")
		if code != tt.code || !strings.Contains(first, strings.TrimPrefix(tt.first, "no; ")) {
			t.Errorf("%s %v: exit code %d, want %d and %q\n%s%s", tt.text, tt.flags, code, tt.code, tt.first, out, errs)
		}
	}
}

// Whoever interrupts a script gets its page, its summary of what there is, which is four iterations here, and its teardown.
func TestAnInterruptedScriptIsSummarised(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	code, out, errs := scripted(ctx, t, interrupt, `
export const options = { vus: 1, duration: '1h' };
export function setup() {}
export default function () { get(); sleep(0.005); }
export function teardown() { get(); console.log('TORN DOWN'); }
export function handleSummary(data) { return { stdout: 'SUMMARY ' + (data.metrics.iterations.values.count > 0) + '\n' }; }`)
	if code != exitInterrupted || !strings.Contains(out, "Interrupted, partial result") || !strings.Contains(out, "SUMMARY true") || !strings.Contains(out+errs, "TORN DOWN") {
		t.Errorf("exit code %d, want %d\n%s%s", code, exitInterrupted, out, errs)
	}
}
