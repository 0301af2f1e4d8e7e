package script

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// within is what functions with a bound make that keep to it: each is "aa".
const within = `['a'.repeat(2), ''.padStart(2, 'a'), 'a'.padEnd(2, 'a'), new Array(2).fill('a').join(''), Array.from('aa').join(''),
	String.fromCharCode(...new Uint8Array(2).fill(97)), new ArrayBuffer(8) instanceof ArrayBuffer && new Float64Array([1]) instanceof Float64Array && new Uint8Array(new ArrayBuffer(2)).length === 2 && Uint8Array.from([7])[0] === 7 && new (class extends Uint8Array {})(3).length === 3 && 'aa']`

// What scripts throw is counted with its line, whatever it is.
func TestThrown(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		server := shop(t)
		for body, want := range map[string]string{
			"throw 1":                                          "flow.js:2:",
			"throw null":                                       "null",
			"throw undefined":                                  "undefined",
			"throw { toString() { throw 1 } }":                 "an exception that has no text",
			"(function f() { f() })()":                         "flow.js:2:18: too much recursion: more than 4096 calls",
			"return Promise.reject(new Error('no'))":           "flow.js:2:22: Error: no",
			"return (async () => { throw new Error('no') })()": "flow.js:2:28: Error: no",
			"return new Promise(() => {})":                     "never settles",
			"Promise.reject(7)":                                "7",
			"Promise.reject(1).catch(() => {}); const late = Promise.reject(2); setTimeout(() => late.catch(() => {}), 1)":  "2",
			"(async () => { await null; throw new Error('alone') })()":                                                      "flow.js:2:33: Error: alone",
			"setTimeout(() => Promise.reject(new Error('tick')), 1)":                                                        "flow.js:2:32: Error: tick",
			"const e = new Error('no'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); return Promise.reject(e)": "Error: no",
			"'x'.repeat(2 ** 60)":                 "RangeError: repeat would be 1152921504606846976 characters, and may be 536870888",
			"'x'.repeat(new Number(2 ** 60))":     "RangeError: repeat would be",
			"'x'.padStart(2 ** 40, 'yz')":         "RangeError: padStart would be",
			"'x'.padEnd(1e12)":                    "RangeError: padEnd would be",
			"new Array(2 ** 31).fill(0)":          "RangeError: fill would be",
			"new Array(2 ** 31).join('x')":        "RangeError: join would be",
			"Array.from({ length: 2 ** 31 })":     "RangeError: from would be",
			"new ArrayBuffer(2 ** 36)":            "RangeError: new ArrayBuffer would be",
			"new Float64Array(2 ** 34)":           "RangeError: new Float64Array would be 137438953472 bytes, and may be 1073741824",
			"new Uint8Array({ length: 2 ** 34 })": "RangeError: new Uint8Array would be",
		} {
			path := testenv.Files(t, "flow.js", "export default function () {\n"+body+"\n}")
			r := drive(Config{Script: path, URL: server.URL}, 2)
			if r.Failed != 2 || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, want) {
				t.Errorf("%s: %d failed, %+v %v, want %q", body, r.Failed, r.Faults, r.Errored, want)
			}
		}
		for name, body := range map[string]string{
			"sleeps that are none":              "sleep(-1); sleep(NaN); sleep('x'); sleep();",
			"what is bounded, within its bound": "check([..." + within + "], { same: (all) => all.every((one) => one === 'aa') })",
		} {
			path := testenv.Files(t, "flow.js", "import { sleep, check } from 'k6'; const keep = [sleep, check]; export default function () { "+body+" }")
			if r := drive(Config{Script: path, URL: server.URL}, 2); r.Completed != 2 {
				t.Errorf("%s: %+v %v", name, r.Faults, r.Errored)
			}
		}
	})
}

// Each form of exports is found, and text that only looks like one is ignored.
func TestExports(t *testing.T) {
	const text = "const text = `\nexport {\n  x as y\n};\nexport default 1;\n`;\n"
	for name, script := range map[string]string{
		"a function":         text + "export default function () { if (text.length !== 40) throw new Error(text.length) }",
		"a class's":          "class A { static run() {} }; export default A.run;",
		"renamed":            "function run() {} export { run as default, run as \"an other\" };",
		"of another file":    "export { run as default } from './other.js'; export * from './other.js';",
		"in another form":    text + "module.exports.default = function () { if (text.length !== 40) throw new Error(text.length) };",
		"beside other names": "const module = 1, exports = 2; export default () => { if (module + exports !== 3) throw new Error() };",
		"the whole at once":  "module.exports = { default: () => {} };",
	} {
		r := drive(t, Config{Script: testenv.Files(t, "flow.js", script, "other.js", "export const options = {}; export function run() {}")}, 1, true)
		if r.Completed != 1 {
			t.Errorf("%s: %+v %v", name, r.Faults, r.Errored)
		}
	}
}

