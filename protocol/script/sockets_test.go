package script

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"go.uber.org/goleak"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
	"contend/websocket/websockettest"
)

// socketServer accepts any handshake, and serves HTTP on other paths than /ws. It answers messages, and does
// what some of them ask for.
func socketServer(t testing.TB) string {
	return wiretest.Listen(t, serveSockets)
}

func serveSockets(conn net.Conn) {
	from := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		switch r.URL.Path {
		case "/ws":
			serveSocket(conn, from, r)
			return
		case "/refused":
			fmt.Fprint(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno no")
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\n\r\nok")
	}
}

func serveSocket(conn net.Conn, from *bufio.Reader, r *http.Request) {
	both := bufio.NewReadWriter(from, bufio.NewWriter(conn))
	_, _, _, _ = ws.HTTPUpgrader{Protocol: func(p string) bool { return p == "two" }}.Upgrade(r, hijacked{conn, both}) // its error is the next one's
	for {
		text, op, err := wsutil.ReadClientData(buffered{from, conn})
		if err != nil {
			return
		}
		switch string(text) {
		case "header":
			text = fmt.Appendf(nil, "%s|%s|%s", r.Header.Get("Cookie"), r.UserAgent(), r.Header.Get("X-A"))
		case "goodbye":
			_ = ws.WriteFrame(conn, ws.NewCloseFrame(ws.NewCloseFrameBody(4001, "enough")))
			continue
		case "ping":
			_ = ws.WriteFrame(conn, ws.NewPingFrame([]byte("p")))
			continue
		case "break":
			return
		}
		if wsutil.WriteServerMessage(conn, op, text) != nil {
			return
		}
	}
}

type buffered struct {
	from *bufio.Reader
	net.Conn
}

func (b buffered) Read(p []byte) (int, error) { return b.from.Read(p) }

// hijacked is a ResponseWriter of a connection.
type hijacked struct {
	conn net.Conn
	both *bufio.ReadWriter
}

func (hijacked) Header() http.Header                            { return http.Header{} }
func (hijacked) Write(p []byte) (int, error)                    { return len(p), nil }
func (hijacked) WriteHeader(int)                                {}
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.both, nil }

// A socketCase is the body of a script; cause is what makes its iterations wrong or err, "": nothing does.
type socketCase struct{ name, body, cause string }

func testSockets(t *testing.T, cases []socketCase) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		address := socketServer(t)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				path := testenv.Files(t, "flow.js", `import ws from 'k6/ws'; import { Blob, WebSocket } from 'k6/websockets'; import http from 'k6/http'; import { check } from 'k6';
					export const options = { userAgent: 'me', hosts: { 'shop.example': '127.0.0.1' } };
					const u = __ENV.BASE_URL.replace('http', 'ws');
					const assert = (ok, what) => { if (!ok) throw new Error('not so: ' + what); };
					let keep = [ws, Blob, WebSocket, http, check, u, assert];
					export default function () {
						`+c.body+`
					}`)
				r := drive(Config{Script: path, URL: "http://" + address}, 2)
				got := ""
				for _, f := range r.Faults {
					got += f.Cause() + " " + f.Example
				}
				for kind := range r.Errored {
					got += string(kind)
				}
				if c.cause == "" && r.Completed != 2 || !strings.Contains(got, c.cause) || r.Accounted() != 2 {
					t.Errorf("%d completed, %q, want %q", r.Completed, got, c.cause)
				}
			})
		}
	})
}

