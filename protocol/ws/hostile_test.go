package ws

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
	"contend/websocket/websockettest"
)

type hostileServer struct {
	name  string
	serve func(net.Conn)
	want  []errkind.Kind // the kernel may say one or the other
}

// Frames of a server begin with: FIN and opcode (0x81 is a whole text, 0x01
// its first part, 0x00 a further one), and a length up to 125, or 126 and two
// bytes, or 127 and eight.
var hostile = []hostileServer{
	{"closes at once", func(net.Conn) {}, []errkind.Kind{errkind.Closed, errkind.Reset}},
	{"resets at once", reset, []errkind.Kind{errkind.Reset, errkind.Closed}},
	{"never shakes hands", hang, []errkind.Kind{errkind.Timeout}},
	{"garbage instead of a handshake", say(0, "\x00\x01\x02 garbage \xff\xfe\r\n\r\n"), []errkind.Kind{errkind.Protocol}},
	{"wrong accept", say(0, "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"), []errkind.Kind{errkind.Protocol}},
	{"no accept", say(0, "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), []errkind.Kind{errkind.Protocol}},
	{"endless header", endless("HTTP/1.1 101 Go\r\n", strings.Repeat("X: y\r\n", 1000)), []errkind.Kind{errkind.Protocol}},
	{"endless line", endless("HTTP/1.1 101 Go\r\nX: ", strings.Repeat("y", 5000)), []errkind.Kind{errkind.Protocol}},
	{"dribbles its handshake", say(50*time.Millisecond, strings.Split("HTTP/1.1 101 Go\r\nUpgrade: websocket", "")...), []errkind.Kind{errkind.Timeout}},

	{"closes without an answer", afterMessage(func(net.Conn) {}), []errkind.Kind{errkind.Closed}},
	{"closes after the handshake", upgraded(func(net.Conn) {}), []errkind.Kind{errkind.Closed, errkind.Reset}},
	{"shuts down its side", afterMessage(func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite(); hang(c) }), []errkind.Kind{errkind.Closed}},
	{"resets without an answer", afterMessage(reset), []errkind.Kind{errkind.Reset}},
	{"never answers", upgraded(hang), []errkind.Kind{errkind.Timeout}},
	{"resets in mid-message", afterMessage(func(c net.Conn) {
		say := []byte("\x81\x05he")
		_, _ = c.Write(say)
		time.Sleep(20 * time.Millisecond)
		reset(c)
	}), []errkind.Kind{errkind.Reset}},
	{"closes in mid-message", afterMessage(func(c net.Conn) { _, _ = c.Write([]byte("\x81\x05he")) }), []errkind.Kind{errkind.Closed}},
	{"closes in a header", afterMessage(func(c net.Conn) { _, _ = c.Write([]byte("\x81\x7e\x01")) }), []errkind.Kind{errkind.Closed}},
	{"says goodbye", afterMessage(say(0, "\x88\x02\x03\xe9")), []errkind.Kind{errkind.Closed}},
	{"half a close code", afterMessage(say(0, "\x88\x01\x03")), []errkind.Kind{errkind.Protocol}},
	{"close code 1005", afterMessage(say(0, "\x88\x02\x03\xed")), []errkind.Kind{errkind.Protocol}},
	{"garbage frames", afterMessage(say(0, strings.Repeat("\xaa", 5000))), []errkind.Kind{errkind.Protocol}},
	{"speaks HTTP", afterMessage(say(0, "HTTP/1.1 200 OK\r\n\r\n")), []errkind.Kind{errkind.Protocol}},
	{"compressed unasked", afterMessage(say(0, "\xc1\x00")), []errkind.Kind{errkind.Protocol}},
	{"endless continuations", afterMessage(endless("\x01\x00", strings.Repeat("\x00\x7d"+strings.Repeat("x", 125), 50))), []errkind.Kind{errkind.Protocol}},
	{"endless pings", afterMessage(endless("", strings.Repeat("\x89\x01x", 2000))), []errkind.Kind{errkind.Timeout}},
	{"dribbles", afterMessage(say(50*time.Millisecond, strings.Split("\x81\x7d"+strings.Repeat("x", 125), "")...)), []errkind.Kind{errkind.Timeout}},
}

const (
	hostileTimeout = 200 * time.Millisecond
	maxMessage     = 64 << 10
)

// checkHostile does some iterations and wants an error of one of the kinds
// from each, in time.
func checkHostile(t *testing.T, c Config, kinds ...errkind.Kind) {
	t.Helper()
	c.Message, c.MaxMessage = []byte("hello"), maxMessage
	wiretest.Hostile(t, newTestVU(t, newTarget(t, c)), hostileTimeout, kinds...)
}

func TestHostileServersAreErrorsOfTheirKindInTime(t *testing.T) {
	t.Parallel()
	tests := slices.Clone(hostile)
	for _, m := range websockettest.Server.Mistakes(maxMessage) {
		tests = append(tests, hostileServer{m.Name, afterMessage(say(0, string(m.Bytes))), []errkind.Kind{errkind.Protocol}})
	}
	for _, test := range tests {
		for _, connections := range everyConnections[:3] {
			t.Run(fmt.Sprintf("%s/%v", test.name, connections), func(t *testing.T) {
				t.Parallel()
				checkHostile(t, Config{URL: "ws://" + wiretest.Listen(t, test.serve), Connections: connections}, test.want...)
			})
		}
	}
}

func TestNobodyIsAnErrorOfItsKind(t *testing.T) {
	checkHostile(t, Config{URL: "ws://" + testenv.HeldAddress(t)}, errkind.Refused)
	checkHostile(t, Config{URL: "ws://name.invalid/"}, errkind.DNS, errkind.Timeout)
}

func TestARefusedHandshakeIsAFailedOutcome(t *testing.T) {
	addr := wiretest.Listen(t, say(0, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"))
	target := newTarget(t, Config{URL: "ws://" + addr})
	out, err := newTestVU(t, target).Do(context.Background())
	if err != nil || !out.Failed || out.Status != 403 || out.Check != "" || !strings.HasSuffix(string(out.Detail), "no") || out.Phases.Connect <= 0 {
		t.Errorf("got %+v, %v, detail %q", out, err, out.Detail)
	}
	r := run(t, target, load.Plan{VUs: 2, Iterations: 10, Timeout: time.Second})
	if r.Failed != 10 {
		t.Errorf("failed %d, want 10", r.Failed)
	}
}

// A server that does not read fills the kernel's buffers: the write blocks.
func TestAServerThatDoesNotReadIsATimeout(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Exchange, Send} {
		for _, timeout := range []time.Duration{hostileTimeout, 0} {
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
			hang(conn)
		}
	})
	target := newTarget(t, Config{URL: "ws://" + addr, Compress: true, Mode: Receive})
	if _, err := newTestVU(t, target).Do(context.Background()); errkind.Of(err) != errkind.Protocol {
		t.Errorf("got %v", err)
	}
}