// Modules may import each other in a circle, and none may lead out of the folder.
func TestWaysOut(t *testing.T) {
	path := testenv.Files(t, "flow.js", "import { a } from './a.js'; export default function () { if (a() !== 3) throw new Error(a()) }",
		"a.js", "import { b } from './b.js'; export const one = () => 1; export const a = () => 1 + b();",
		"b.js", "import { one } from './a.js'; export const b = () => 1 + one();")
	if r := drive(t, Config{Script: path}, 1, true); r.Completed != 1 {
		t.Errorf("in a circle: %+v %v", r.Faults, r.Errored)
	}
	outside := testenv.Files(t, "outside.js", "export const x = 1;")
	for _, text := range map[string]string{
		"an import":                 "import { x } from '" + outside + "'; export default function () { x }",
		"a link without its ending": "import { x } from './link'; export default function () { x }",
		"a link":                    "import { x } from './link.js'; export default function () { x }",
		"a file":                    "const x = open('" + outside + "'); export default function () { x }",
		"a file's link":             "const x = open('./link.js'); export default function () { x }",
	} {
		path := testenv.Files(t, "flow.js", text)
		if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), "link.js")); err != nil {
			t.Skip(err) // not everybody may
		}
		refuses(t, Config{Script: path}, "is outside of")
	}
	for _, c := range []struct{ name, path, want string }{
		{"nothing", testenv.Files(t, "flow.js", ""), `exports no function "default"`},
		{"a remark", testenv.Files(t, "flow.js", "// nothing"), `exports no function "default"`},
		{"a folder", t.TempDir(), "it is no regular file"},
		{"a folder that is opened", testenv.Files(t, "flow.js", "open('.')"), "it is no regular file"},
		{"bytes", testenv.Files(t, "flow.js", "\x00\x01\x02"), "flow.js:1:1: "},
		{"bytes that are no UTF-8", testenv.Files(t, "flow.js", "export default function () { return '\xff\xfe\x80' } \xc0"), "flow.js:1:"},
		{"an import of bytes", testenv.Files(t, "flow.js", "import './b.js'", "b.js", "\xff\xfe\x80"), "b.js:1:1: "},
	} {
		refuses(t, Config{Script: c.path}, c.want)
	}
}

// An interrupt ends each phase at once, whatever the script is at.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	const endless = "while (true) {}"
	within := func(t *testing.T, what func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- what(ctx) }()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it has not been interrupted")
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it has not ended")
		}
	}
	within(t, func(ctx context.Context) error {
		_, err := New(ctx, Config{Script: testenv.Files(t, "flow.js", endless+"\nexport default function () {}")}, wire.Surroundings{})
		return err
	})
	for _, text := range []string{"export function setup() { " + endless + " }", "if (__VU > 0) { " + endless + " }"} {
		target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", text+"\nexport default function () {}")})
		within(t, func(ctx context.Context) error {
			_, err := load.Run(ctx, "script", target, load.Plan{VUs: 1, Iterations: 1})
			return err
		})
	}
	for _, c := range []struct {
		options, body string
		interrupted   bool
	}{{"{ teardownTimeout: '50ms' }", endless, false}, {"{}", endless, true}, {"{}", "sleep(1e9)", true}} {
		opened, interrupt := context.WithCancel(t.Context())
		text := "import { sleep } from 'k6';\nexport const options = " + c.options + ";\nexport default function () {}\nexport function teardown() { console.log('begun', sleep); " + c.body + " }"
		console := writer(func() {
			if c.interrupted {
				time.AfterFunc(10*time.Millisecond, interrupt)
			}
		})
		target, err := New(opened, Config{Script: testenv.Files(t, "flow.js", text)}, wire.Surroundings{Console: console})
		testenv.Must(t, err)
		wiretest.Run(t, target, load.Plan{VUs: 1, Iterations: 1})
		within(t, func(context.Context) error { return target.Close() })
		interrupt()
	}
}

// A writer does something when it is written to.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// A server that dies between two requests of a flow: each iteration errs or had both answers.
func TestServerDies(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		var server *httptest.Server
		var asked atomic.Int64
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 3 {
				server.Listener.Close()
				go server.CloseClientConnections()
				<-r.Context().Done()
			}
		}))
		defer server.Close()
		path := testenv.Files(t, "flow.js", `import http from 'k6/http';
			export default function () { http.get(__ENV.BASE_URL + '/a'); http.get(__ENV.BASE_URL + '/b'); }`)
		r := drive(Config{Script: path, URL: server.URL}, 4)
		if r.Completed != 1 || r.ErroredTotal() != 3 || r.Accounted() != r.Planned {
			t.Errorf("%d completed, %v errored, %d of %d accounted; want 1 and 3", r.Completed, r.Errored, r.Accounted(), r.Planned)
		}
	})
}

// The end of a run ends what its iterations are at, and what became of them adds up.
func TestInterruptedIterations(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`for (;;) {}`, `sleep(1e9)`, `for (;;) { try { for (;;) {} } catch (e) {} finally { for (;;) {} } }`,
		`let s = ''; for (;;) { s += 'x'; if (s.length > 1000) s = '' }`, `const f = () => Promise.resolve().then(f); return f()`,
		`setInterval(() => {}, 1e9)`, `for (;;) http.get(__ENV.BASE_URL + '/echo')`, `throw { toString() { for (;;) {} } }`,
		`for (;;) http.batch([__ENV.BASE_URL + '/echo'])`,
	} {
		for _, loops := range []bool{false, true} {
			server := shop(t)
			ctx, cancel := context.WithCancel(t.Context())
			target, err := New(ctx, Config{URL: server.URL, Script: testenv.Files(t, "flow.js", "import http from 'k6/http'; import { sleep } from 'k6'; let keep = [http, sleep]; export default function () { console.log('begun'); "+body+" }")},
				wire.Surroundings{Console: writer(func() { time.AfterFunc(20*time.Millisecond, cancel) })})
			testenv.Must(t, err)
			driven := load.Target(target)
			if !loops {
				driven = wiretest.Calls{Target: target}
			}
			r, err := load.Run(ctx, "script", driven, load.Plan{VUs: 2, Iterations: 10})
			if r == nil {
				t.Fatalf("%s: %v", body, err)
			}
			if r.Accounted() != r.Planned || r.Unfinished == 0 || r.Completed+r.Failed+r.ErroredTotal() != 0 {
				t.Errorf("%s: %d planned, %d unfinished, %v, %v: %v", body, r.Planned, r.Unfinished, r.Errored, r.Faults, err)
			}
			testenv.Must(t, target.Close())
			cancel()
		}
	}
}
