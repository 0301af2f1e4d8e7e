package grpc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

// A peer is the server's side of one call over raw frames.
type peer struct {
	*http2.Framer
	conn   net.Conn
	stream uint32
}

func block(fields ...string) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

func (p peer) headers(end bool, fields ...string) error {
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: p.stream, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
}

func (p peer) begin() { p.headers(false, ":status", "200", "content-type", "application/grpc") }

// message sends what is there of a message with a length of its own saying.
func (p peer) message(flag byte, length uint32, there string) error {
	head := binary.BigEndian.AppendUint32([]byte{flag}, length)
	return p.WriteData(p.stream, false, append(head, there...))
}

// What each does with a call in flight, and what is made of it.
var hostilePeers = []struct {
	name   string
	answer func(p peer)
	want   errkind.Kind
}{
	{"silence", func(peer) {}, errkind.Timeout},
	{"headers only", func(p peer) { p.begin() }, errkind.Timeout},
	{"half a message", func(p peer) { p.begin(); p.message(0, 10, "half") }, errkind.Timeout},
	{"half a message and closed", func(p peer) { p.begin(); p.message(0, 10, "half"); p.conn.(*net.TCPConn).CloseWrite() }, errkind.Closed},
	{"half a message and the end", func(p peer) { p.begin(); p.message(0, 10, "half"); p.WriteData(p.stream, true, nil) }, errkind.Protocol},
	{"closed", func(p peer) { p.begin(); p.conn.(*net.TCPConn).CloseWrite() }, errkind.Closed},
	{"reset", func(p peer) { p.begin(); reset(p.conn); p.conn.Close() }, errkind.Reset},
	{"stream reset", func(p peer) { p.begin(); p.WriteRSTStream(p.stream, http2.ErrCodeInternal) }, errkind.Reset},
	{"stream reset, out of calm", func(p peer) { p.begin(); p.WriteRSTStream(p.stream, http2.ErrCodeEnhanceYourCalm) }, errkind.Reset},
	{"goaway in mid-stream, then closed", func(p peer) {
		p.begin()
		p.WriteGoAway(p.stream, http2.ErrCodeNo, nil)
		p.conn.(*net.TCPConn).CloseWrite()
	}, errkind.Closed},
	{"goaway in mid-stream, then silence", func(p peer) { p.begin(); p.WriteGoAway(p.stream, http2.ErrCodeNo, nil) }, errkind.Timeout},
	{"garbage", func(p peer) { p.begin(); io.WriteString(p.conn, strings.Repeat("no frame of any kind", 100)) }, errkind.Protocol},
	{"too large", func(p peer) { p.begin(); p.message(0, 5<<20, "") }, errkind.Protocol},
	{"larger than anything", func(p peer) { p.begin(); p.message(0, 1<<32-1, "") }, errkind.Protocol},
	{"compressed by nobody knows what", func(p peer) { p.begin(); p.message(1, 4, "four") }, errkind.Protocol},
	{"a status that is no number", func(p peer) { p.begin(); p.headers(true, "grpc-status", "fine") }, errkind.Protocol},
	{"HTML", func(p peer) {
		p.headers(false, ":status", "200", "content-type", "text/html")
		p.WriteData(p.stream, true, []byte("<html>"))
	}, errkind.Protocol},
	{"HTTP 503", func(p peer) { p.headers(true, ":status", "503") }, errkind.Protocol},
	{"endless headers", func(p peer) {
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: p.stream, BlockFragment: block(":status", "200")})
		for p.WriteContinuation(p.stream, false, block("a", strings.Repeat("~", 8000))) == nil {
		}
	}, errkind.Protocol},
	{"a byte at a time", func(p peer) {
		p.begin()
		p.message(0, 1000, "")
		for p.WriteData(p.stream, false, []byte("x")) == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}, errkind.Timeout},
	{"pings", func(p peer) {
		for p.WritePing(false, [8]byte{}) == nil {
			time.Sleep(time.Millisecond)
		}
	}, errkind.Timeout},
}

type hostileCall struct {
	name   string
	config func(address string) Config
}

func hostileCalls() []hostileCall {
	return []hostileCall{
		{"unary", func(address string) Config { return config(address, wire.PerVU) }},
		{"Collect", func(address string) Config { return chat(address, "Collect", threeItems) }},
		{"List", func(address string) Config { return chat(address, "List", `{"value": 3}`) }},
		{"Talk", func(address string) Config { return chat(address, "Talk", threeItems) }},
		{"held", func(address string) Config {
			cfg := chat(address, "Talk", threeItems)
			cfg.Stream, cfg.Connections.Sharing = PerVU, wire.PerVU
			return cfg
		}},
	}
}

