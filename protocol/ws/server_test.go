package ws

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

func TestMain(m *testing.M) { testenv.Main(m, 8) }

// upgraded serves connections that have become WebSockets.
func upgraded(serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := ws.Upgrade(conn); err == nil {
			serve(conn)
		}
	}
}

// answering answers each message with what answer makes of it, until the
// client is gone.
func answering(answer func(message []byte) []byte) func(net.Conn) {
	return upgraded(func(conn net.Conn) {
		for {
			message, op, err := wsutil.ReadClientData(conn)
			if err != nil || wsutil.WriteServerMessage(conn, op, answer(message)) != nil {
				return
			}
		}
	})
}

// serveEcho sends every frame back, without an allocation for each.
func serveEcho(conn net.Conn) {
	from := bufio.NewReader(conn)
	to := bufio.NewWriter(conn)
	var scratch [ws.MaxHeaderSize]byte
	var payload []byte
	for {
		h, err := ws.ReadHeaderBuffer(from, scratch[:])
		if err != nil {
			return
		}
		payload = slices.Grow(payload[:0], int(h.Length))[:h.Length]
		if _, err := io.ReadFull(from, payload); err != nil {
			return
		}
		ws.Cipher(payload, h.Mask, 0)
		h.Masked = false
		_ = ws.WriteHeaderBuffer(to, h, scratch[:])
		_, _ = to.Write(payload)
		if from.Buffered() == 0 && to.Flush() != nil {
			return
		}
	}
}

// contains is a check of that name.
func contains(part string) func([]byte) string {
	return func(message []byte) string {
		if !bytes.Contains(message, []byte(part)) {
			return "contains"
		}
		return ""
	}
}

func echo(message []byte) []byte { return message }

// afterMessage serves WebSockets on which a message has arrived.
func afterMessage(serve func(net.Conn)) func(net.Conn) {
	return upgraded(func(conn net.Conn) {
		if _, _, err := wsutil.ReadClientData(conn); err == nil {
			serve(conn)
		}
	})
}

func newTarget(t testing.TB, c Config) *Target {
	t.Helper()
	target, err := New(c)
	testenv.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

func newTestVU(t testing.TB, target *Target) *vu {
	t.Helper()
	return wiretest.VU[*vu](t, target, 0)
}
