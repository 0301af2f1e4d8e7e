package ws

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsflate"
	"github.com/gobwas/ws/wsutil"
	xws "golang.org/x/net/websocket"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// piped makes connections in memory, which fake time likes.
func piped(serve func(net.Conn)) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			serve(theirs)
		}()
		return ours, nil
	}
}

func TestAKnownDelayIsMeasured(t *testing.T) {
	for _, connections := range everyConnections {
		synctest.Test(t, func(t *testing.T) {
			const delay = 30 * time.Millisecond
			target := newTarget(t, Config{URL: "ws://pipe/", Message: []byte("x"), Connections: connections,
				Dial: piped(answering(func(m []byte) []byte { time.Sleep(delay); return m }))})
			v := newTestVU(t, target)
			v.SetTimeout(time.Second)
			for range 3 {
				start := time.Now()
				out, err := v.Do(t.Context())
				if err != nil || time.Since(start) != delay || out.Phases.FirstByte != delay {
					t.Errorf("%v: took %v, first byte %v, %v; want %v", connections, time.Since(start), out.Phases.FirstByte, err, delay)
				}
			}
		})
	}
}

func TestTimeoutIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, Config{URL: "ws://pipe/", Message: []byte("x"), Dial: piped(upgraded(wiretest.Hang))})
		v := newTestVU(t, target)
		v.SetTimeout(time.Second)
		start := time.Now()
		if _, err := v.Do(t.Context()); errkind.Of(err) != errkind.Timeout || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// The server closes idle connections after a second unless a ping is answered.
func TestPingsAreAnsweredWhileNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pongs := 0
		target := newTarget(t, Config{URL: "ws://pipe/", Message: []byte("x"), Dial: piped(upgraded(func(conn net.Conn) {
			for {
				if h, err := ws.ReadHeader(conn); err != nil || h.Length != 1 {
					return
				} else if _, err := conn.Read(make([]byte, h.Length)); err != nil {
					return
				} else if h.OpCode == ws.OpPong {
					pongs++
				} else if wsutil.WriteServerText(conn, []byte("y")) != nil {
					return
				}
				if pongs < 100 {
					time.Sleep(time.Second)
					_ = ws.WriteFrame(conn, ws.NewPingFrame([]byte("p")))
				}
			}
		}))})
		v := newTestVU(t, target)
		v.SetTimeout(2 * time.Second)
		for range 2 {
			out, err := v.Do(t.Context())
			if err != nil || out.Phases.Connect != 0 {
				t.Errorf("got %+v, %v", out, err)
			}
			time.Sleep(time.Minute * 5)
			synctest.Wait()
		}
		if pongs != 100 {
			t.Errorf("%d pings were answered, want 100", pongs)
		}
	})
}

func TestBytesAreCounted(t *testing.T) {
	target := newTarget(t, Config{URL: "ws://" + wiretest.Listen(t, answering(echo)), Message: bytes.Repeat([]byte("x"), 200)})
	out, err := newTestVU(t, target).Do(context.Background())
	// 2 bytes, 2 more for a length above 125, and to the server 4 of the mask
	if err != nil || out.BytesIn != 204 || out.BodyIn != 200 || out.BytesOut != 208 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestMessagesMayComeInPartsWithPingsBetween(t *testing.T) {
	addr := wiretest.Listen(t, afterMessage(wiretest.Say(0, "\x01\x03abc", "\x89\x01p", "\x00\x00", "\x00\x02de", "\x80\x01f")))
	target := newTarget(t, Config{URL: "ws://" + addr, Message: []byte("x"), Check: contains("abcdef")})
	out, err := newTestVU(t, target).Do(context.Background())
	if err != nil || out.Failed || out.BodyIn != 6 || out.BytesIn != 14 {
		t.Errorf("got %+v, %v; detail %q", out, err, out.Detail)
	}
}

func TestMaxMessageIsTheGreatestLength(t *testing.T) {
	for _, length := range []int{0, 125, 126, 4095, 4096, 4097, 65535, 65536, 1 << 20, 1<<20 + 1} {
		message := bytes.Repeat([]byte("x"), length)
		target := newTarget(t, Config{URL: "ws://" + wiretest.Listen(t, answering(echo)), Message: message, Check: contains(string(message[:min(length, 1<<20)]))})
		out, err := newTestVU(t, target).Do(context.Background())
		if length > 1<<20 {
			if errkind.Of(err) != errkind.Protocol {
				t.Errorf("%d bytes: got %+v, %v", length, out, err)
			}
		} else if err != nil || out.Failed || out.BodyIn != int64(length) {
			t.Errorf("%d bytes: got %+v, %v", length, out, err)
		}
	}
}

func TestHandshakeSendsWhatIsConfigured(t *testing.T) {
	got := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r
		u := ws.HTTPUpgrader{Protocol: func(p string) bool { return p == "second" }}
		conn, _, _, err := u.Upgrade(r, w)
		if err == nil {
			conn.Close()
		}
	}))
	defer server.Close()
	target := newTarget(t, Config{URL: strings.Replace(server.URL, "http", "ws", 1) + "/a?b=c",
		Header: []wire.Field{{Name: "Authorization", Value: "Bearer x"}, {Name: "host", Value: "other"}}, Subprotocols: []string{"first", "second"}})
	newTestVU(t, target)
	r := <-got
	if r.Host != "other" || r.Header.Get("Authorization") != "Bearer x" || r.URL.RequestURI() != "/a?b=c" || r.Header.Get("Sec-Websocket-Protocol") != "first, second" {
		t.Errorf("got %+v", r)
	}
}

