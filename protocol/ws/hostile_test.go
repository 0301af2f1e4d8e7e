package ws

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
	"contend/websocket/websockettest"
)

const maxMessage = 64 << 10

// hostile is what every way to share connections has to survive. Frames of a server begin with: FIN and opcode (0x81
// is a whole text, 0x01 its first part, 0x00 a further one), and a length up to 125, or 126 and two bytes, or 127 and
// eight.
func hostile() wiretest.Protocol {
	say := func(text string) func(net.Conn) { return wiretest.AfterRead(wiretest.Say(0, text)) }
	answer := func(text string) func(net.Conn) { return afterMessage(wiretest.Say(0, text)) }
	wrong, late := []errkind.Kind{errkind.Protocol}, []errkind.Kind{errkind.Timeout}
	p := wiretest.Protocol{
		Asked:   afterMessage,
		Answers: []string{"\x81\x05hello", "\x81\x7e\x01\x00" + strings.Repeat("x", 256)},
		Foreign: wrong,
		Peers: []wiretest.Peer{
			{Name: "garbage for a handshake", Serve: say("\x00\x01\x02 garbage \xff\xfe\r\n\r\n"), Want: wrong},
			{Name: "wrong accept", Serve: say("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"), Want: wrong},
			{Name: "no accept", Serve: say("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), Want: wrong},
			{Name: "endless header", Serve: wiretest.Endless("HTTP/1.1 101 Go\r\n", strings.Repeat("X: y\r\n", 1000)), Want: wrong, Endless: true},
			{Name: "endless line", Serve: wiretest.Endless("HTTP/1.1 101 Go\r\nX: ", strings.Repeat("y", 5000)), Want: wrong, Endless: true},
			{Name: "a handshake a byte at a time", Serve: wiretest.Say(wiretest.Short/2, strings.Split("HTTP/1.1 101 Go\r\nUpgrade: websocket", "")...), Want: late},
			{Name: "goodbye", Serve: answer("\x88\x02\x03\xe9"), Want: []errkind.Kind{errkind.Closed}},
			{Name: "half a close code", Serve: answer("\x88\x01\x03"), Want: wrong},
			{Name: "close code 1005", Serve: answer("\x88\x02\x03\xed"), Want: wrong},
			{Name: "compressed unasked", Serve: answer("\xc1\x00"), Want: wrong},
			{Name: "endless continuations", Serve: afterMessage(wiretest.Endless("\x01\x00", strings.Repeat("\x00\x7d"+strings.Repeat("x", 125), 50))), Want: wrong, Endless: true},
			{Name: "endless pings", Serve: afterMessage(wiretest.Endless("", strings.Repeat("\x89\x01x", 2000))), Want: late, Endless: true},
		},
	}
	for _, m := range websockettest.Server.Mistakes(maxMessage) {
		p.Peers = append(p.Peers, wiretest.Peer{Name: m.Name, Serve: answer(string(m.Bytes)), Want: wrong})
	}
	for i, connections := range everyConnections {
		p.Ways = append(p.Ways, wiretest.Way{Name: connections.String(), Plain: true, Secure: i == 0, Alone: true,
			Open: func(t testing.TB, s wiretest.Server) load.Target {
				c := Config{URL: "ws://" + s.Address, Connections: connections, Message: []byte("hello"), MaxMessage: maxMessage}
				if s.Secure {
					c.URL, c.TLS = "wss://"+s.Address, wire.TLS{CA: s.CA, Insecure: s.CA == nil && !s.Strict, ServerName: s.Name}
				}
				return newTarget(t, c)
			}})
	}
	return p
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	hostile().Hostile(t)
}

func TestEndlessServers(t *testing.T) { hostile().Endless(t) }

func TestRestarted(t *testing.T) {
	t.Parallel()
	hostile().Restarted(t, wiretest.OnTCP(func(l net.Listener) func() {
		return wiretest.Serve(l, answering(echo))
	}), errkind.Refused)
}

func TestARefusedHandshakeIsAFailedOutcome(t *testing.T) {
	addr := wiretest.Listen(t, wiretest.Say(0, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"))
	target := newTarget(t, Config{URL: "ws://" + addr})
	out, err := newTestVU(t, target).Do(context.Background())
	if err != nil || !out.Failed || out.Status != 403 || out.Check != "" || !strings.HasSuffix(string(out.Detail), "no") || out.Phases.Connect <= 0 {
		t.Errorf("got %+v, %v, detail %q", out, err, out.Detail)
	}
	r := wiretest.Run(t, target, load.Plan{VUs: 2, Iterations: 10, Timeout: testenv.Patience})
	if r.Failed != 10 {
		t.Errorf("failed %d, want 10", r.Failed)
	}
}

// A server that does not read fills the kernel's buffers: the write blocks.
func TestAServerThatDoesNotReadIsATimeout(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Exchange, Send} {
		for _, timeout := range []time.Duration{wiretest.Short, 0} {
			t.Run(fmt.Sprintf("%s/%v", mode, timeout), func(t *testing.T) {
				t.Parallel()
				release := make(chan struct{})
				addr := wiretest.Listen(t, upgraded(func(net.Conn) { <-release }))
				t.Cleanup(func() { close(release) })
				v := newTestVU(t, newTarget(t, Config{URL: "ws://" + addr, Mode: mode, Message: make([]byte, 16<<20), Binary: true}))
				v.SetTimeout(timeout)
				ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := v.Do(ctx)
				if errkind.Of(err) != errkind.Timeout || time.Since(start) > testenv.Patience {
					t.Errorf("got %v after %v", err, time.Since(start))
				}
			})
		}
	}
}

// 4 MiB of zeros are 4 kB on the wire.
func TestACompressedBombIsTooLong(t *testing.T) {
	bomb := deflate(nil, make([]byte, 4<<20))
	addr := wiretest.Listen(t, func(conn net.Conn) {
		if deflating(conn) == nil {
			_ = ws.WriteFrame(conn, ws.Frame{Header: ws.Header{Fin: true, Rsv: ws.Rsv(true, false, false), OpCode: ws.OpBinary, Length: int64(len(bomb))}, Payload: bomb})
			wiretest.Hang(conn)
		}
	})
	target := newTarget(t, Config{URL: "ws://" + addr, Compress: true, Mode: Receive})
	if _, err := newTestVU(t, target).Do(context.Background()); errkind.Of(err) != errkind.Protocol {
		t.Errorf("got %v", err)
	}
}
