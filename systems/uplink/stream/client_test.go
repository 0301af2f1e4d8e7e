package stream

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"

	"github.com/gobwas/ws"
	"go.uber.org/goleak"
)

const device lorawan.EUI = 0x9c1f4a00d2e80b37

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service is a Server with outboxes, mounted as the router does it.
type service struct {
	*Server
	t    testing.TB
	dial func() (net.Conn, error)

	mu      sync.Mutex
	boxes   map[string]*outbox.Outbox
	settled map[outbox.Outcome]int
	hooks   []string
}

// newService starts a service on a real socket. Customers are whoever's token
// begins with "token-".
func newService(t testing.TB, c Config) *service {
	s := prepare(t, c)
	server := httptest.NewServer(s.mux())
	s.dial = func() (net.Conn, error) { return net.Dial("tcp", server.Listener.Addr().String()) }
	t.Cleanup(func() {
		s.stop()
		server.Close()
	})
	return s
}

func prepare(t testing.TB, c Config) *service {
	s := &service{t: t, boxes: map[string]*outbox.Outbox{}, settled: map[outbox.Outcome]int{}}
	if c.Authenticate == nil {
		c.Authenticate = authenticate
	}
	if c.Outbox == nil {
		c.Outbox = s.box
	}
	c.Opened = func(customer string, kind Kind) { s.hook("+" + customer + " " + kind.String()) }
	c.Closed = func(customer string, kind Kind) { s.hook("-" + customer + " " + kind.String()) }
	s.Server = New(c)
	return s
}

func (s *service) mux() http.Handler {
	mux := http.NewServeMux()
	for _, slash := range []string{"", "/{$}"} {
		mux.Handle("/api/v1/stream/upstream"+slash, s.Upstream())
		mux.Handle("/api/v1/stream/downstream"+slash, s.Downstream())
	}
	return mux
}

func (s *service) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		s.t.Error("shutdown:", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, box := range s.boxes {
		box.Close()
	}
	if open := s.Stats().Open; open != [kinds]int64{} {
		s.t.Error("open at the end:", open)
	}
}

func authenticate(r *http.Request) (customer string, valid context.Context, ok bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		token = r.URL.Query().Get("access_token")
	}
	customer, ok = strings.CutPrefix(token, "token-")
	return customer, context.Background(), ok
}

func (s *service) box(customer string) *outbox.Outbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boxes[customer] == nil {
		s.boxes[customer] = outbox.New(outbox.Config{
			Trust: outbox.TrustConfig{Start: 2, Reduce: true},
			Settled: func(uplinks []*message.Uplink, outcome outbox.Outcome) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.settled[outcome] += len(uplinks)
			}})
	}
	return s.boxes[customer]
}

func (s *service) hook(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, text)
}

// outcomes returns how many uplinks were settled in this way.
func (s *service) outcomes(o outbox.Outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled[o]
}

// put gives a customer uplinks, numbered in their payload from first.
func (s *service) put(customer string, first, n int) {
	messages := make([]outbox.Message, n)
	for i := range messages {
		phy := []byte{0x40, 0xda, 0x1b, 1, 0x26, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4}
		binary.LittleEndian.PutUint32(phy[9:], uint32(first+i))
		messages[i] = outbox.Message{Candidates: []outbox.Candidate{{DevEUI: device}}, Uplink: &message.Uplink{PHY: phy,
			Arrived: time.Now(), Radio: message.Radio{Frequency: 867_500_000, Spreading: 9, Bandwidth: 125_000, RSSI: -97, SNR: 4.75}}}
	}
	s.box(customer).Put(messages)
}

// number is the number of an uplink that put made.
func number(u *message.Upstream) int { return int(binary.LittleEndian.Uint32(u.PHYNoMIC[9:])) }

// mic is the MIC of all those uplinks.
const mic = 0x01020304

// A client speaks raw WebSocket.
type client struct {
	t testing.TB
	net.Conn
	from     *bufio.Reader
	response *http.Response
}

// open connects a customer to a stream.
func (s *service) open(path, customer string) *client {
	s.t.Helper()
	c := s.request("GET /api/v1"+path+" HTTP/1.1", "Authorization: Bearer token-"+customer)
	if c.response.StatusCode != http.StatusSwitchingProtocols {
		s.t.Fatal(c.response.Status)
	}
	return c
}

// request makes a handshake with that first line and further lines of its own.
func (s *service) request(line string, more ...string) *client {
	s.t.Helper()
	return s.bare(line, append(more, "Host: localhost", "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
}

// bare sends a request of these lines, and whatever early, and reads the answer.
func (s *service) bare(line string, lines []string, early ...byte) *client {
	s.t.Helper()
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	c := &client{t: s.t, Conn: conn, from: bufio.NewReaderSize(conn, 1<<16)}
	c.must(conn.SetDeadline(time.Now().Add(testenv.Patience)))
	head := line + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	_, err = conn.Write(append([]byte(head), early...))
	c.must(err)
	c.response, err = http.ReadResponse(c.from, nil)
	c.must(err)
	return c
}

func (c *client) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) raw(data []byte) {
	c.t.Helper()
	_, err := c.Write(data)
	c.must(err)
}

func (c *client) send(op ws.OpCode, data []byte) {
	c.t.Helper()
	c.raw(frame(op, true, data))
}

// ack answers uplinks rightly, with one write.
func (c *client) ack(uplinks ...*message.Upstream) {
	c.t.Helper()
	var out []byte
	for _, u := range uplinks {
		out = append(out, frame(ws.OpText, true, message.AppendAnswer(nil,
			&message.Answer{Transaction: u.Transaction, DevEUI: u.DevEUIs[0], MIC: mic}))...)
	}
	c.raw(out)
}

// frame returns the next frame.
func (c *client) frame() (ws.OpCode, []byte, error) {
	return readFrame(c.from)
}

func readFrame(from io.Reader) (ws.OpCode, []byte, error) {
	h, err := ws.ReadHeader(from)
	if err == nil && (h.Masked || !h.Fin || h.Rsv != 0 || h.Length > 1<<21) {
		err = fmt.Errorf("a server does not send %+v", h)
	}
	if err != nil {
		return 0, nil, err
	}
	data := make([]byte, h.Length)
	_, err = io.ReadFull(from, data)
	return h.OpCode, data, err
}

// next returns the next message. It answers pings.
func (c *client) next() []byte {
	c.t.Helper()
	for {
		op, data, err := c.frame()
		c.must(err)
		switch op {
		case ws.OpText:
			return data
		case ws.OpPing:
			c.send(ws.OpPong, data)
		default:
			c.t.Fatalf("frame %x %q", op, data)
		}
	}
}

// uplink returns the next uplink.
func (c *client) uplink() *message.Upstream {
	c.t.Helper()
	u := new(message.Upstream)
	data := c.next()
	if err := message.ParseUpstream(data, u); err != nil {
		c.t.Fatalf("%v: %q", err, data)
	}
	return u
}

// closed reads up to the close frame, and to the end after it, and returns its
// code and reason.
func (c *client) closed() (ws.StatusCode, string) {
	c.t.Helper()
	for {
		op, data, err := c.frame()
		if err != nil {
			c.t.Fatal("no close frame:", err)
		}
		if op != ws.OpClose {
			continue
		}
		code, reason := ws.ParseCloseFrameData(data)
		if _, err := c.from.ReadByte(); !errors.Is(err, io.EOF) {
			c.t.Error("after the close frame:", err)
		}
		return code, reason
	}
}

// eventually waits until something is true.
var eventually = testenv.Eventually
