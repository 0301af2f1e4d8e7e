package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// What scripts import and open without a flag, from where k6 does: "got" is what each comes to.
func TestImports(t *testing.T) {
	t.Parallel()
	const ok = "export default function () {} "
	read := []string{"tests/lib/read.js", "export const read = (path) => open(path);\nexport const own = open('./name.txt');",
		"tests/lib/name.txt", "of lib", "tests/load/name.txt", "of load", "name.txt", "of all"}
	common := []string{"tests/lib/common.js", "exports.text = open('./name.txt');\nexports.of = (path) => open(path);", "tests/lib/name.txt", "of lib", "tests/load/name.txt", "of load"}
	for _, c := range []struct {
		name, text string
		files      []string
		want       string
	}{
		{"of a folder above", "import { a } from '../lib/a.js'; export const got = a;", []string{"tests/lib/a.js", "export const a = 'above';"}, "above"},
		{"opened by a file in a folder with a space", "import { own } from '../my lib/own.js'; export const got = own;", []string{"tests/my lib/own.js", "export const own = open('./name.txt');", "tests/my lib/name.txt", "of my lib"}, "of my lib"},
		{"opened by a bundle with a map", "export const got = open('./name.txt');\n//# sourceMappingURL=data:application/json,{\"version\":3,\"sources\":[\"webpack:///src/other/main.js\"],\"names\":[],\"mappings\":\"AAAA\"}",
			[]string{"tests/load/name.txt", "of load"}, "of load"},
		{"without an ending", "import { a } from '../lib/a'; export const got = a;", []string{"tests/lib/a.ts", "export const a: string = 'typed';"}, "typed"},
		{"opened where imports reach", "import { a } from '../lib/a.js'; export const got = a + open('../name.txt');", []string{"tests/lib/a.js", "export const a = '';", "tests/name.txt", "of tests"}, "of tests"},
		{"opened within a package", "export const got = open('../../name.txt');", []string{"package.json", "{}", "name.txt", "of all"}, "of all"},
		{"opened within a repository", "export const got = open('../../name.txt');", []string{".git/HEAD", "", "tests/package.json", "{}", "name.txt", "of all"}, "of all"},
		{"opened by a function of another file", "import { read } from '../lib/read.js'; export const got = read('./name.txt');", read, "of load"},
		{"opened by another file", "import { own } from '../lib/read.js'; export const got = own;", read, "of lib"},
		{"opened by a CommonJS file", "import common from '../lib/common.js'; export const got = common.text;", common, "of lib"},
		{"opened by a CommonJS file where the names of helpers are taken", "import common from '../lib/common.js'; export const got = common.text + typeof require;", common, "of libfunction"},
		{"opened by a function of a CommonJS file", "const { of } = require('../lib/common.js'); exports.got = of('./name.txt'); exports.default = () => {};", common, "of load"},
		{"resolved", "import { path } from '../lib/path.js'; export const got = open(path()) + path().startsWith('file:///');",
			[]string{"tests/lib/path.js", "export const path = () => import.meta.resolve('./name.txt');", "tests/lib/name.txt", "of lib "}, "of lib true"},
		{"CommonJS within a package of modules", "import common from '../lib/c.js'; export const got = common.a;", []string{"package.json", `{"type": "module"}`, "tests/lib/c.js", "exports.a = 'common';"}, "common"},
		{"a CommonJS script within a package of modules", "const { b64encode } = require('k6/encoding'); module.exports = { got: b64encode('a'), default() {} };", []string{"package.json", `{"type": "module"}`}, "YQ=="},
		{"evaluated, as development bundles of webpack are", `var made = { a: (module, exports, require) => { eval("module.exports = require(\"k6/encoding\");"); } };
			var m = { exports: {} }; made.a(m, m.exports, require); exports.got = m.exports.b64encode('a'); exports.default = () => {};`, nil, "YQ=="},
		{"a bundle of esbuild", `var __create = Object.create, __names = Object.getOwnPropertyNames, __def = Object.defineProperty;
			var __copy = (to, from) => { for (let key of __names(from)) if (key !== 'default') __def(to, key, { get: () => from[key], enumerable: true }); return to; };
			var __toESM = (mod) => __copy(__def(__create(null), 'default', { value: mod && mod.__esModule ? mod.default : mod, enumerable: true }), mod);
			var import_encoding = __toESM(require("k6/encoding"));
			module.exports = { got: import_encoding.default.b64encode('a') + import_encoding.b64encode('b'), default: () => {} };`, nil, "YQ==Yg=="},
		{"a name that a module does not have", "import { scenario, exec } from 'k6/execution'; import { noSuch } from 'k6'; export const got = typeof exec + typeof scenario + typeof noSuch;", nil, "undefinedobjectundefined"},
		{"left for later", "export const got = ['not yet']; setTimeout(() => { got[0] = 'later'; }, 1);", nil, "later"},
		{"awaited later", "export const got = await new Promise((done) => setTimeout(() => done('later'), 1));", nil, "later"},
		{"awaited", "const text = await Promise.resolve('late'); export const got = text;", nil, "late"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.text, "default") || strings.Contains(c.text, "import ") {
				c.text = ok + c.text
			}
			target := newTarget(t, Config{Script: testenv.Files(t, append([]string{"tests/load/flow.js", c.text}, c.files...)...)})
			v, err := target.newVU(t.Context(), 0)
			testenv.Must(t, err)
			if got := v.exports.Get("got"); got == nil || got.String() != c.want {
				t.Errorf("%v, want %q", got, c.want)
			}
		})
	}
}

