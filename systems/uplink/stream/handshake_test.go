package stream

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"contend/systems/uplink/outbox"

	"github.com/gobwas/ws"
)

// Both forms of the token open both streams, with and without the final slash
// and without a redirect; a wrong token hears 401 before the upgrade.
func TestHandshake(t *testing.T) {
	s := newService(t, Config{})
	tests := []struct {
		name, query, header string
		want                int
	}{
		{"header", "", "Authorization: Bearer token-a", 101},
		{"query", "?access_token=token-a", "X: y", 101},
		{"both, as clients do", "?access_token=token-a", "Authorization: Bearer token-a", 101},
		{"the header counts", "?access_token=wrong", "Authorization: Bearer token-a", 101},
		{"the header counts, to its cost", "?access_token=token-a", "Authorization: Bearer wrong", 401},
		{"wrong", "", "Authorization: Bearer wrong", 401},
		{"wrong in the query", "?access_token=wrong", "X: y", 401},
		{"none", "", "X: y", 401},
	}
	for _, tt := range tests {
		for _, path := range []string{"/stream/upstream", "/stream/upstream/", "/stream/downstream", "/stream/downstream/"} {
			c := s.request("GET /api/v1"+path+tt.query+" HTTP/1.1", tt.header)
			if got := c.response.StatusCode; got != tt.want {
				t.Errorf("%s: %s: %d, want %d", tt.name, path, got, tt.want)
			}
			if tt.want != http.StatusUnauthorized {
				if key := c.response.Header.Get("Sec-WebSocket-Accept"); key != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" { // RFC 6455, 1.3
					t.Errorf("%s: accept %q", tt.name, key)
				}
				c.send(ws.OpClose, nil)
				continue
			}
			body, err := io.ReadAll(c.response.Body)
			if err != nil || !strings.Contains(string(body), `{"detail": {"error_code": "Unauthorized"`) ||
				c.response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v %s %v", tt.name, c.response.Header, body, err)
			}
		}
	}
	eventually(t, "all opened, and closed", func() bool { now := s.Stats(); return now.Open == [kinds]int64{} && now.Opened >= 4*4 })
	want := Stats{Opened: 4 * 4, Unauthorized: 4 * 4, Closed: map[int]int64{1005: 4 * 4}}
	if got := s.Stats(); got.Opened != want.Opened || got.Unauthorized != want.Unauthorized || got.Closed[1005] != want.Closed[1005] {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !slices.Contains(s.hooks, "+a upstream") || !slices.Contains(s.hooks, "-a downstream") || len(s.hooks) != 2*4*4 {
		t.Error(s.hooks)
	}
}

func TestHandshakeMistakes(t *testing.T) {
	s := newService(t, Config{})
	const token = "Authorization: Bearer token-a"
	replace := func(name, value string) func([]string) []string {
		return func(lines []string) []string {
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+":") })
			return append(lines, value)
		}
	}
	tests := []struct {
		name, line string
		change     func([]string) []string
		want       int
	}{
		{"right", "GET / HTTP/1.1", replace("X", "X: y"), 101},
		{"lists", "GET / HTTP/1.1", replace("Connection", "Connection: keep-alive\r\nConnection: x, upgrade\r\nUpgrade: h2c"), 101},
		{"a list", "GET / HTTP/1.1", replace("Upgrade", "Upgrade: h2c, WebSocket"), 101},
		{"no upgrade", "GET / HTTP/1.1", replace("Upgrade", "X: y"), 426},
		{"another upgrade", "GET / HTTP/1.1", replace("Upgrade", "Upgrade: h2c"), 426},
		{"old HTTP", "GET / HTTP/1.0", replace("X", "X: y"), 505},
		{"POST", "POST / HTTP/1.1", replace("X", "X: y"), 405},
		{"old version", "GET / HTTP/1.1", replace("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"), 426},
		{"no version", "GET / HTTP/1.1", replace("Sec-WebSocket-Version", "X: y"), 400},
		{"no key", "GET / HTTP/1.1", replace("Sec-WebSocket-Key", "X: y"), 400},
		{"short key", "GET / HTTP/1.1", replace("Sec-WebSocket-Key", "Sec-WebSocket-Key: abc"), 400},
		{"no connection", "GET / HTTP/1.1", replace("Connection", "Connection: keep-alive"), 400},
	}
	for _, tt := range tests {
		lines := tt.change([]string{"Host: localhost", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket",
			"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", token})
		c := s.bare(strings.Replace(tt.line, " / ", " /api/v1/stream/upstream/ ", 1), lines)
		if got := c.response.StatusCode; got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
		c.Close()
	}
	eventually(t, "all gone", func() bool { return s.Stats().BadHandshake == int64(len(tests)-3) && s.Stats().Open[Upstream] == 0 })
}