func TestWS(t *testing.T) {
	testSockets(t, []socketCase{
		{"echo", `http.get(__ENV.BASE_URL + '/');
			const seen = [];
			const r = ws.connect(u + '/ws', { headers: { 'X-A': '1', 'Sec-WebSocket-Protocol': 'one, two' } }, (s) => {
				s.on('open', () => { s.send('header'); s.sendBinary(new Uint8Array([1, 2, 3]).subarray(1)); s.send('ping'); s.ping(); });
				s.on('message', (m) => seen.push(m));
				s.on('binaryMessage', (m) => seen.push(m.byteLength));
				s.on('ping', () => seen.push('ping'));
				s.on('pong', () => { seen.push('pong'); s.setTimeout(() => s.close(), 1); });
				s.on('close', (code) => seen.push(code));
			});
			assert(r.status === 101 && r.headers['Sec-Websocket-Protocol'] === 'two' && r.error === '', JSON.stringify(r));
			assert(seen.join() === 'a=b|me|1,2,ping,pong,1001', seen.join());`, ""},
		{"goodbye of the server", `const seen = [];
			ws.connect(u + '/ws', (s) => { s.on('open', () => s.send('goodbye')); s.on('error', (e) => seen.push(e.error())); s.on('close', (c) => seen.push(c)); s.setInterval(() => {}, 1); });
			assert(seen.join() === 'websocket: close 4001: enough,4001', seen.join());`, ""},
		{"after the close", `const seen = [];
			ws.connect(u + '/ws', (s) => { s.on('error', (e) => seen.push(e.error())); s.close(); s.close(); s.send('x'); s.setTimeout(() => seen.push('late'), 1); s.on('open', () => seen.push('open')); });
			assert(seen.join() === 'websocket: close sent', seen.join());`, ""},
		{"refused", `const r = ws.connect(u + '/refused', {}, () => { throw new Error('called'); });
			assert(r.status === 403 && r.body === 'no no', JSON.stringify(r));`, "status 403"},
		{"nobody", `const r = ws.connect('ws://127.0.0.1:1/ws', {}, () => {}); assert(r.status === 0 && r.error !== '', JSON.stringify(r));`, "refused"},
		{"broken off", `const seen = []; ws.connect(u + '/ws', {}, (s) => { s.on('open', () => s.send('break')); s.on('close', (c) => seen.push(c)); }); assert(seen[0] === 1006, seen);`, "closed"},
		{"a handler throws", `const seen = []; try { ws.connect(u + '/ws', {}, (s) => { s.on('open', () => { throw new Error('oh'); }); s.on('close', (c) => seen.push(c)); }); } catch (e) { seen.push(e.message); } assert(seen.join() === '1001,oh', seen);`, ""},
		{"a timer throws", `ws.connect(u + '/ws', {}, (s) => { s.setTimeout(() => { throw new Error('tick'); }, 1); });`, "flow.js:7"},
		{"event", `ws.connect(u + '/ws', {}, (s) => { s.on('opened', () => {}); s.on('open', 5); s.close(); });`, ""},
		{"param", `ws.connect(u + '/ws', { header: {} }, (s) => s.close());`, ""},
		{"header", `ws.connect(u + '/ws', { headers: { Upgrade: 'x' } }, () => {});`, "header Upgrade is the handshake's own"},
		{"URL", `const r = ws.connect('http://localhost/', {}, () => {}); assert(r.status === 0 && r.error.includes('not a WebSocket URL'), r.error);`, "flow.js:7:"},
		{"compression", `ws.connect(u + '/ws', { compression: 'gzip' }, () => {});`, "expected deflate"},
		{"compression that is declined", `ws.connect(u + '/ws', { compression: 'deflate' }, (s) => { s.on('open', () => s.close()); });`, ""},
		{"no function", `ws.connect(u + '/ws');`, "needs a URL and a function"},
		{"timeout of nothing", `ws.connect(u + '/ws', {}, (s) => s.setTimeout(() => {}, 0));`, "more than 0 ms"},
		{"hosts", `ws.connect(u.replace('127.0.0.1', 'shop.example') + '/ws', {}, (s) => s.close());`, ""},
	})
}

