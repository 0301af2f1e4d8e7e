package script

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

const imports = `import encoding from 'k6/encoding'; import crypto6 from 'k6/crypto'; import exec from 'k6/execution';
import { SharedArray } from 'k6/data'; import { setTimeout as later } from 'k6/timers'; import { check, group } from 'k6';
import { parseHTML } from 'k6/html'; import x509 from 'k6/crypto/x509'; import http from 'k6/http';
const hex = (b) => Array.from(new Uint8Array(b), (x) => x.toString(16).padStart(2, '0')).join('');
const text = (s) => new Uint8Array([...s].map((c) => c.charCodeAt(0)));
const bytes = (h) => new Uint8Array(h.match(/../g).map((b) => parseInt(b, 16)));
const key = (name, h) => crypto.subtle.importKey('raw', bytes(h), name, false, ['encrypt', 'decrypt']);
async function jwkOf(a) {
	const { privateKey, publicKey } = await crypto.subtle.generateKey(a, true, ['sign', 'verify']);
	const j = await crypto.subtle.exportKey('jwk', privateKey);
	const read = await crypto.subtle.importKey('jwk', j, a, true, ['sign']);
	return [j.kty, j.crv, (j.x || '').length, ...Object.keys(j).sort(), await crypto.subtle.verify(a, publicKey, await crypto.subtle.sign(a, read, text('a')), text('a'))].join();
}
async function signs(made, used) {
	const { privateKey, publicKey } = await crypto.subtle.generateKey(made, false, ['sign', 'verify']);
	const signature = await crypto.subtle.sign(used, privateKey, text('a'));
	return [signature.byteLength, await crypto.subtle.verify(used, publicKey, signature, text('a')), await crypto.subtle.verify(used, publicKey, signature, text('b'))];
}
`

type expression struct{ text, want string }