// A customer may have so many connections; others are not concerned.
func TestTooManyConnections(t *testing.T) {
	s := newService(t, Config{MaxConnections: 2})
	first := s.open("/stream/upstream/", "a")
	s.open("/stream/downstream/", "a")
	if c := s.request("GET /api/v1/stream/upstream HTTP/1.1", "Authorization: Bearer token-a"); c.response.StatusCode != 429 {
		t.Error(c.response.Status)
	}
	s.open("/stream/upstream/", "b")
	first.send(ws.OpClose, nil)
	eventually(t, "one closed", func() bool { return s.Stats().Open[Upstream] == 1 })
	eventually(t, "room", func() bool {
		return s.request("GET /api/v1/stream/upstream HTTP/1.1", "Authorization: Bearer token-a").response.StatusCode == 101
	})
}

// A client that cannot be served hears it before the upgrade.
func TestRefused(t *testing.T) {
	s := newService(t, Config{Outbox: func(string) *outbox.Outbox { return nil }})
	status := func(path string) int {
		return s.request("GET /api/v1"+path+" HTTP/1.1", "Authorization: Bearer token-a").response.StatusCode
	}
	if got := status("/stream/upstream"); got != 503 {
		t.Error("no outbox:", got)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := status("/stream/downstream"); got != 503 {
		t.Error("stopping:", got)
	}
	if got := s.Stats(); got.Refused != 2 || got.Opened != 0 {
		t.Errorf("%+v", got)
	}
}

// The end of the token ends its streams, both of them and those of nobody else. Who
// comes with it then hears it before the upgrade.
func TestTokenEnds(t *testing.T) {
	valid, end := context.WithCancel(t.Context())
	s := newService(t, Config{Authenticate: func(r *http.Request) (string, context.Context, bool) {
		customer, forever, ok := authenticate(r)
		if customer != "a" {
			return customer, forever, ok
		}
		return customer, valid, ok && valid.Err() == nil
	}})
	up, down, other := s.open("/stream/upstream/", "a"), s.open("/stream/downstream/", "a"), s.open("/stream/upstream/", "b")
	end()
	for _, c := range []*client{up, down} {
		if code, reason := c.closed(); code != ws.StatusPolicyViolation || reason != "the token expired or was withdrawn" {
			t.Error(code, reason)
		}
		c.Close()
	}
	if c := s.request("GET /api/v1/stream/upstream HTTP/1.1", "Authorization: Bearer token-a"); c.response.StatusCode != 401 {
		t.Error(c.response.Status)
	}
	s.put("b", 0, 1)
	other.ack(other.uplink())
	eventually(t, "the other goes on", func() bool { return s.outcomes(outbox.Answered) == 1 })
}

// Over TLS it is the same.
func TestTLS(t *testing.T) {
	s := prepare(t, Config{})
	server := httptest.NewTLSServer(s.mux())
	s.dial = func() (net.Conn, error) {
		return tls.Dial("tcp", server.Listener.Addr().String(), server.Client().Transport.(*http.Transport).TLSClientConfig)
	}
	t.Cleanup(func() {
		s.stop()
		server.Close()
	})
	c := s.open("/stream/upstream", "a")
	s.put("a", 0, 1000)
	for range 1000 {
		c.ack(c.uplink())
	}
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == 1000 })
	c.raw([]byte{0x81, 1, 'a'})
	if code, reason := c.closed(); code != 1002 {
		t.Error(code, reason)
	}
}