// Whatever a server does with a stream, it is told apart by kind.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, test := range hostilePeers {
		for _, call := range hostileCalls() {
			t.Run(test.name+"/"+call.name, func(t *testing.T) {
				t.Parallel()
				vu := newVU(t, open(t, call.config(hostile(t, test.answer))), 0)
				timeout := 10 * time.Second
				if test.want == errkind.Timeout {
					timeout = 40 * time.Millisecond
				}
				vu.(load.TimeoutSetter).SetTimeout(timeout)
				_, err := vu.Do(t.Context())
				checkKind(t, err, test.want)
				if _, err := vu.Do(t.Context()); err == nil { // the VU stays ready for the next
					t.Error("an answer")
				}
			})
		}
	}
}

func hostile(t *testing.T, answer func(peer)) string {
	return frames(t, func(framer *http2.Framer, conn net.Conn, stream uint32) { answer(peer{framer, conn, stream}) })
}

// A run against a hostile server ends with its grace, even without a timeout,
// and has no throughput.
func TestHostileRun(t *testing.T) {
	t.Parallel()
	peers := append(hostilePeers[:len(hostilePeers):len(hostilePeers)], struct {
		name   string
		answer func(p peer)
		want   errkind.Kind
	}{"endless stream", func(p peer) {
		p.begin()
		for p.message(0, 2, "xx") == nil {
		}
	}, ""})
	for _, test := range peers {
		for _, call := range hostileCalls() {
			if call.name == "Collect" || call.name == "Talk" || call.name == "held" && test.want == "" {
				continue // as unary and held; and endless answers do answer each message
			}
			t.Run(test.name+"/"+call.name, func(t *testing.T) {
				t.Parallel()
				target := open(t, call.config(hostile(t, test.answer)))
				start := time.Now()
				plan := load.Plan{VUs: 4, Duration: 30 * time.Millisecond, Grace: 10 * time.Millisecond}
				result, err := load.Run(t.Context(), test.name, byCalls{target}, plan)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > testenv.Patience {
					t.Errorf("took %v", took)
				}
				if result.Completed != 0 || result.Planned != result.Failed+result.ErroredTotal()+result.Unfinished {
					t.Errorf("planned %d, completed %d, failed %d, errored %v, unfinished %d",
						result.Planned, result.Completed, result.Failed, result.Errored, result.Unfinished)
				}
			})
		}
	}
}

// Trailers without a status mean UNKNOWN: gRPC over HTTP/2, section Responses.
func TestNoStatus(t *testing.T) {
	address := hostile(t, func(p peer) { p.begin(); p.headers(true, "a", "b") })
	for _, call := range hostileCalls() {
		out, err := newVU(t, open(t, call.config(address)), 0).Do(t.Context())
		if err != nil || !out.Failed || out.Status != int(codes.Unknown) {
			t.Errorf("%s: got %+v, %v", call.name, out, err)
		}
	}
}

// A server that does not read stops a client that sends more than the window.
func TestNeverReads(t *testing.T) {
	// 40 messages of 5000 bytes and more are three windows of 65535.
	data := fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", 5000))
	cfg := chat(hostile(t, func(p peer) {}), "Collect", data)
	cfg.Messages = 40
	vu := newVU(t, open(t, cfg), 0)
	vu.(load.TimeoutSetter).SetTimeout(50 * time.Millisecond)
	_, err := vu.Do(t.Context())
	checkKind(t, err, errkind.Timeout)
}

// A stream that the server drains with GOAWAY is finished; the next call goes
// over a new connection.
func TestGoAwayIsFinished(t *testing.T) {
	address := hostile(t, func(p peer) {
		p.begin()
		p.message(0, 2, "\x08\x01")
		p.WriteGoAway(p.stream, http2.ErrCodeNo, nil)
		p.message(0, 2, "\x08\x01")
		p.headers(true, "grpc-status", "0")
	})
	vu := newVU(t, open(t, chat(address, "List", `{"value": 2}`)), 0)
	vu.(load.TimeoutSetter).SetTimeout(5 * time.Second)
	for range 3 {
		out, err := vu.Do(t.Context())
		if err != nil || out.Failed || len(out.Messages) != 2 {
			t.Errorf("got %+v, %v", out, err)
		}
	}
}
