package protocol

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// A proxy passes everything on to one server, whatever name that was asked for, and notes what it was
// asked: the method and the target of each request, or of each tunnel.
type proxy struct {
	*httptest.Server
	to, secureTo string
	mu           sync.Mutex
	seen         []string
}

func newProxy(t *testing.T, to, secureTo string) *proxy {
	p := &proxy{to: to, secureTo: secureTo}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.seen, line) {
		p.seen = append(p.seen, line)
	}
}

func (p *proxy) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.seen = nil }()
	return p.seen
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:secret")); r.Header.Get("Proxy-Authorization") != want {
		p.note("unknown client")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		p.note(r.Method + " " + r.RequestURI)
		fmt.Fprint(w, "passed on")
		return
	}
	p.note("CONNECT " + r.RequestURI)
	to := p.to
	if strings.HasSuffix(r.RequestURI, ":443") {
		to = p.secureTo
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(server, client); server.Close() }()
	go func() { _, _ = io.Copy(client, server); client.Close() }()
}

// echo answers everything, and messages of WebSockets with themselves.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		fmt.Fprint(w, "answered")
		return
	}
	conn, rw, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return
	}
	defer conn.Close()
	in := struct {
		io.Reader
		io.Writer
	}{rw, conn}
	for {
		message, err := wsutil.ReadClientText(in)
		if err != nil || wsutil.WriteServerText(conn, message) != nil {
			return
		}
	}
}

