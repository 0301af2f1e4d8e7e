package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// The tests of this file check every figure that a script and its thresholds can have with every engine, with TLS and
// without: what the script gets of answers and what it counts is the same, and its bytes are what the server counted;
// times have lower bounds, which the server plants, and the fastest request has an upper one.

// A figuresWay is one way to drive a script.
type figuresWay struct {
	name       string
	server     wiretest.Figures
	goroutines bool
	proto, tls string // as answers have them
}

func figuresWays() []*figuresWay {
	return []*figuresWay{
		{name: "by default", proto: "HTTP/1.1"},
		{name: "by goroutines", goroutines: true, proto: "HTTP/1.1"},
		{name: "over TLS", server: wiretest.Figures{Secure: true}, proto: "HTTP/1.1", tls: "tls1.3"},
		{name: "in HTTP/2", server: wiretest.Figures{Secure: true, Streams: true}, proto: "HTTP/2.0", tls: "tls1.3"},
	}
}

// drive runs a script by one virtual user, and returns what it tells the server.
func (w *figuresWay) drive(t *testing.T, script string, iterations int64, env ...string) (*Target, *load.Result, string) {
	t.Helper()
	url := w.server.Serve(t)
	c := Config{Script: testenv.Files(t, "figures.js", script), URL: url, Env: append(env, "PROTO="+w.proto)}
	if w.goroutines {
		c.Engine = "goroutines"
	}
	target := newTarget(t, c)
	r := wiretest.Run(t, target, load.Plan{VUs: 1, Iterations: iterations})
	testenv.Must(t, target.Close())
	load.Settle(target, r)
	if loops, _ := target.Loops(1); w.goroutines && r.Engine != load.Goroutines || loops > 0 && r.Engine == load.Goroutines {
		t.Errorf("%s: %s drove", w.name, r.Engine)
	}
	told, _ := w.server.Told.Load().(string)
	return target, r, told
}

const figuresScript = `import http from 'k6/http'; import { check } from 'k6'; import { Counter } from 'k6/metrics';
	const u = __ENV.BASE_URL, mine = new Counter('mine');
	export const options = { insecureSkipTLSVerify: true, thresholds: { checks: ['rate==1'], 'checks{never:yes}': ['rate>0.99'], http_reqs: ['count==27'],
		'http_reqs{group:::setup}': ['count==1'], 'http_reqs{group:::teardown}': ['count==1'], 'http_req_failed{status:503}': ['rate==1'],
		['http_reqs{proto:' + __ENV.PROTO + '}']: ['count>20'], mine: ['count==113'],
		data_sent: ['count>15000'], data_received: ['count>1000'], http_req_waiting: ['p(95)>0'], http_req_blocked: ['max>0'] } };
	export function setup() { http.get(u + '/right'); mine.add(10); }
	export default function () {
		const all = [http.get(u + '/right?a=b'), http.get(u + '/wrong'), http.post(u + '/echo', 'x'.repeat(5000)), http.get(u + '/none'), http.head(u + '/right'),
			http.get(u + '/right', { responseType: 'none' }), http.post(u + '/cut', 'x', { headers: { 'X-Own': 'own' } }), http.get(u + '/right', { responseType: 'binary' })];
		check(all, { all: (all) => all[0].json('right') && all[1].status === 503 && all[5].body === null && all[6].status === 0 && all[7].body.byteLength === 14 });
		mine.add(1);
		const told = all.map((r) => [r.status, r.status_text, r.body, r.headers, r.cookies, r.url, r.remote_ip, r.error !== '', { ...r.request, body: r.request.body.length }]);
		const versions = all.filter((r) => r.error === '').map((r) => [r.proto, r.tls_version, r.tls_cipher_suite !== ''].join());
		if (__ITER === 0) http.post(u + '/told', [...new Set(versions)].join(' ') + '\n' + JSON.stringify(told).replaceAll(u, 'URL'));
	}
	export function teardown() { http.get(u + '/right'); mine.add(100); }`

// countsOf is what a script counts, by metric: sums, rates, and how many values trends have.
func countsOf(r *load.Result) map[string]string {
	all := map[string]string{"iterations of the result": fmt.Sprint(r.Planned, r.Completed, r.Failed, r.Errored, r.BodyIn, r.Statuses, r.Checks, r.Connect != nil)}
	for name, one := range r.Requests {
		all["request "+name] = fmt.Sprint(one.Completed, one.Failed, one.Errored, one.Service.Count())
	}
	for _, m := range r.Meters {
		all[m.Name] = fmt.Sprint(m.Kind, m.Sum, m.Nonzero, m.Total, m.Trend.Count())
	}
	return all
}

