package script

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
)

// readOptionsOf reads a script with these options.
func readOptionsOf(t *testing.T, options string) *Target {
	t.Helper()
	return newTarget(t, Config{Script: testenv.Files(t, "flow.js", "export const options = "+options+";\nexport default function () {}")})
}

// Numbers may be text, as k6 reads them: __ENV has nothing else.
func TestNumbersAsText(t *testing.T) {
	for options, want := range map[string]string{
		`{ vus: '3', iterations: '7', maxRedirects: '2', rps: '5', batch: '4' }`:                                                    "3 7 2 5 4",
		`{ vus: '', iterations: 7.0 }`:                                                                                              "0 7 10 0 20",
		`{ scenarios: { s: { executor: 'per-vu-iterations', vus: '2', iterations: '3', env: { VUS: '10' } } } }`:                    "2 6 10 0 20",
		`{ scenarios: { s: { executor: 'constant-arrival-rate', rate: '5', preAllocatedVUs: '2', maxVUs: '6', duration: '1s' } } }`: "6 0 10 0 20",
		`{ stages: [{ duration: '1s', target: '4' }] }`:                                                                             "4 0 10 0 20",
	} {
		o := readOptionsOf(t, options).Options
		if got := fmt.Sprint(o.VUs, o.Iterations, o.Redirects, o.RequestsPerSec, o.Batch); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
}

// Options about connections, and mistakes in them.
func TestConnectingOptions(t *testing.T) {
	for options, want := range map[string]string{
		`{ tlsVersion: 'tls1.2' }`:                         "303 303",
		`{ tlsVersion: { min: 'tls1.1', max: 'tls1.3' } }`: "302 304",
		`{ tlsVersion: { min: 'tls1.2' } }`:                "303 0",
		`{ tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'] }`: "0 0 c02b",
	} {
		c := readOptionsOf(t, options).tls
		got := fmt.Sprintf("%x %x", c.MinVersion, c.MaxVersion)
		for _, suite := range c.CipherSuites {
			got += fmt.Sprintf(" %x", suite)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
	for options, want := range map[string]string{
		`{ tlsVersion: 'tls1.4' }`:                    `options.tlsVersion is "tls1.4"; expected tls1.0,`,
		`{ tlsCipherSuites: ['TLS_NONE'] }`:           `options.tlsCipherSuites has "TLS_NONE"`,
		`{ dns: { select: 'last', policy: 'IPv5' } }`: `select is "last"; expected first, random or roundRobin`,
		`{ dns: { ttl: 'long' } }`:                    `ttl is "long"`,
		`{ blacklistIPs: ['10.0.0.0/99'] }`:           `has "10.0.0.0/99"; expected addresses and ranges`,
		`{ blockHostnames: ['a.*.example'] }`:         `has "a.*.example"; expected names, with a * at their beginning only`,
		`{ hosts: { 'a*': '10.0.0.1' } }`:             `has "a*"; expected names`,
		`{ executionSegment: '0:1/2' }`:               `options.executionSegment is not possible: contend fleet`,
		`{ vus: 1.5 }`:                                `options.vus is 1.5; expected a whole number`,
	} {
		refuses(t, Config{Script: testenv.Files(t, "flow.js", "export const options = "+options+";\nexport default function () {}")}, want, "flow.js:1: ")
	}
}

// Where connections lead: hosts, names and addresses that options refuse, and addresses of names.
func TestWhere(t *testing.T) {
	for _, c := range []struct{ options, ask, want string }{
		{`{ hosts: { 'a.example': '10.0.0.1', '*.example': '10.0.0.2', 'a.example:81': '10.0.0.3:82' } }`, "a.example:80", "10.0.0.1:80"},
		{`{ hosts: { 'a.example': '10.0.0.1', '*.example': '10.0.0.2', 'a.example:81': '10.0.0.3:82' } }`, "a.example:81", "10.0.0.3:82"},
		{`{ hosts: { 'a.example': '10.0.0.1', '*.example': '10.0.0.2' } }`, "b.example:80", "10.0.0.2:80"},
		{`{ hosts: { '*': '10.0.0.1', '*.example': '10.0.0.2' } }`, "example:80", "10.0.0.1:80"},
		{`{ blockHostnames: ['*.ads.example'] }`, "x.ADS.example:80", "hostname is blocked"},
		{`{ blockHostnames: ['*.ads.example'] }`, "ads.example:80", "ads.example:80"},
		{`{ blockHostnames: ['*.0.0.1'] }`, "127.0.0.1:80", "127.0.0.1:80"}, // is no name
		{`{ blacklistIPs: ['10.0.0.0/8'] }`, "10.1.2.3:80", "ip is blacklisted"},
		{`{ blacklistIPs: ['10.0.0.0/8', '::1'] }`, "[::1]:80", "ip is blacklisted"},
		{`{ blacklistIPs: ['10.0.0.0/8'], hosts: { a: '10.0.0.1' } }`, "a:80", "ip is blacklisted"},
		{`{}`, "a.example:80", "a.example:80"}, // the system chooses among its addresses
		{`{ dns: { ttl: '1m', select: 'random' } }`, "127.0.0.1:80", "127.0.0.1:80"},
	} {
		got, err := readOptionsOf(t, c.options).where(t.Context(), c.ask)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s leads to %q, want %q", c.options, c.ask, got, c.want)
		}
	}
}

// Which of the addresses of a name is taken.
func TestAddressesOfNames(t *testing.T) {
	v4, v6 := "127.0.0.1", "::1"
	for how, want := range map[naming]string{
		{policy: "onlyIPv4"}: v4, {policy: "onlyIPv6"}: v6, {policy: "preferIPv4"}: v4, {policy: "preferIPv6"}: v6, {policy: "any"}: v6 + " " + v4,
	} {
		list := parsedAddresses(t, v6, v4)
		if got := strings.Trim(fmt.Sprint(how.allowed(list)), "[]"); got != want {
			t.Errorf("%s: %s, want %s", how.policy, got, want)
		}
	}
	if got := fmt.Sprint(naming{policy: "preferIPv4"}.allowed(parsedAddresses(t, v6))); got != "[::1]" {
		t.Errorf("%s: an address is left out that is the only one", got)
	}
	n := named{all: map[string]*addresses{"a": {list: parsedAddresses(t, v6, v4), until: time.Now().Add(time.Hour)}}}
	for i, want := range []string{v6, v4, v6} {
		if got, err := n.find(t.Context(), naming{choice: "roundRobin"}, "a"); err != nil || got.String() != want {
			t.Errorf("%d: %v %v, want %s", i, got, err, want)
		}
	}
}

// A refused address is a request without a response, as in k6, and the script goes on.
func TestRefusedAddresses(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		server := shop(t)
		for options, want := range map[string]string{`blacklistIPs: ['127.0.0.0/8']`: "0 1110 ip is blacklisted", `blockHostnames: ['*.example'], hosts: { 'a.example': '127.0.0.1' }`: "0 1111 hostname is blocked"} {
			path := testenv.Files(t, "flow.js", fmt.Sprintf(`import http from 'k6/http'; import { check } from 'k6';
				export const options = { %s };
				export default function () { const r = http.get('%s/echo'); check(r, { [r.status + ' ' + r.error_code + ' ' + r.error]: () => true }); }`, options,
				map[bool]string{true: server.URL, false: "http://a.example"}[strings.HasPrefix(options, "black")]))
			if r := drive(Config{Script: path, URL: server.URL}, 1); len(r.Checks) != 1 || r.Checks[0].Name != want {
				t.Errorf("%s: %+v %v, want %s", options, r.Checks, r.Errored, want)
			}
		}
	})
}