func TestWebSockets(t *testing.T) {
	testSockets(t, []socketCase{
		{"echo", `const seen = [];
			const w = new WebSocket(u + '/ws', ['one', 'two'], { tags: { name: 'talk' } });
			assert(w.readyState === WebSocket.CONNECTING && w.url === u + '/ws' && w.binaryType === 'blob', w.readyState);
			w.binaryType = 'arraybuffer';
			w.onopen = () => { assert(w.readyState === w.OPEN && w.protocol === 'two', w.protocol); w.send('a'); w.send(new Uint16Array([1, 2])); w.ping(); w.send('ping'); };
			w.addEventListener('message', (e) => { assert(e.target === w && e.type === 'message', e.type); seen.push(e.data.byteLength || e.data); });
			w.onpong = () => seen.push('pong');
			w.onping = () => { seen.push('ping'); http.get(__ENV.BASE_URL + '/'); w.close(4000, 'done'); assert(w.readyState === WebSocket.CLOSING, w.readyState); };
			w.onclose = (e) => { seen.push(e.code); assert(w.readyState === WebSocket.CLOSED && w.bufferedAmount === 0, JSON.stringify(e)); assert(seen.join() === 'a,4,pong,ping,4000', seen); };`, ""},
		{"closed early", `const w = new WebSocket(u + '/ws'); w.onopen = () => { throw new Error('opened'); }; w.onclose = (e) => assert(e.code === 1000, e.code); w.close();`, ""},
		{"several", `let n = 0; const all = []; for (let i = 0; i < 3; i++) { const w = new WebSocket(u + '/ws'); all.push(w); w.onopen = () => w.send('x'); w.onmessage = () => { if (++n === 3) setTimeout(() => all.forEach((w) => w.close()), 2); }; w.onclose = () => assert(n === 3, n); }`, ""},
		{"refused", `const w = new WebSocket(u + '/refused'); let error; w.onerror = (e) => { error = e.error; }; w.onclose = (e) => assert(error && e.code === 1006, error);`, "status 403"},
		{"nobody", `new WebSocket('ws://127.0.0.1:1/');`, "refused"},
		{"broken off", `const w = new WebSocket(u + '/ws'); w.onopen = () => w.send('break');`, "closed"},
		{"goodbye of the server", `const w = new WebSocket(u + '/ws'); w.onopen = () => w.send('goodbye'); w.onclose = (e) => assert(e.code === 4001 && e.reason === 'enough', e.code);`, ""},
		{"a handler throws", `const w = new WebSocket(u + '/ws'); w.onopen = () => { throw new Error('oh'); };`, "oh"},
		{"blob", `const w = new WebSocket(u + '/ws'); w.onopen = () => w.send(new Blob(['ab', new Uint8Array([99]), new Blob(['d'])], { type: 'Text/Plain' }));
			assert(new Blob([], { type: 'A' }).type === 'A', 'type'); w.onmessage = async (e) => { const b = e.data; assert(b instanceof Blob && b.size === 4 && b.type === '' && await b.text() === 'abcd', b.size);
				const part = b.slice(-3, 3, 'X'); assert(part.type === 'X' && (await part.arrayBuffer()).byteLength === 2 && (await part.bytes())[1] === 99, part.size); w.close(); };`, ""},
		{"too early", `const w = new WebSocket(u + '/ws'); w.send('x');`, "InvalidStateError"},
		{"nothing to send", `const w = new WebSocket(u + '/ws'); w.onopen = () => w.send();`, "send takes text"},
		{"close code", `const w = new WebSocket(u + '/ws'); w.onopen = () => w.close(5);`, "3000 to 4999"},
		{"event", `const w = new WebSocket(u + '/ws'); w.addEventListener('opened', () => {}); w.onopen = () => w.close();`, ""},
		{"binary type", `new WebSocket(u + '/ws').binaryType = 'text';`, "expected arraybuffer, blob"},
		{"subprotocol", `new WebSocket(u + '/ws', 'a b');`, "which is not a token"},
		{"fragment", `new WebSocket(u + '/ws#a');`, "not a WebSocket URL"},
		{"param", `new WebSocket(u + '/ws', null, { header: {} });`, "params.header is not known: did you mean headers?"},
	})
}