func backends(t *testing.T) (plain, secure string) {
	for _, s := range []struct {
		address *string
		tls     bool
	}{{&plain, false}, {&secure, true}} {
		server := wiretest.BothVersions(http.HandlerFunc(echo))
		server.TLS = wiretest.TLS()
		if server.EnableHTTP2 = s.tls; s.tls {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		*s.address = server.Listener.Addr().String()
	}
	return plain, secure
}

const proxiedScript = `
import http from 'k6/http';
import { check } from 'k6';
import ws from 'k6/ws';
export default function () {
	if (__ENV.BASE_URL.startsWith('ws')) {
		const r = ws.connect(__ENV.BASE_URL, {}, (s) => { s.on('open', () => s.close()) });
		check(r, { opened: (r) => r.status === 101 });
	} else {
		check(http.get(__ENV.BASE_URL + '/x'), { ok: (r) => r.status === 200 });
	}
}`

// Every protocol and engine goes through the proxy that the environment names, or is refused by
// name: shop.invalid is known to nobody but the proxy.
func TestProxy(t *testing.T) {
	t.Parallel()
	plain, secure := backends(t)
	p := newProxy(t, plain, secure)
	file := testenv.Files(t, "flow.js", proxiedScript)
	env := map[string]string{}
	at := strings.Replace(p.URL, "http://", "http://ann:secret@", 1)
	env["HTTP_PROXY"], env["https_proxy"] = at, at
	opener := Opener{Surroundings: wire.Surroundings{Env: func(name string) (string, bool) { text, ok := env[name]; return text, ok }}}
	script := func(url string) Target { return At(url).With("script", file) }
	for _, tt := range []struct {
		what   string
		target Target
		seen   string // by the proxy
		engine string // what the result says of it; "": anything
	}{
		{"http", At("http://shop.invalid/x"), "GET http://shop.invalid/x", ""},
		{"http, goroutines", At("http://shop.invalid:81/x?y=1").With("engine", "goroutines"), "GET http://shop.invalid:81/x?y=1", ""},
		{"http, filled in", At("http://shop.invalid/{{\"x\"}}"), "GET http://shop.invalid/x", ""},
		{"https", At("https://shop.invalid/x"), "CONNECT shop.invalid:443", "proxy"},
		{"HTTP/2", At("https://shop.invalid/x").With("http", "2"), "CONNECT shop.invalid:443", ""},
		{"HTTP/2 in plain text", At("http://shop.invalid/x").With("http", "2"), "CONNECT shop.invalid:80", ""},
		{"ws", At("ws://shop.invalid/x").With("data", "m"), "CONNECT shop.invalid:80", ""},
		{"wss", At("wss://shop.invalid/x").With("data", "m"), "CONNECT shop.invalid:443", ""},
		{"script, http", script("http://shop.invalid"), "GET http://shop.invalid/x", ""},
		{"script, https", script("https://shop.invalid"), "CONNECT shop.invalid:443", ""},
		{"script, ws", script("ws://shop.invalid"), "CONNECT shop.invalid:80", ""},
		{"script, wss", script("wss://shop.invalid"), "CONNECT shop.invalid:443", ""},
	} {
		p.take()
		target := tt.target
		if strings.Contains(target.URL(), "s://") && !strings.HasPrefix(target.URL(), "ws:") {
			target = target.With("insecure", "true")
		}
		opened, err := opener.Open(t.Context(), target)
		if err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		r, err := load.Run(t.Context(), tt.what, opened, load.Plan{VUs: 1, Iterations: 1})
		testenv.Must(t, err)
		if seen := p.take(); r.Completed != 1 || !slices.Contains(seen, tt.seen) || slices.Contains(seen, "unknown client") {
			t.Errorf("%s: %d right, %v, %v; the proxy saw %q, want %q", tt.what, r.Completed, r.Errored, r.Faults, seen, tt.seen)
		}
		if !strings.Contains(r.EngineReason, tt.engine) {
			t.Errorf("%s: the engine is %s because of %q", tt.what, r.Engine, r.EngineReason)
		}
	}
	// The server does not speak gRPC, but it is the proxy that was asked for it.
	_, err := opener.Open(t.Context(), At("grpc://shop.invalid:81/a.B/C"))
	if seen := p.take(); err == nil || !slices.Contains(seen, "CONNECT shop.invalid:81") {
		t.Errorf("gRPC: %v; the proxy saw %q", err, seen)
	}
	_, err = opener.Open(t.Context(), At("https://shop.invalid/").With("http", "3"))
	testenv.Says(t, err, "HTTP/3 does not go through the proxy "+p.URL, "NO_PROXY=shop.invalid")
}

// The loopback, and what NO_PROXY names, is asked directly; another kind of proxy is refused by name,
// without its password.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	plain, _ := backends(t)
	p := newProxy(t, plain, plain)
	run := func(url string, env map[string]string) (*load.Result, error) {
		opener := Opener{Surroundings: wire.Surroundings{Env: func(name string) (string, bool) { text, ok := env[name]; return text, ok }}}
		opened, err := opener.Open(t.Context(), At(url))
		if err != nil {
			return nil, err
		}
		return load.Run(t.Context(), url, opened, load.Plan{VUs: 1, Iterations: 1})
	}
	if r, err := run("http://"+plain+"/", map[string]string{"HTTP_PROXY": p.URL}); err != nil || r.Completed != 1 {
		t.Errorf("loopback: %v %v", r, err)
	}
	if r, err := run("http://shop.invalid/", map[string]string{"http_proxy": p.URL, "NO_PROXY": "other, .invalid"}); err != nil || r.Completed != 0 {
		t.Errorf("NO_PROXY: %+v %v", r, err)
	}
	if seen := p.take(); len(seen) > 0 {
		t.Errorf("the proxy saw %q", seen)
	}
	_, err := run("http://shop.invalid/", map[string]string{"HTTP_PROXY": "socks5://ann:secret@127.0.0.1:1"})
	wiretest.Mistakes(t, err, "socks5", "NO_PROXY=shop.invalid")
	_, err = run("http://shop.invalid/", map[string]string{"HTTP_PROXY": "http://ann:secret@127.0.0.1:port"})
	wiretest.Mistakes(t, err, "no URL")
}

// Workers get what the script reads of the environment of whoever asks them.
func TestEnvironmentOfWorkers(t *testing.T) {
	t.Parallel()
	file := testenv.Files(t, "flow.js", "export default function () { __ENV.TOKEN; }")
	var got Target
	opener := Opener{Surroundings: wire.Surroundings{Environ: []string{"TOKEN=t", "HOME=/root"}},
		Remote: func(t Target, _ wire.Surroundings) (load.Target, error) { got = t; return nil, nil }}
	if _, err := opener.Open(t.Context(), At("http://h/").With("script", file).With("script_env", "A=b,c")); err != nil {
		t.Fatal(err)
	}
	if env := got["script_env"].Texts; !slices.Equal(env, []string{"TOKEN=t", "A=b,c"}) {
		t.Errorf("workers get %q", env)
	}
}
