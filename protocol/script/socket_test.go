package script

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/load"
	"contend/protocol/wire"
)

// sockets is a server of WebSockets that does with each what it is told.
func sockets(t testing.TB, each func(conn net.Conn)) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		conn, _, _, err := ws.UpgradeHTTP(r, w)
		if err != nil {
			return
		}
		defer conn.Close()
		each(conn)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http", "ws", 1)
}

const bothSockets = `
	import ws from 'k6/ws';
	import { WebSocket } from 'k6/websockets';
	import { check } from 'k6';
`

// echoed sends back what comes, and then says goodbye.
func echoed(conn net.Conn) {
	for {
		header, err := ws.ReadHeader(conn)
		if err != nil {
			return
		}
		data := make([]byte, header.Length)
		if _, err := conn.Read(data); err != nil && header.Length > 0 {
			return
		}
		ws.Cipher(data, header.Mask, 0)
		if err := ws.WriteFrame(conn, ws.NewFrame(header.OpCode, true, data)); err != nil || header.OpCode == ws.OpClose {
			return
		}
	}
}

func TestSockets(t *testing.T) { engines(t, testSockets) }

func testSockets(t *testing.T, drive func(Config, int64) *load.Result) {
	url := sockets(t, echoed)
	path := write(t, "flow.js", bothSockets+`
		export default function () {
			let got;
			const answer = ws.connect(__ENV.WS + '/a', (socket) => {
				socket.on('open', () => socket.send('hello'));
				socket.on('message', (text) => { got = text; socket.close(); });
			});
			check(answer, { 'ws': (r) => r.status === 101 && got === 'hello' });
			check(ws.connect(__ENV.WS + '/refused', () => {}), { 'refused': (r) => r.status === 403 });
			const w = new WebSocket(__ENV.WS + '/b');
			w.onopen = () => w.send(new Uint8Array([1, 2]));
			w.onmessage = (e) => { check(e, { 'websockets': () => new Uint8Array(e.data).join() === '1,2' }); w.close(); };
			const early = new WebSocket(__ENV.WS + '/early');
			early.close();
			early.onclose = (e) => check(e, { 'closed early': () => e.code === 1000 && early.readyState === 3 });
		}`)
	r := drive(Config{Script: path, Env: []string{"WS=" + url}}, 3)
	for _, name := range []string{"ws", "refused", "websockets", "closed early"} {
		found := false
		for _, c := range r.Checks {
			found = found || c.Name == name && c.Passed == 3 && c.Failed == 0
		}
		if !found {
			t.Errorf("%q did not hold three times: %+v", name, r.Checks)
		}
	}
	// Each iteration has a connection that was refused, which is wrong.
	if r.Failed != 3 || r.Requests["WS /a"].Completed != 3 || r.Requests["WS /refused"].Failed != 3 || r.Requests["WS /b"].Completed != 3 {
		t.Errorf("failed %d, requests %+v, %v", r.Failed, r.Requests, r.Faults)
	}
	if m := r.Meter("ws_sessions"); m == nil || m.Sum != 9 {
		t.Errorf("sessions: %+v", m)
	}
}

// A hostile server ends a connection with an error, never the run: each is an iteration without an answer.
func TestHostileSockets(t *testing.T) {
	for name, each := range map[string]func(net.Conn){
		"cut":                      func(net.Conn) {},
		"reserved bits":            func(c net.Conn) { _, _ = c.Write([]byte{0xf1, 0x01, 'a'}) },
		"masked":                   func(c net.Conn) { _, _ = c.Write([]byte{0x81, 0x81, 1, 2, 3, 4, 5}) },
		"no UTF-8":                 func(c net.Conn) { _, _ = c.Write([]byte{0x81, 0x01, 0xff}) },
		"a huge message":           func(c net.Conn) { _, _ = c.Write([]byte{0x81, 127, 0x7f, 0, 0, 0, 0, 0, 0, 0}) },
		"a truncated one":          func(c net.Conn) { _, _ = c.Write([]byte{0x81, 100, 'a'}) },
		"a fragment of no message": func(c net.Conn) { _, _ = c.Write([]byte{0x80, 0x01, 'a'}) },
	} {
		url := sockets(t, each)
		for module, body := range map[string]string{
			"ws":         `ws.connect(__ENV.WS, (socket) => socket.on('open', () => {}));`,
			"websockets": `new WebSocket(__ENV.WS);`,
		} {
			path := write(t, "flow.js", bothSockets+"let keep = [ws, WebSocket, check]; export default function () { "+body+" }")
			r := drive(t, Config{Script: path, Env: []string{"WS=" + url}}, 2, true)
			if r.ErroredTotal() != 2 || r.Accounted() != r.Planned {
				t.Errorf("%s, %s: %d errored of %d, %v", name, module, r.ErroredTotal(), r.Planned, r.Errored)
			}
		}
	}
}

// Who says nothing, and who never answers a goodbye, is ended with the run.
func TestSilentSockets(t *testing.T) {
	hold := make(chan struct{})
	url := sockets(t, func(net.Conn) { <-hold })
	defer close(hold)
	for _, body := range []string{
		`ws.connect(__ENV.WS, () => {});`, `new WebSocket(__ENV.WS);`,
		`ws.connect(__ENV.WS, (s) => s.on('open', () => s.close()));`,
		`const w = new WebSocket(__ENV.WS); w.onopen = () => { w.send('x'.repeat(1 << 20)); w.close(); }`,
	} {
		path := write(t, "flow.js", bothSockets+"let keep = [ws, WebSocket, check]; export default function () { "+body+" }")
		target, err := New(Config{Script: path, Env: []string{"WS=" + url}}, wire.Surroundings{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := load.Run(context.Background(), "script", portable{target}, load.Plan{VUs: 2, Duration: 100 * time.Millisecond, Grace: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.Planned != 2 || r.Unfinished != 2 {
			t.Errorf("%s: planned %d, unfinished %d, want 2: %v", body, r.Planned, r.Unfinished, r.Errored)
		}
	}
}

// What a handler throws has its line, and what is not there is said.
func TestSocketMistakes(t *testing.T) {
	url := sockets(t, echoed)
	for body, want := range map[string]string{
		"ws.connect(__ENV.WS, (s) => s.on('open', () => { throw new Error('mine') }))":                           "flow.js:6:",
		"ws.connect(__ENV.WS, (s) => s.on('opened', () => {}))":                                                  `event is "opened"; allowed: binaryMessage`,
		"ws.connect('http://localhost', () => {})":                                                               "is none of a WebSocket",
		"ws.connect(__ENV.WS, { header: {} }, () => {})":                                                         "params.header is not known: did you mean headers?",
		"ws.connect(__ENV.WS, { compression: 'gzip' }, () => {})":                                                "allowed: deflate",
		"const w = new WebSocket(__ENV.WS); w.send('early')":                                                     "send works when the WebSocket is open",
		"const w = new WebSocket(__ENV.WS); w.onopen = () => w.send({})":                                         "send takes text, an ArrayBuffer",
		"const w = new WebSocket(__ENV.WS); w.close(1001)":                                                       "close(1001",
		"const w = new WebSocket(__ENV.WS); w.binaryType = 'blob'; w.onopen = () => w.send(new Uint8Array([1]))": `binaryType is "blob"`,
	} {
		path := write(t, "flow.js", bothSockets+"let keep = [ws, WebSocket, check]; export default function () {\n"+body+" }")
		r := drive(t, Config{Script: path, Env: []string{"WS=" + url}}, 1, true)
		if len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, want) {
			t.Errorf("%s: %+v %v, want %q", body, r.Faults, r.Errored, want)
		}
	}
}