// A ping and a close of a WebSocket count among the messages that were sent, as in k6.
func TestWebSocketsCountWhatTheySend(t *testing.T) {
	path := testenv.Files(t, "flow.js", `import { WebSocket } from 'k6/websockets';
		export default function () {
			const w = new WebSocket(__ENV.BASE_URL.replace('http', 'ws') + '/ws');
			w.onopen = () => { w.send('a'); w.send('b'); w.ping(); };
			w.onpong = () => w.close();
		}`)
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		if m := drive(Config{Script: path, URL: "http://" + socketServer(t)}, 3).Meter("ws_msgs_sent"); m == nil || m.Sum != 12 {
			t.Errorf("ws_msgs_sent is %+v, want 12", m)
		}
	})
}

// The end of a run closes sockets at once, whatever the server does, and nothing is left of them.
func TestSocketsEndless(t *testing.T) {
	address := socketServer(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, body := range []string{
		`ws.connect(u, {}, () => {});`,
		`ws.connect(u, {}, (s) => s.setInterval(() => s.send('x'), 1));`,
		`ws.connect(u, {}, (s) => { s.on('message', () => s.send('x')); s.send('x'); });`,
		`new WebSocket(u);`,
		`const w = new WebSocket(u); w.onopen = () => setInterval(() => w.send('x'), 1);`,
	} {
		for _, base := range []string{"", "http://" + address} {
			path := testenv.Files(t, "flow.js", `import ws from 'k6/ws'; import { WebSocket } from 'k6/websockets'; let keep = [ws, WebSocket];
				const u = 'ws://' + __ENV.AT + '/ws'; export default function () { `+body+` }`)
			target := newTarget(t, Config{Script: path, URL: base, Env: []string{"AT=" + address}})
			unfinished(t, body, target)
			testenv.Must(t, target.Close())
		}
	}
}

// A mistake of a server ends the session with an error, and the iteration goes on.
func TestSocketsOfHostileServers(t *testing.T) {
	t.Parallel()
	hostile := map[string]string{"ends": "", "garbage": strings.Repeat("\xaa", 5000), "half a close": "\x88\x01\x03", "text of HTTP": "HTTP/1.1 200 OK\r\n\r\n"}
	for _, m := range websockettest.Server.Mistakes(maxBody) {
		hostile[m.Name] = string(m.Bytes)
	}
	for name, bytes := range hostile {
		for _, body := range []string{`ws.connect(u, {}, () => {});`, `new WebSocket(u);`} {
			t.Run(name, func(t *testing.T) {
				address := wiretest.Listen(t, func(conn net.Conn) {
					if _, err := ws.Upgrade(conn); err == nil {
						_, _ = conn.Write([]byte(bytes))
						time.Sleep(10 * time.Millisecond) // what it says is read before the end
					}
				})
				path := testenv.Files(t, "flow.js", `import ws from 'k6/ws'; import { WebSocket } from 'k6/websockets'; let keep = [ws, WebSocket];
					const u = __ENV.BASE_URL; export default function () { `+body+` }`)
				r := drive(t, Config{Script: path, URL: "ws://" + address}, 1, true)
				if r.Errored["closed"]+r.Errored["reset"]+r.Errored["protocol"] != 1 {
					t.Errorf("errored %v, faults %v", r.Errored, r.Faults)
				}
			})
		}
	}
}

// A WebSocket moves with the origin of its page.
func TestSocketsOfAnOrigin(t *testing.T) {
	address := socketServer(t)
	path := testenv.Files(t, "flow.js", `import ws from 'k6/ws';
		export default function () { if (ws.connect('ws://localhost:3000/ws', {}, (s) => s.close()).status !== 101) throw new Error('no'); }`)
	for _, scheme := range []string{"http://", "ws://"} {
		if r := drive(t, Config{Script: path, URL: scheme + address, Origin: scheme + "localhost:3000"}, 1, true); r.Completed != 1 {
			t.Errorf("%s: %v %v", scheme, r.Errored, r.Faults)
		}
	}
}