// expressions and what they come to. Digests are those of RFC 1321, RFC 2202, RFC 4231 and FIPS 180-4, of
// base64 those of RFC 4648, section 10.
var expressions = []expression{
	{`encoding.b64encode('foobar')`, "Zm9vYmFy"},
	{`encoding.b64encode('fooba')`, "Zm9vYmE="},
	{`encoding.b64encode('fooba', 'rawstd')`, "Zm9vYmE"},
	{`encoding.b64encode('\xfb', 'std')`, "w7s="},
	{`encoding.b64encode(new Uint8Array([251, 255]).buffer, 'url')`, "-_8="},
	{`encoding.b64encode(new Uint8Array([0, 251, 255]).subarray(1), 'rawurl')`, "-_8"},
	{`encoding.b64decode('Zm9vYmE=', 'std', 's')`, "fooba"},
	{`encoding.b64decode('Zm9vYmE', 'rawurl', 's')`, "fooba"},
	{`hex(encoding.b64decode('-_8=', 'url'))`, "fbff"},
	{`encoding.b64decode('?')`, "!illegal base64 data at input byte 0"},
	{`encoding.b64encode('a', 'hex')`, "YQ=="}, // as in k6
	{`encoding.b64encode(5)`, "!text or an ArrayBuffer is needed, not 5"},
	{`encoding.b64decode('Zm9v', 'std', 'x')`, `!the format is "x"; expected s`},

	{`crypto6.md5('abc')`, "900150983cd24fb0d6963f7d28e17f72"},
	{`crypto6.md4('abc', 'hex')`, "a448017aaf21d8525fc10ae87aa6729d"},
	{`crypto6.sha1('abc', 'base64')`, "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="},
	{`crypto6.sha1('abc', 'base64url')`, "qZk-NkcGgWq6PiVxeFDCbJzQ2J0="},
	{`crypto6.sha1('abc', 'base64rawurl')`, "qZk-NkcGgWq6PiVxeFDCbJzQ2J0"},
	{`hex(crypto6.sha256('abc', 'binary'))`, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{`crypto6.sha512_256('abc', 'hex').slice(0, 16)`, "53048e2681941ef9"},
	{`crypto6.ripemd160('abc', 'hex')`, "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
	{`crypto6.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'hex').slice(0, 16)`, "5bdcc146bf60754e"},
	{`(() => { const h = crypto6.createHash('sha256'); h.update('a'); h.update('bc'); return h.digest('hex').slice(0, 8); })()`, "ba7816bf"},
	{`(() => { const h = crypto6.createHMAC('md5', 'Jefe'); h.update('what do ya want for nothing?'); return h.digest('hex'); })()`, "750c783e6ab0b503eaa86e310a5db738"},
	{`crypto6.hexEncode('abc')`, "616263"},
	{`crypto6.randomBytes(7).byteLength`, "7"},
	{`crypto6.randomBytes(0)`, "!expected 1 to"},
	{`crypto6.sha1('abc', 'zz')`, `!the encoding is "zz"; expected binary, base64,`},
	{`crypto6.createHash('zz')`, `!the algorithm is "zz"; expected md4, md5,`},

	{`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`, "true"},
	{`(() => { const a = new Uint32Array(8); return crypto.getRandomValues(a) === a && a.some((x) => x > 0); })()`, "true"},
	{`crypto.getRandomValues(new Float64Array(1))`, "!fills an array of integers"},
	{`crypto.getRandomValues(5)`, "!fills an array of integers"},
	{`crypto.getRandomValues(new Uint8Array(65537))`, "!fills at most 65536 bytes, not 65537"},

	{`new SharedArray('late', () => [])`, "!outermost part"},
	{`await new Promise((done) => later(() => done('later'), 1))`, "later"},

	{`[exec.vu.idInTest, exec.vu.idInInstance, exec.vu.iterationInInstance, exec.vu.iterationInScenario]`, "1,1,0,0"},
	{`[exec.scenario.name, exec.scenario.executor, exec.scenario.iterationInInstance, exec.scenario.iterationInTest]`, "default,shared-iterations,0,0"},
	{`Math.abs(exec.scenario.startTime - Date.now()) < 60000`, "true"},
	{`[exec.instance.vusActive, exec.instance.vusInitialized, exec.instance.iterationsCompleted, exec.instance.iterationsInterrupted]`, "1,1,0,0"},
	{`exec.instance.currentTestRunDuration < 60000`, "true"},
	{`exec.test.options.scenarios.default.iterations`, "1"},
	{`JSON.stringify(exec.vu)`, `{"idInInstance":1,"idInTest":1,"iterationInInstance":0,"iterationInScenario":0,"metrics":{"metadata":{},"tags":{"group":"","scenario":"default"}},"tags":{"group":"","scenario":"default"}}`},
	{`exec.scenario.progress`, "1"},
	{`exec.vu.tags.a = 'b', delete exec.vu.metrics.tags.c, exec.vu.metrics.tags.a`, "b"},
	{`exec.vu.metrics.metadata.a = 'b', exec.vu.metrics.metadata.a`, "b"},
	{`group('one', () => exec.vu.metrics.tags.group.slice(2) + Object.keys(exec.vu.metrics.tags))`, "onegroup,scenario"},
	{`exec.vu.metrics.tags = { a: 'b' }`, "!Cannot assign to read only property 'tags'"},
	{`exec.vu.tags.a = {}`, "!tag a is set to [object Object]; expected text"},
	{`exec.vu.idInTest = 5`, "!exec.vu.idInTest cannot be set"},
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) { comesTo(t, drive, expressions) })
}

// comesTo runs expressions, each in a script; what is wanted with "!" before it is thrown.
func comesTo(t *testing.T, drive func(Config, int64) *load.Result, all []expression) {
	t.Helper()
	server := shop(t)
	for _, c := range all {
		path := testenv.Files(t, "flow.js", imports+`let keep = [encoding, crypto6, exec, SharedArray, later];
			export const options = { iterations: 1, vus: 1 };
			export default async function () { const got = String(`+c.text+`);
				check(0, { [got]: () => true });
			}`)
		r := drive(Config{Script: path, URL: server.URL}, 1)
		shows(t, r, c.text, c.want, 1)
	}
}

