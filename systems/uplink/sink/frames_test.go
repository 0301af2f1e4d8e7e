package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/websocket"
	"contend/websocket/websockettest"
)

// A feed is a connection that brings what a reader has.
type feed struct {
	net.Conn
	io.Reader
	written bytes.Buffer
}

func (f *feed) Read(p []byte) (int, error)       { return f.Reader.Read(p) }
func (f *feed) Write(p []byte) (int, error)      { return f.written.Write(p) }
func (f *feed) SetReadDeadline(time.Time) error  { return nil }
func (f *feed) SetWriteDeadline(time.Time) error { return nil }

func newFeed(r io.Reader) (*connection, *feed) {
	f := &feed{Reader: r}
	return newConnection(f, nil, rand.NewChaCha8([32]byte{})), f
}

// all returns every message that the connection brings, and why it ended.
func all(l *connection) (messages []string, err error) {
	for {
		m, err := l.next()
		switch {
		case err != nil:
			return messages, err
		case m != nil:
			messages = append(messages, fmt.Sprintf("%x %s", byte(m.Op), m.Data))
			continue
		}
		if err := l.fill(); err != nil {
			return messages, err
		}
	}
}

// A frame that the server breaks ends the connection, as everywhere (websockettest).
func TestHostileFrames(t *testing.T) {
	for _, tt := range websockettest.Server.Mistakes(maxMessage) {
		l, _ := newFeed(bytes.NewReader(tt.Bytes))
		_, err := all(l)
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != tt.Code {
			t.Errorf("%s: error %v, want code %d", tt.Name, err, tt.Code)
		}
	}
	l, _ := newFeed(strings.NewReader("\x82\x05a"))
	if _, err := all(l); err == nil || !strings.Contains(err.Error(), "without a close frame") {
		t.Errorf("cut off: error %v", err)
	}
}

// Answers are frames that a server can read, and all of them go out at once.
func TestAnswersGoOutTogether(t *testing.T) {
	l, f := newFeed(bytes.NewReader(nil))
	texts := []string{"", "ack", strings.Repeat("y", 125), strings.Repeat("z", 126), strings.Repeat("w", 60_000)}
	for _, text := range texts {
		l.send(ws.OpText, []byte(text))
	}
	if f.written.Len() > 0 {
		t.Errorf("%d bytes were written before the flush", f.written.Len())
	}
	if err := l.flush(); err != nil || int(l.bytesOut) != f.written.Len() {
		t.Errorf("%d bytes out, counted %d, error %v", f.written.Len(), l.bytesOut, err)
	}
	masks := map[[4]byte]bool{}
	for _, want := range texts {
		h, err := ws.ReadHeader(&f.written)
		if err != nil {
			t.Fatal(err)
		}
		data := f.written.Next(int(h.Length))
		ws.Cipher(data, h.Mask, 0)
		if err := ws.CheckHeader(h, ws.StateServerSide); err != nil || string(data) != want {
			t.Errorf("a frame of %d bytes, want %d, error %v", len(data), len(want), err)
		}
		masks[h.Mask] = true
	}
	if len(masks) < len(texts) {
		t.Errorf("%d masks for %d frames", len(masks), len(texts))
	}
}
