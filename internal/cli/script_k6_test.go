package cli

import (
	"bytes"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// Scripts run as in k6: the exit code, what is printed in the page or as an error, and in how many parts.
func TestScriptsOfK6(t *testing.T) {
	t.Parallel()
	const thrown = "export const options = { vus: 1, iterations: 3 };\nexport default function () { throw new Error('no'); }"
	for _, c := range []struct {
		name, text string
		flags      []string
		code       int
		want       string
	}{
		{"what is INVALID is printed", thrown, nil, exitDone, "INVALID"},
		{"what is INVALID decides", thrown, []string{"--strict"}, exitUndecided, "INVALID"},
		{"a request of each iteration has no response", "export const options = { vus: 1, iterations: 3 };\nexport default function () { get(); http.get('http://127.0.0.1:1/'); }", nil, exitDone, "no request succeeded"},
		{"no request has a response", "export const options = { vus: 1, iterations: 3 };\nexport default function () { http.get('http://127.0.0.1:1/'); }", nil, exitFailed, "refused"},
		{"a claim of the command line decides", thrown, []string{"--expect", "errors < 1%"}, exitUnmet, "errors"},
		{"a threshold on a rate without values", "export const options = { vus: 1, iterations: 1, thresholds: { 'checks{scenario:smoke}': ['rate>0.99'], checks: ['rate==1'] } };\nexport default function () { get(); }",
			nil, exitDone, ""},
		{"a summary that throws", "export const options = { vus: 1, iterations: 1 };\nexport default function () {}\nexport function handleSummary(data) { return { stdout: data.nothing.count }; }",
			nil, exitDone, "contend: no summary of the script: handleSummary of"},
		{"a summary that cannot be written", "export const options = { vus: 1, iterations: 1 };\nexport default function () {}\nexport function handleSummary() { return { '/no/such/folder/x': 'x' }; }",
			nil, exitDone, "contend: no summary of the script: open /no/such/folder/x"},
		{"an option that nobody knows", "export const options = { vus: 1, iterations: 1, name: 'x' };\nexport default function () { get(); }",
			nil, exitDone, "contend: flow.js:3: options.name is ignored"},
		{"flags in exec.test.options", "import exec from 'k6/execution';\nexport const options = { vus: 1, iterations: 1 };\nexport default function () { const o = exec.test.options.scenarios.default; console.log(o.executor, o.vus, o.iterations); }",
			[]string{"-c", "2", "-n", "3"}, exitDone, "script: shared-iterations 2 3"},
		{"no load", "export default function () { get(); }", nil, exitDone, "1 iterations,"},
		{"callers alone", "export const options = { vus: 9 };\nexport default function () { get(); }", nil, exitDone, "contend: options.vus says nothing without duration"},
		{"a time alone", "import exec from 'k6/execution';\nexport const options = { duration: '900ms' };\nexport default function () { get(); sleep(0.01); if (exec.vu.idInTest > 1) throw new Error('two callers'); }", nil, exitDone, "concurrency 1,"},
		{"iterations alone", "import exec from 'k6/execution';\nexport const options = { iterations: 4 };\nexport default function () { console.log(exec.vu.idInTest, __ITER); }", nil, exitDone, "script: 1 3"},
		{"secrets", "import secrets from 'k6/secrets';\nexport const options = { vus: 1, iterations: 1 };\nexport default async function () { check(await secrets.get('key'), { 'is there': (s) => s === 'hidden-value' }); }",
			[]string{"--secret-source", "mock=key=hidden-value"}, exitDone, "all 1 checks passed"},
	} {
		code, out, errs := scripted(t.Context(), t, func() {}, c.text, c.flags...)
		if code != c.code || !strings.Contains(out+errs, c.want) || strings.Contains(out+errs, "hidden-value") {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.name, code, c.code, c.want, out, errs)
		}
	}
}

// A script with a mistake has no second one that only comes of the first.
func TestNoFalseMistakes(t *testing.T) {
	broken := testenv.Files(t, "flow.js", "import { a } from './none.js';\nexport default function () { a(); }")
	for _, args := range [][]string{
		{"run", broken, "--summary-export", "x.json", "--strict"},
		{"run", broken, "--scenario", "a", "-n", "3"},
		{"sweep", broken},
		{"compare", broken, "http://127.0.0.1:1/", "http://127.0.0.1:2/"},
	} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), args, Streams{&out, &errs}); code != exitUsage || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "flow.js:1:19: ") {
			t.Errorf("%q: exit code %d, want %d and one mistake:\n%s", args, code, exitUsage, errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := Main(t.Context(), []string{"run", "http://127.0.0.1:1/", "--strict"}, Streams{&out, &errs}); code != exitUsage || !strings.Contains(errs.String(), "--strict") {
		t.Errorf("exit code %d\n%s", code, errs.String())
	}
}