// The elements of a SharedArray are read once for all virtual users, and cannot be changed.
func TestSharedArray(t *testing.T) {
	path := testenv.Files(t, "flow.js", imports+`
		const rows = new SharedArray('rows', () => {
			if (__VU > 0) throw new Error('again');
			return JSON.parse(open('./rows.json'));
		});
		export default function () {
			const throws = (f) => { try { f(); } catch (e) { return e instanceof TypeError; } return false; };
			check(rows, {
				'is an array': () => Array.isArray(rows) && rows.length === 3 && rows[3] === undefined && rows[-1] === undefined,
				'has values': () => rows[0].name === 'ann' && rows[1] === 7 && rows[2].of[1].x === null,
				'iterates': () => { let n = 0; for (const one of rows) n++; return n === 3 && rows.map((r) => typeof r).join() === 'object,number,object'; },
				'is JSON': () => JSON.stringify(rows) === open_,
				'stays': () => throws(() => { rows[0] = 1; }) && throws(() => rows.push(1)) && throws(() => { rows[0].name = 'bob'; }) && throws(() => { rows[2].of[1].x = 1; }) && throws(() => { rows[2].of.push(1); }),
			});
		}
		const open_ = open('./rows.json');`, "rows.json", `[{"name":"ann"},7,{"of":[1,{"x":null}]}]`)
	target := newTarget(t, Config{Script: path})
	r, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 4, Iterations: 40})
	if err != nil || r.Completed != 40 {
		t.Errorf("%d of 40 completed: %v %v %v", r.Completed, r.Checks, r.Faults, err)
	}
	for _, c := range []struct{ make, want string }{
		{`new SharedArray('', () => [])`, "needs a name"},
		{`new SharedArray('a')`, `SharedArray "a" needs a function`},
		{`new SharedArray('a', () => 5)`, `function of SharedArray "a" returned no array`},
		{`new SharedArray('a', () => { throw new Error('no rows') })`, "no rows"},
	} {
		line := fmt.Sprintf("flow.js:%d:", 1+strings.Count(imports, "\n"))
		refuses(t, Config{Script: testenv.Files(t, "flow.js", imports+c.make+"\nexport default function () {}")}, c.want, line)
	}
}

func TestAbort(t *testing.T) {
	server := shop(t)
	t.Run("event loop", func(t *testing.T) { testAbort(t, server.URL) })
	t.Run("goroutines", func(t *testing.T) { testAbort(t, "") })
}

// abort ends the run, whatever else is under way; the script cannot catch it.
func testAbort(t *testing.T, url string) {
	for name, body := range map[string]string{
		"at once":    `exec.test.abort('enough')`,
		"caught":     `try { exec.test.abort('enough') } catch (e) {} finally { while (true) {} }`,
		"later":      `return new Promise((done) => later(() => { exec.test.abort('enough') }, 5))`,
		"in a check": `check(0, { a: () => exec.test.abort('enough') })`,
		"awaited":    `return (async () => { await 0; exec.test.abort('enough') })()`,
	} {
		path := testenv.Files(t, "flow.js", imports+"let keep = later; export default function () { if (__VU > 1) return later(() => {}, 1e6);\n"+body+"\n}")
		target := newTarget(t, Config{Script: path, URL: url})
		began := time.Now()
		r, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 2, Duration: time.Minute})
		if err != nil || r.Stopped != load.Aborted || r.Outage != "the script ended the run: enough" || r.Accounted() != r.Planned || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %v, %v, after %v", name, r, err, time.Since(began))
		}
	}
	target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", imports+"export function setup() { exec.test.abort() } export default function () {}")})
	if _, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 1, Iterations: 1}); err == nil || !strings.Contains(err.Error(), "the script ended the run") {
		t.Errorf("setup: %v", err)
	}
}