// An independent implementation of the server's side.
func TestAnotherServer(t *testing.T) {
	server := httptest.NewServer(xws.Handler(func(conn *xws.Conn) {
		var message []byte
		for xws.Message.Receive(conn, &message) == nil {
			_ = xws.Message.Send(conn, message)
		}
	}))
	defer server.Close()
	target := newTarget(t, Config{URL: strings.Replace(server.URL, "http", "ws", 1), Message: bytes.Repeat([]byte("mask me "), 1000),
		Binary: true, Check: contains("mask me "), Header: []wire.Field{{Name: "Origin", Value: "http://localhost"}}})
	v := newTestVU(t, target)
	for range 10 {
		if out, err := v.Do(context.Background()); err != nil || out.Failed || out.BodyIn != 8000 {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
}

// deflating upgrades a connection with permessage-deflate.
func deflating(conn net.Conn) error {
	extension := wsflate.Extension{Parameters: wsflate.DefaultParameters}
	_, err := ws.Upgrader{Negotiate: extension.Negotiate}.Upgrade(conn)
	return err
}

func TestCompressedMessages(t *testing.T) {
	text := strings.Repeat("compress me ", 1000)
	addr := wiretest.Listen(t, func(conn net.Conn) {
		if deflating(conn) != nil {
			return
		}
		for {
			h, err := ws.ReadHeader(conn)
			if err != nil || !h.Rsv1() {
				return
			}
			frame := ws.Frame{Header: h, Payload: make([]byte, h.Length)}
			if _, err := io.ReadFull(conn, frame.Payload); err != nil {
				return
			}
			if frame, err = wsflate.DecompressFrame(ws.UnmaskFrame(frame)); err != nil {
				return
			}
			if frame, err = wsflate.CompressFrame(ws.NewTextFrame(frame.Payload)); err != nil || ws.WriteFrame(conn, frame) != nil {
				return
			}
		}
	})
	for _, c := range []Config{
		{Message: []byte(text)},
		{Message: []byte(`{"id": 0, "text": "` + text + `"}`), Match: ByID, IDPath: "$.id"},
	} {
		c.URL, c.Compress, c.Check = "ws://"+addr, true, contains(text)
		v := newTestVU(t, newTarget(t, c))
		for range 3 {
			out, err := v.Do(context.Background())
			if err != nil || out.Failed || out.BytesIn > 500 || out.BytesOut > 500 {
				t.Errorf("got %+v, %v", out, err)
			}
		}
	}
}

func TestAServerThatDeclinesCompressionGetsPlainMessages(t *testing.T) {
	target := newTarget(t, Config{URL: "ws://" + wiretest.Listen(t, answering(echo)), Compress: true, Message: []byte("plain"), Check: contains("plain")})
	if out, err := newTestVU(t, target).Do(context.Background()); err != nil || out.Failed {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestAConnectionClosedWhileIdleIsOpenedAgain(t *testing.T) {
	addr := wiretest.Listen(t, upgraded(func(conn net.Conn) {
		if m, _, err := wsutil.ReadClientData(conn); err == nil {
			_ = wsutil.WriteServerText(conn, m)
			_ = ws.WriteFrame(conn, ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusGoingAway, "idle")))
			wiretest.Hang(conn)
		}
	}))
	v := newTestVU(t, newTarget(t, Config{URL: "ws://" + addr, Message: []byte("x")}))
	for i := range 3 {
		out, err := v.Do(context.Background())
		if err != nil || i > 0 && out.Phases.Connect <= 0 { // the first may wait for a connection that took long
			t.Errorf("iteration %d: got %+v, %v", i, out, err)
		}
		testenv.Eventually(t, "the close frame is read", func() bool { c := v.slot.Get(); return c == nil || c.IsDead() })
	}
}

// The fields of a handshake's response are lists of tokens, whatever their case, and other
// responses may inform before it (RFC 9110, sections 5.6.1 and 15.2).
func TestHandshakesOfLists(t *testing.T) {
	for _, lines := range []string{
		"Connection: keep-alive, Upgrade\r\nUpgrade: websocket",
		"connection: keep-alive\r\nConnection: UPGRADE\r\nupgrade: other, WebSocket",
	} {
		for _, before := range []string{"", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"} {
			url := "ws://" + wiretest.Listen(t, func(conn net.Conn) {
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				accept := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
				fmt.Fprintf(conn, "%sHTTP/1.1 101 Go\r\n%s\r\nSec-WebSocket-Accept: %s\r\n\r\n", before, lines, base64.StdEncoding.EncodeToString(accept[:]))
				serveEcho(conn)
			})
			v := newTestVU(t, newTarget(t, Config{URL: url, Message: []byte("hello")}))
			if out, err := v.Do(t.Context()); err != nil || out.Failed || out.BodyIn != 5 {
				t.Errorf("%q: got %+v, %v", lines, out, err)
			}
			u, err := neturl.Parse(url)
			testenv.Must(t, err)
			s, answer, err := DialSocket(t.Context(), u, SocketOptions{MaxMessage: maxMessage})
			if err != nil || s == nil || answer.Status != 101 {
				t.Errorf("%q: a socket: %+v, %v", lines, answer, err)
				continue
			}
			s.Close(0)
		}
	}
}
