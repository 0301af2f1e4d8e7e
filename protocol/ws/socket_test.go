package ws

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// socketOf is a socket, and the server's side of it.
func socketOf(t *testing.T) (*Socket, net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { server.Close() })
	s := newSocket(client, nil, false, 1000)
	s.wire = client
	return s, server
}

// A server that reads and never answers a close holds nobody up for longer than its time.
func TestACloseWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := socketOf(t)
		go func() { _, _ = io.Copy(io.Discard, server) }()
		testenv.Must(t, s.SendClose(1000, "bye"))
		began := time.Now()
		_, err := s.Next()
		if took := time.Since(began); errkind.Of(err) != errkind.Timeout || took != closeTimeout {
			t.Errorf("%v after %v, want a timeout after %v", err, took, closeTimeout)
		}
		if err := s.Send(Text, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after a close it sends: %v", err)
		}
		s.Close(closeTimeout)
	})
}

// Messages that a server does not read wait, up to a bound, and are given up after the patience.
func TestASocketOfAServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := socketOf(t)
		for range 4 {
			testenv.Must(t, s.Send(Binary, make([]byte, maxUnsent/4-100)))
		}
		if err := s.Send(Binary, make([]byte, 1000)); !errors.Is(err, errFull) || s.Unsent() < maxUnsent-400 {
			t.Errorf("%v with %d bytes unsent", err, s.Unsent())
		}
		began := time.Now()
		if s.Close(time.Second); time.Since(began) != time.Second {
			t.Errorf("closed after %v, want 1 s", time.Since(began))
		}
	})
}

// Messages are compressed both ways where the server agrees on it.
func TestACompressedSocket(t *testing.T) {
	const text = "hello hello hello hello hello"
	addr := wiretest.Listen(t, func(conn net.Conn) {
		if deflating(conn) != nil {
			return
		}
		h, err := ws.ReadHeader(conn)
		if err != nil || !h.Rsv1() || h.Length >= int64(len(text)) {
			return
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(conn, payload); err != nil {
			return
		}
		ws.Cipher(payload, h.Mask, 0)
		_ = ws.WriteFrame(conn, ws.Frame{Header: ws.Header{Fin: true, Rsv: h.Rsv, OpCode: ws.OpText, Length: h.Length}, Payload: payload})
		wiretest.Hang(conn)
	})
	s, answer, err := DialSocket(context.Background(), &url.URL{Scheme: "ws", Host: addr, Path: "/"}, SocketOptions{Compress: true, MaxMessage: 1000})
	if err != nil || s == nil {
		t.Fatal(answer, err)
	}
	defer s.Close(0)
	testenv.Must(t, s.Send(Text, []byte(text)))
	if r, err := s.Next(); err != nil || string(r.Data) != text || r.Body >= int64(len(text)) {
		t.Errorf("%q of %d bytes, %v", r.Data, r.Body, err)
	}
	if !strings.Contains(answer.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		t.Errorf("the answer's header is %v", answer.Header)
	}
}