// What setup returns reaches callers as JSON, in which undefined is null; what JSON does not have ends the run.
func TestSetupData(t *testing.T) {
	for returned, want := range map[string]string{
		"{ a: undefined, b: [undefined, 1], c: { d: 'x' } }": `{"a":null,"b":[null,1],"c":{"d":"x"}}`,
		"undefined":             "undefined",
		"{ f: () => 1 }":        `!setup returns "() => 1" in "f", which JSON does not have`,
		"{ list: [1, 1 / 0] }":  `!setup returns "Infinity" in "1"`,
		"parseInt('no number')": `!setup returns "NaN" in ""`,
	} {
		target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", imports+"export function setup() { return "+returned+"; }\nexport default function (data) { check(0, { [JSON.stringify(data)]: () => true }); }")})
		r, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 1, Iterations: 1})
		if mistake, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), mistake) {
				t.Errorf("%s: %v, want %s", returned, err, mistake)
			}
		} else if err != nil || fmt.Sprint(r.Checks) != "[{"+want+" 1 0}]" {
			t.Errorf("%s: %v, %v, want %s", returned, r, err, want)
		}
	}
}

// fail has the run fail that goes on to its end, with the first reason.
func TestFail(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"iteration": {`export default function () { exec.test.fail('bad luck'); exec.test.fail('more'); }`, "the script marked the run as failed: bad luck"},
		"setup":     {`export function setup() { exec.test.fail() } export default function () {}`, "the script marked the run as failed"},
		"teardown":  {`export function teardown() { exec.test.fail(1); throw new Error('late') } export default function () {}`, "failed: 1\nteardown of "},
		"none":      {`export default function () {}`, ""},
	} {
		target := newTarget(t, Config{Script: testenv.Files(t, "flow.js", imports+c.script)})
		r, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 1, Iterations: 3})
		ended := fmt.Sprint(target.Close())
		if err != nil || r.Completed != 3 || c.want == "" && ended != "<nil>" || !strings.Contains(ended, c.want) {
			t.Errorf("%s: %v, %v; its end: %s", name, r, err, ended)
		}
	}
}

// With several generators each virtual user and each iteration has a number of its own.
func TestNumbersOfShares(t *testing.T) {
	path := testenv.Files(t, "flow.js", imports+`export default function () {
		check(0, { [[__VU, exec.vu.idInTest, exec.vu.idInInstance, exec.scenario.iterationInTest, exec.scenario.iterationInInstance].join()]: () => true });
	}`)
	for turn, want := range []string{"1,1,1,0,0", "2,2,1,1,0"} {
		target := newTargetIn(t, wire.Surroundings{Share: pace.Share{Turns: []int{turn}, Of: 2}}, Config{Script: path})
		r, err := load.Run(context.Background(), "script", target, load.Plan{VUs: 1, Iterations: 1})
		if err != nil || fmt.Sprint(r.Checks) != "[{"+want+" 1 0}]" {
			t.Errorf("%v, %v, want %s", r.Checks, err, want)
		}
	}
}

// Values that are formatted for a line may print lines themselves.
func TestPrintingPrints(t *testing.T) {
	path := testenv.Files(t, "flow.js", "export default function () { console.log({ toJSON() { console.log('inner'); return 'outer' } }) }")
	var out strings.Builder
	target := newTargetIn(t, wire.Surroundings{Console: &out}, Config{Script: path})
	wiretest.Run(t, target, load.Plan{VUs: 1, Iterations: 1})
	if want := "script: inner\nscript: \"outer\"\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// Callers that take more memory than they may end the run, with the line that they are at.
func TestMemory(t *testing.T) {
	server := shop(t)
	for engine, url := range map[string]string{"event loop": server.URL, "goroutines": ""} {
		for _, body := range []string{"const all = []; while (true) all.push('x'.repeat(1e3).repeat(100) + all.length)"} {
			path := testenv.Files(t, "flow.js", "export default function () {\n"+body+"\n}")
			target := newTarget(t, Config{Script: path, URL: url, VUMemory: 1 << 20})
			r := wiretest.Run(t, target, load.Plan{VUs: 1, Iterations: 1})
			ended := r.Stopped == load.Aborted && strings.Contains(r.Outage, "flow.js:2:") && strings.Contains(r.Outage, "--vu-memory")
			// A text too long for the interpreter is an exception before that.
			if thrown := len(r.Faults) > 0; !ended && !thrown {
				t.Errorf("%s, %s: stopped by %s: %s", engine, body, r.Stopped, r.Outage)
			}
		}
	}
}