// What a script gets, what it counts and what its thresholds decide is the same, whatever drives it.
func TestFigures(t *testing.T) {
	var told []any
	var counted map[string]string
	for _, w := range figuresWays() {
		target, r, text := w.drive(t, figuresScript, 3)
		versions, text, _ := strings.Cut(text, "\n")
		var answers []any // whose fields have no order
		testenv.Must(t, json.Unmarshal([]byte(text), &answers))
		if told == nil {
			told = answers
		}
		for i, answer := range answers {
			if !reflect.DeepEqual(answer, told[i]) {
				t.Errorf("%s a script is told %v, by default %v", w.name, answer, told[i])
			}
		}
		if answered := fmt.Sprintf("%s,%s,%v", w.proto, w.tls, w.tls != ""); versions != answered {
			t.Errorf("%s the versions are %q, want %q", w.name, versions, answered)
		}
		for _, claim := range target.Options.Thresholds {
			if held, detail := claim.parsed.Check(r); !held {
				t.Errorf("%s %s: %s", w.name, claim.Claim, detail)
			}
		}
		w.sameBytes(t, r)
		counts := countsOf(r)
		if counted == nil {
			counted = counts
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if counts[name] == counted[name] || strings.Contains(name, "{proto") {
				continue
			}
			if ofTLS := w.tls != "" && slices.Contains([]string{"data_sent", "data_received", "iterations of the result"}, name); !ofTLS {
				t.Errorf("%s %s: %s, by default %s", w.name, name, counts[name], counted[name])
			}
		}
	}
}

// sameBytes wants the bytes that the server counted. Either side may say goodbye by TLS and HTTP/2 when the other no
// longer counts, on at most eight connections.
func (w *figuresWay) sameBytes(t *testing.T, r *load.Result) {
	t.Helper()
	sent, received := r.Meter("data_sent").Sum, r.Meter("data_received").Sum
	same := !w.server.Secure && w.server.Counted(int64(sent), int64(received), 0)
	came, went := float64(w.server.BelowCame.Load()), float64(w.server.BelowWent.Load())
	if w.server.Secure {
		const goodbye = 8 * 100
		same = math.Abs(came-sent) <= goodbye && math.Abs(went-received) <= goodbye
	}
	if !same {
		t.Errorf("%s data_sent %v, data_received %v; the server read %v and wrote %v", w.name, sent, received, came, went)
	}
}

// The version is the response's, also an old one.
func TestProto(t *testing.T) { engines(t, testProto) }

