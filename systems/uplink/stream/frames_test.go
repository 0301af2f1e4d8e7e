package stream

import (
	"bytes"
	"strings"
	"testing"

	"contend/websocket"
	"contend/websocket/websockettest"

	"github.com/gobwas/ws"
)

// frame returns a frame as a client sends it.
func frame(op ws.OpCode, fin bool, payload []byte) []byte {
	return websockettest.Client.Frame(op, fin, payload)
}

// A close frame holds what it can of its reason, as valid UTF-8.
func TestCloseFrame(t *testing.T) {
	tests := []struct {
		give, want string
	}{
		{"why", "why"},
		{strings.Repeat("x", 124), strings.Repeat("x", 123)},
		{strings.Repeat("€", 42), strings.Repeat("€", 41)}, // 126 bytes, and 123
		{strings.Repeat("x", 122) + "€", strings.Repeat("x", 122)},
		{"\xff!", "!"},
	}
	for _, tt := range tests {
		out := appendClose(nil, &websocket.CloseError{Code: 1008, Reason: tt.give})
		op, data, err := readFrame(bytes.NewReader(out))
		if code, reason := ws.ParseCloseFrameData(data); op != ws.OpClose || code != 1008 || reason != tt.want || err != nil {
			t.Errorf("%q: %x %d %q %v", tt.give, op, code, reason, err)
		}
	}
}