// The folder that scripts may read, by what is above them and where the command runs.
func TestProject(t *testing.T) {
	top := filepath.Dir(testenv.Files(t, "mark", "", "git/.git/HEAD", "", "git/package.json", "{}", "git/a/b/x.js", "", "packed/package.json", "{}", "packed/a/package.json", "{}", "packed/a/b/x.js", ""))
	for _, c := range []struct{ dir, here, want string }{
		{"git/a/b", "git/a", "git"},
		{"git/a/b", "elsewhere", "git"},
		{"packed/a/b", "elsewhere", "packed/a"},
		{"packed/a/b", "packed/a/b", "packed/a"},
		{"packed/a/b", "packed", "packed"},
	} {
		if got := project(filepath.Join(top, c.dir), filepath.Join(top, c.here)); got != filepath.Join(top, c.want) {
			t.Errorf("of %s, from %s: %s, want %s", c.dir, c.here, got, c.want)
		}
	}
	if got := project(string(filepath.Separator), string(filepath.Separator)); got != string(filepath.Separator) {
		t.Errorf("of a script in the root: %s", got)
	}
}

// Imports that leave a folder that was found never open all of the file system, nor do links.
func TestFoundRootsAreBounded(t *testing.T) {
	const ok = "\nexport default function () {}"
	path := testenv.Files(t, "a/b/flow.js", "import { x } from '../c/link.js';\nexport default function () { x(); }", "a/c/other.js", "")
	testenv.Must(t, os.Symlink(testenv.Files(t, "out.js", "export const x = 1;"), filepath.Join(filepath.Dir(path), "..", "c", "link.js")))
	refuses(t, Config{Script: path}, "is outside of")
	path = testenv.Files(t, "flow.js", "import x from '../none.js';"+ok)
	r := roots{folders: []string{filepath.Dir(path)}, found: true}
	if r.reach("/usr/none.js"); len(r.folders) != 2 || r.may("/etc/passwd") == nil || r.may("/usr/other.js") != nil {
		t.Errorf("%q", r.folders)
	}
	refuses(t, Config{Script: path, Root: filepath.Dir(path)}, "flow.js:1:15: ", "is outside of", "--script-root")
}

// A folder that cannot be read is named by its own flag.
func TestFoldersAreNamed(t *testing.T) {
	path := testenv.Files(t, "flow.js", "export default function () {}")
	refuses(t, Config{Script: path, Root: "/no/such/root", JSLib: path}, `script_root is "/no/such/root", which cannot be read`, `jslib is "`+path+`", which cannot be read`)
}

// What is not there is refused when the script is read, all of it, each with its line.
func TestAllImportsAreRefusedAtOnce(t *testing.T) {
	path := testenv.Files(t, "flow.js", `import { browser } from 'k6/browser';
import http from 'k6/http';
import redis from 'k6/experimental/redis';
import { uuidv4 } from 'https://jslib.example/utils/1.4.0/index.js';
export function api() { http.get(uuidv4()); redis.get(); }
export async function ui() { await browser.newPage(); }`)
	refuses(t, Config{Script: path},
		`flow.js:1:25: module "k6/browser" drives a browser, which contend does not: keep its functions and scenarios in a script for k6`,
		`flow.js:3:19: module "k6/experimental/redis" is not there; those that are: k6`,
		"flow.js:4:24: ", "curl -fL --create-dirs -o lib/jslib.example/utils/1.4.0/index.js https://jslib.example/utils/1.4.0/index.js, then --jslib lib")
}

// What is ignored or missing is told once, before the run, with its line.
func TestWarnings(t *testing.T) {
	path := testenv.Files(t, "flow.js", `import { chek, check } from 'k6';
export const options = { vus: 1, iterations: 1,
  nam: 'x', maxVUs: 5,
  insecureSkipTlsVerify: true, httpDebug: 'full', paused: true };
export default function () { check(chek, {}); }`)
	target := newTarget(t, Config{Script: path})
	if got, want := strings.Join(target.Warnings(), "\n"), `flow.js:1:10: k6 has no chek, which is undefined: did you mean check?
options.httpDebug is ignored: requests are not printed
flow.js:3: options.maxVUs is ignored, as it is not known; docs/scripts.md lists those that are
flow.js:3: options.nam is ignored, as it is not known; docs/scripts.md lists those that are
options.paused is ignored: the run begins at once`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if !target.Options.Insecure {
		t.Error("the case of letters matters")
	}
}
