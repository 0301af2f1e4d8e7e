package script

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/protocol/wire"
)

// What scripts throw is counted with its line, whatever it is.
func TestThrown(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		server := shop(t)
		for body, want := range map[string]string{
			"throw 1":                                          "flow.js:2:",
			"throw null":                                       "null",
			"throw undefined":                                  "undefined",
			"throw { toString() { throw 1 } }":                 "an exception that has no text",
			"(function f() { f() })()":                         "flow.js:2:",
			"return Promise.reject(new Error('no'))":           "Error: no",
			"return (async () => { throw new Error('no') })()": "Error: no",
			"return new Promise(() => {})":                     "never settles",
		} {
			path := write(t, "flow.js", "export default function () {\n"+body+"\n}")
			r := drive(Config{Script: path, URL: server.URL}, 2)
			if r.Failed != 2 || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, want) {
				t.Errorf("%s: %d failed, %+v %v, want %q", body, r.Failed, r.Faults, r.Errored, want)
			}
		}
		path := write(t, "flow.js", "import { sleep } from 'k6'; export default function () { sleep(-1); sleep(NaN); sleep('x'); sleep(); }")
		if r := drive(Config{Script: path, URL: server.URL}, 2); r.Completed != 2 {
			t.Errorf("sleeps that are none: %+v %v", r.Faults, r.Errored)
		}
	})
}

// Modules may import each other in a circle, and none may lead out of the folder.
func TestWaysOut(t *testing.T) {
	path := write(t, "flow.js", "import { a } from './a.js'; export default function () { if (a() !== 3) throw new Error(a()) }",
		"a.js", "import { b } from './b.js'; export const one = () => 1; export const a = () => 1 + b();",
		"b.js", "import { one } from './a.js'; export const b = () => 1 + one();")
	if r := drive(t, Config{Script: path}, 1, true); r.Completed != 1 {
		t.Errorf("in a circle: %+v %v", r.Faults, r.Errored)
	}
	outside := filepath.Join(t.TempDir(), "outside.js")
	if err := os.WriteFile(outside, []byte("export const x = 1;"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an import":                 "import { x } from '" + outside + "'; export default function () { x }",
		"a link without its ending": "import { x } from './link'; export default function () { x }",
		"a link":                    "import { x } from './link.js'; export default function () { x }",
		"a file":                    "const x = open('" + outside + "'); export default function () { x }",
		"a file's link":             "const x = open('./link.js'); export default function () { x }",
	} {
		path := write(t, "flow.js", text)
		if err := os.Symlink(outside, filepath.Join(filepath.Dir(path), "link.js")); err != nil {
			t.Skip(err) // not everybody may
		}
		if _, err := New(context.Background(), Config{Script: path}, wire.Surroundings{}); err == nil || !strings.Contains(err.Error(), "is outside of") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, path := range map[string]string{"nothing": write(t, "flow.js", ""), "a folder": t.TempDir(), "bytes": write(t, "flow.js", "\x00\x01\x02")} {
		if _, err := New(context.Background(), Config{Script: path}, wire.Surroundings{}); err == nil {
			t.Errorf("%s is taken for a script", name)
		}
	}
}

// An interrupt ends each phase at once, whatever the script is at.
func TestInterrupted(t *testing.T) {
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
		_, err := New(ctx, Config{Script: write(t, "flow.js", endless+"\nexport default function () {}")}, wire.Surroundings{})
		return err
	})
	for _, text := range []string{"export function setup() { " + endless + " }", "if (__VU > 0) { " + endless + " }"} {
		target, err := New(context.Background(), Config{Script: write(t, "flow.js", text+"\nexport default function () {}")}, wire.Surroundings{})
		if err != nil {
			t.Fatal(err)
		}
		within(t, func(ctx context.Context) error {
			_, err := load.Run(ctx, "script", target, load.Plan{VUs: 1, Iterations: 1})
			return err
		})
	}
	path := write(t, "flow.js", "export const options = { teardownTimeout: '50ms' };\nexport default function () {}\nexport function teardown() { "+endless+" }")
	target, err := New(context.Background(), Config{Script: path}, wire.Surroundings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 1, Iterations: 1}); err != nil {
		t.Fatal(err)
	}
	within(t, func(context.Context) error { return target.Close() })
}