// An iteration takes as long as it is asked to, but what is measured of it does not.
func TestLeastIteration(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		t.Parallel()
		server := shop(t)
		path := testenv.Files(t, "flow.js", `import http from 'k6/http';
			export const options = { minIterationDuration: '150ms', thresholds: { iteration_duration: ['max>=0'] } };
			export default function () { http.get(__ENV.BASE_URL + '/echo'); }`)
		r := drive(Config{Script: path, URL: server.URL}, 3)
		if least := 2 * 150 * time.Millisecond; r.Duration < least {
			t.Errorf("3 iterations took %v, want %v at least", r.Duration, least)
		}
	})
}

// Options leave setup and teardown out.
func TestNoSetup(t *testing.T) {
	for options, want := range map[string]int64{"{}": 3, "{ noSetup: true }": 2, "{ noTeardown: true }": 2, "{ noSetup: false, noTeardown: true }": 2} {
		asked := make(chan string, 10)
		counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
		path := testenv.Files(t, "flow.js", `import http from 'k6/http';
			export const options = `+options+`;
			export function setup() { http.get(__ENV.BASE_URL + '/setup'); }
			export default function () { http.get(__ENV.BASE_URL + '/iteration'); }
			export function teardown() { http.get(__ENV.BASE_URL + '/teardown'); }`)
		drive(t, Config{Script: path, URL: counting.URL}, 1, true)
		if counting.Close(); int64(len(asked)) != want {
			t.Errorf("%s: %d requests, want %d", options, len(asked), want)
		}
	}
}