func testProto(t *testing.T, drive func(Config, int64) *load.Result) {
	address := wiretest.Listen(t, wiretest.AfterRead(wiretest.Then("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", func(net.Conn) {})))
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export default function () { check(http.get(__ENV.BASE_URL), { old: (r) => r.proto === 'HTTP/1.0' && r.body === 'ok' }); }`)
	if r := drive(Config{Script: path, URL: "http://" + address}, 3); r.Completed != 3 {
		t.Errorf("%d of 3 completed: %v %+v", r.Completed, r.Errored, r.Faults)
	}
}

const otherScript = `import http from 'k6/http'; import ws from 'k6/ws'; import grpc from 'k6/net/grpc';
	const client = new grpc.Client(), u = __ENV.BASE_URL;
	export default function () {
		http.get(u + '/right');
		ws.connect('ws://' + __ENV.SOCKETS + '/ws', (socket) => {
			socket.on('open', () => socket.send('x'.repeat(5000)));
			socket.on('message', () => socket.close());
		});
		client.connect(__ENV.CALLS, { plaintext: true, reflect: true });
		for (let i = 0; i < 10; i++) client.invoke('counter.incrementCounter/increment', { value: i });
		client.close();
	}`

// Bytes are those of all connections, including WebSockets and gRPC. The goodbyes of either side may come when the
// iteration is over.
func TestFiguresOfOthers(t *testing.T) {
	for _, goroutines := range []bool{false, true} {
		w := figuresWay{goroutines: goroutines}
		calls, sockets := listenOn(t, w.server.Listen(t), newCounter()), w.server.Listen(t)
		t.Cleanup(wiretest.Serve(sockets, serveSockets))
		_, r, _ := w.drive(t, otherScript, 3, "CALLS="+calls, "SOCKETS="+sockets.Addr().String())
		sent, received := int64(r.Meter("data_sent").Sum), int64(r.Meter("data_received").Sum)
		if sent < 3*5000 || received < 3*5000 || !w.server.Counted(sent, received, 3*500) || r.Completed != 3 {
			t.Errorf("goroutines %v: data_sent %d, data_received %d; the servers read %d and wrote %d; %d of 3 completed", goroutines, sent, received,
				w.server.Came.Load(), w.server.Went.Load(), r.Completed)
		}
	}
}

const timesScript = `import http from 'k6/http';
	const u = __ENV.BASE_URL, large = 'x'.repeat(1e3).repeat(12e3), all = [];
	export const options = { insecureSkipTLSVerify: true, discardResponseBodies: true, thresholds: { 'http_req_waiting{name:slow}': ['max>=40'],
		'http_req_receiving{name:slow}': ['max>25'], 'http_req_duration{name:slow}': ['min>=70'], 'http_req_sending{name:upload}': ['min>=60'], http_req_connecting: ['max>0'] } };
	export default function () {
		all.push(http.get(u + '/slow', { tags: { name: 'slow' } }).timings, http.post(u + '/upload', large, { tags: { name: 'upload' } }).timings);
		if (__ITER === 3) http.post(u + '/told', JSON.stringify(all));
	}`

// timings are those of a response.
type timings struct {
	Blocked, Connecting, Duration, Sending, Waiting, Receiving float64
	Handshaking                                                float64 `json:"tls_handshaking"`
}

// The times that a script gets, and its thresholds, are what the server planted, whatever drives it.
func TestFiguresOfTimes(t *testing.T) {
	for _, w := range figuresWays() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel() // each waits for what is planted
			for began := time.Now(); ; {
				late := w.drivenInTime(t)
				if late != "" && !t.Failed() && time.Since(began) < testenv.Patience {
					continue
				}
				if late != "" {
					t.Errorf("%s %s", w.name, late)
				}
				return
			}
		})
	}
}

// drivenInTime has a script drive a server of its own, and says what took longer than was planted.
func (w *figuresWay) drivenInTime(t *testing.T) (late string) {
	target, r, told := (&figuresWay{w.name, wiretest.Figures{Secure: w.server.Secure, Streams: w.server.Streams}, w.goroutines, w.proto, w.tls}).drive(t, timesScript, 4)
	var all []timings
	if err := json.Unmarshal([]byte(told), &all); err != nil {
		t.Fatalf("%s: %v in %q", w.name, err, told)
	}
	late = w.timely(t, all)
	for _, claim := range target.Options.Thresholds {
		if held, detail := claim.parsed.Check(r); !held && strings.Contains(claim.Claim, "max") { // what is sent or read late is shorter
			late = claim.Claim + ": " + detail
		} else if !held {
			t.Errorf("%s %s: %s", w.name, claim.Claim, detail)
		}
	}
	return late
}

// timely checks the lower bounds of times, by turns of a slow answer and of an upload, and says which are too long in
// each of them: more than 5 ms beyond what was planted. A server begins what it planted as soon as it has the connection
// or the request, which a thread that must wait for a CPU notices later: so bounds are those of both times together.
func (w *figuresWay) timely(t *testing.T, all []timings) (late string) {
	t.Helper()
	first, last := milliseconds(wiretest.PlantedFirst), milliseconds(wiretest.PlantedLast)
	handshake := 0.0
	if w.server.Secure {
		handshake = milliseconds(wiretest.PlantedHandshake)
	}
	least := timings{Blocked: 1e9, Sending: 1e9, Waiting: 1e9, Receiving: 1e9, Duration: 1e9}
	for i, one := range all {
		if sum := one.Sending + one.Waiting + one.Receiving; sum < one.Duration-0.001 || sum > one.Duration+0.001 {
			t.Errorf("%s the parts of %+v are %v together", w.name, one, sum)
		}
		if opens := i == 0; opens != (one.Connecting > 0) || one.Blocked < one.Connecting+one.Handshaking || opens && one.Connecting+one.Handshaking < handshake || one.Handshaking > 0 && !(opens && w.server.Secure) {
			t.Errorf("%s request %d: %+v; a handshake takes %v", w.name, i, one, handshake)
		}
		if slow := i%2 == 0; slow && (one.Sending+one.Waiting < first || one.Duration < first+last) || !slow && one.Sending < milliseconds(wiretest.PlantedUpload) {
			t.Errorf("%s request %d: %+v; planted %v, %v, or %v for an upload", w.name, i, one, first, last, wiretest.PlantedUpload)
		} else if slow && i > 0 {
			least = timings{Blocked: min(least.Blocked, one.Blocked), Sending: min(least.Sending, one.Sending), Waiting: min(least.Waiting, one.Waiting),
				Receiving: min(least.Receiving, one.Receiving), Duration: min(least.Duration, one.Duration)}
		}
	}
	if least.Blocked > 5 || least.Sending > 5 || least.Waiting > first+5 || least.Receiving > last+5 || least.Duration > first+last+5 {
		return fmt.Sprintf("the shortest times of a slow answer are %+v; planted %v and %v", least, first, last)
	}
	return ""
}
