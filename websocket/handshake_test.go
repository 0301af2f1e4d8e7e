package websocket

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http/httpguts"
)

// What the package needs of the library.
func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		values string // of fields, with | between them
		want   bool
	}{
		{"upgrade", true}, {"keep-alive, Upgrade", true}, {"keep-alive|UPGRADE", true}, {" ,\tupgrade ,", true},
		{"", false}, {"upgraded", false}, {"keep-alive", false}, {"up grade", false}, {"x-upgrade, upgrade-x", false},
	} {
		if got := httpguts.HeaderValuesContainsToken(strings.Split(tt.values, "|"), "upgrade"); got != tt.want {
			t.Errorf("%q: %t", tt.values, got)
		}
	}
	if httpguts.HeaderValuesContainsToken(nil, "upgrade") {
		t.Error("no field has a token")
	}
}

type conn struct {
	net.Conn
	in io.Reader
}

func (c conn) Read(p []byte) (int, error) { return c.in.Read(p) }

// The result is the same, however the bytes come.
func TestClientReadsListsOfAHandshake(t *testing.T) {
	const ok, plain = "HTTP/1.1 101 Go\r\n", "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	for _, tt := range []struct{ came, want string }{
		{plain, plain},
		{plain + "\x81\x05hello\r\n\r\n", plain + "\x81\x05hello\r\n\r\n"},
		{ok + "connection: keep-alive, Upgrade\r\nUPGRADE:WebSocket\r\n\r\n", plain},
		{ok + "Connection: keep-alive\r\nUpgrade: h2c, websocket\r\nX: Upgrade, y\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nrest",
			ok + "Connection: Upgrade\r\nUpgrade: websocket\r\nX: Upgrade, y\r\n\r\nrest"},
		{ok + "Connection: Upgrade\nUpgrade: websocket\n\n\x81\x00", ok + "Connection: Upgrade\r\nUpgrade: websocket\r\n\n\x81\x00"},
		{"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100\r\n\r\n" + plain + "rest", plain + "rest"},
		{ok + "Connection: keep-alive\r\nUpgrade: h2c\r\n\r\n", ok + "Connection: keep-alive\r\nUpgrade: h2c\r\n\r\n"},
		{"HTTP/1.1 403 No\r\nConnection: close\r\n\r\nno\n\nno", "HTTP/1.1 403 No\r\nConnection: close\r\n\r\nno\n\nno"},
		{ok + "Connection: keep-al", ok + "Connection: keep-al"},
		{ok + strings.Repeat("X: y\r\n", maxHandshake), ok + strings.Repeat("X: y\r\n", maxHandshake)},
		{"", ""},
	} {
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(tt.came), "one by one": iotest.OneByteReader(strings.NewReader(tt.came)), "with its end": iotest.DataErrReader(strings.NewReader(tt.came)),
		} {
			got, err := io.ReadAll(&Client{Conn: conn{in: in}})
			if string(got) != tt.want || err != nil {
				t.Errorf("%.200q, %s: %.200q, %v; want %.200q", tt.came, name, got, err, tt.want)
			}
		}
	}
}