// The handshake is as options say.
func TestTLSVersionIsSent(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, tls.VersionName(r.TLS.Version)) }))
	defer server.Close()
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export const options = { insecureSkipTLSVerify: true, tlsVersion: 'tls1.2' };
		export default function () { const r = http.get(__ENV.BASE_URL); check(r, { [r.body]: () => true }); }`)
	if r := drive(t, Config{Script: path, URL: server.URL}, 1, true); len(r.Checks) != 1 || r.Checks[0].Name != "TLS 1.2" {
		t.Errorf("%+v %v %v", r.Checks, r.Errored, r.Examples)
	}
}

// exec.test.options has the run as scenarios, as in k6.
func TestTestOptions(t *testing.T) {
	const ask = "JSON.stringify(exec.test.options.scenarios)"
	nulls := `"exec":null,"executor":"%s","gracefulStop":null,`
	for _, c := range []struct{ options, ask, want string }{
		{`{ vus: 2, iterations: 4 }`, ask, `{"default":{"env":null,` + fmt.Sprintf(nulls, "shared-iterations") + `"iterations":4,"maxDuration":null,"startTime":null,"tags":null,"vus":2}}`},
		{`{ vus: 2, duration: '70s' }`, ask, `{"default":{"duration":"1m10s","env":null,` + fmt.Sprintf(nulls, "constant-vus") + `"startTime":null,"tags":null,"vus":2}}`},
		{`{ stages: [{ duration: '1s', target: 3 }] }`, "exec.test.options.scenarios.default.stages[0].target", "3"},
		{`{ scenarios: { s: { executor: 'constant-vus', vus: 3, duration: '1s' } } }`, "exec.test.options.scenarios.s.vus + ' ' + exec.test.options.scenarios.s.exec", "3 null"},
		{`{ thresholds: { http_reqs: ['count>0'] } }`, "exec.test.options.thresholds.http_reqs[0]", "count>0"},
		{`{ vus: 5 }`, "[typeof exec.test.options.vus, exec.test.options.rps, exec.test.options.dns.ttl, Object.isFrozen(exec.test.options.scenarios)]", "undefined,,,true"},
		{`{ batch: '3', Tags: { a: 'b' } }`, "[typeof exec.test.options.batch, exec.test.options.tags.a, exec.test.options.summaryTrendStats, exec.test.options.systemTags[0]]", "number,b,avg,min,med,max,p(90),p(95),check"},
	} {
		path := testenv.Files(t, "flow.js", `import exec from 'k6/execution'; import { check } from 'k6';
			export const options = `+c.options+`;
			export default function () { check(0, { [String(`+c.ask+`)]: () => true }); }`)
		shows(t, drive(t, Config{Script: path}, 1, true), c.options, c.want, 1)
	}
	target := readOptionsOf(t, `{ vus: 2, iterations: 4 }`)
	target.Follow(load.Plan{VUs: 7, Duration: time.Second})
	if got := target.derived(); got["vus"] != 7 || got["executor"] != "constant-vus" {
		t.Errorf("%v are options of a run whose flags say 7 callers for a second", got)
	}
}

// The numbers after randomSeed are those of k6.
func TestRandomSeed(t *testing.T) {
	path := testenv.Files(t, "flow.js", `import { check, randomSeed } from 'k6';
		export default function () { randomSeed(42); const got = Math.random().toFixed(3); check(0, { [got]: () => true }); }`)
	shows(t, drive(t, Config{Script: path}, 1, true), "randomSeed(42)", "0.373", 1)
}

func parsedAddresses(t *testing.T, texts ...string) (all []netip.Addr) {
	t.Helper()
	for _, text := range texts {
		ip, err := netip.ParseAddr(text)
		testenv.Must(t, err)
		all = append(all, ip)
	}
	return all
}
