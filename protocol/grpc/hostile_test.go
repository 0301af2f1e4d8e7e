package grpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"contend/errkind"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// A peer is the server's side of one call over raw frames.
type peer struct{ wiretest.Stream }

var answerHead = []string{":status", "200", "content-type", "application/grpc"}

func (p peer) begin() { _ = p.Headers(false, answerHead...) }

// message sends as much of a message as is given, with a length of its own choice.
func (p peer) message(flag byte, length uint32, there string) error {
	head := binary.BigEndian.AppendUint32([]byte{flag}, length)
	return p.WriteData(p.ID, false, append(head, there...))
}

// right is a whole answer.
func (p peer) right() {
	p.begin()
	_ = p.message(0, 2, "\x08\x01")
	_ = p.Headers(true, "grpc-status", "0")
}

// answered serves a call as answer does.
func answered(answer func(peer)) func(net.Conn) {
	return wiretest.Streams(func(s wiretest.Stream) { answer(peer{s}) })
}

func hostile(t *testing.T, answer func(peer)) string { return wiretest.Listen(t, answered(answer)) }

// hostilePeers misbehave with a call in flight, in words of gRPC.
func hostilePeers() []wiretest.Peer {
	all := wiretest.OverHTTP2(answerHead...)
	for _, p := range []struct {
		name   string
		answer func(p peer)
		want   errkind.Kind
	}{
		{"half a message and the end", func(p peer) { p.begin(); p.message(0, 10, "half"); p.WriteData(p.ID, true, nil) }, errkind.Protocol},
		{"data without status", func(p peer) { p.WriteData(p.ID, true, nil) }, errkind.Protocol},
		{"too large", func(p peer) { p.begin(); p.message(0, 5<<20, "") }, errkind.Protocol},
		{"larger than anything", func(p peer) { p.begin(); p.message(0, 1<<32-1, "") }, errkind.Protocol},
		{"compressed by nobody knows what", func(p peer) { p.begin(); p.message(1, 4, "four") }, errkind.Protocol},
		{"a status that is no number", func(p peer) { p.begin(); p.Headers(true, "grpc-status", "fine") }, errkind.Protocol},
		{"HTML", func(p peer) {
			p.Headers(false, ":status", "200", "content-type", "text/html")
			p.WriteData(p.ID, true, []byte("<html>"))
		}, errkind.Protocol},
		{"HTTP 503", func(p peer) { p.Headers(true, ":status", "503") }, errkind.Protocol},
		{"a long message a byte at a time", func(p peer) {
			p.begin()
			p.message(0, 1000, "")
			for p.WriteData(p.ID, false, []byte("x")) == nil {
				time.Sleep(5 * time.Millisecond)
			}
		}, errkind.Timeout},
	} {
		all = append(all, wiretest.Peer{Name: p.name, Serve: answered(p.answer), Want: []errkind.Kind{p.want}})
	}
	return all
}

// A way is one to make a call, at a server of the kit.
type way struct {
	name   string
	config func(address string) Config
}

func calls() []way {
	all := []way{
		{"Collect", func(address string) Config { return chat(address, "Collect", threeItems) }},
		{"List", func(address string) Config { return chat(address, "List", `{"value": 3}`) }},
		{"Talk", func(address string) Config { return chat(address, "Talk", threeItems) }},
		{"held", func(address string) Config {
			cfg := chat(address, "Talk", threeItems)
			cfg.Stream, cfg.Connections.Sharing = PerVU, wire.PerVU
			return cfg
		}},
	}
	for _, mode := range modes() {
		all = append(all, way{"unary, " + wire.Connections{Sharing: mode}.String(), func(address string) Config { return config(address, mode) }})
	}
	return all
}

// protocol is what every way of making a call has to survive.
func protocol() wiretest.Protocol {
	p := wiretest.Protocol{
		Asked:   wiretest.AskedOverHTTP2,
		Answers: []string{wiretest.Frames(func(s wiretest.Stream) { peer{s}.right() })},
		Foreign: []errkind.Kind{errkind.Protocol},
		Resets:  []errkind.Kind{errkind.Reset, errkind.Closed}, // grpc-go also writes, and the kernel tells of a reset once: what reads next finds the end
		Wants: map[string][]errkind.Kind{
			"speaks a frame of HTTP2": nil,
			"endless pings":           nil,              // grpc-go answers each
			"speaks an alert of TLS":  {errkind.Closed}, // in less than a frame
			"endless interim answers": {errkind.Timeout, errkind.Protocol},
			"closes in the handshake": {errkind.TLS, errkind.Closed, errkind.Reset},
		},
		Peers: hostilePeers(),
		ALPN:  []string{"h2"},
	}
	for _, c := range calls() {
		open := func(t testing.TB, s wiretest.Server) *Target {
			cfg := c.config(s.Address)
			if s.Secure {
				secure(&cfg)
				cfg.TLS = wire.TLS{CA: s.CA, Insecure: s.CA == nil && !s.Strict, ServerName: s.Name}
			}
			return open(t, cfg)
		}
		p.Ways = append(p.Ways, wiretest.Way{Name: c.name, Plain: true, Secure: c.name == "unary, per-vu", Alone: true,
			Open: func(t testing.TB, s wiretest.Server) load.Target { return wiretest.Calls{Target: open(t, s)} }})
		if ok, _ := loop.Supported(); ok && strings.HasPrefix(c.name, "unary") {
			p.Ways = append(p.Ways, wiretest.Way{Name: c.name + ", loop", Plain: true, Alone: true,
				Open: func(t testing.TB, s wiretest.Server) load.Target { return open(t, s) }})
		}
	}
	return p
}

// directVU makes unary calls with a Client.
type directVU struct {
	address string
	method  *Method
	client  *Client
}

func (d *directVU) Do(ctx context.Context) (load.Outcome, error) {
	if d.client == nil {
		c, err := Dial(ctx, d.address, Options{})
		if err != nil {
			return load.Outcome{}, err
		}
		d.client = c
	}
	r := d.client.Invoke(ctx, d.method, nil, nil)
	if r.Err != nil && r.Code != 0 && r.Status != "" {
		return load.Outcome{}, r.Err
	}
	return load.Outcome{Failed: r.Code != 0}, nil
}

func (d *directVU) Close() error {
	if d.client == nil {
		return nil
	}
	return d.client.Close()
}

type directTarget struct {
	address string
	method  *Method
}

func (d directTarget) NewVU(context.Context, int) (load.VU, error) {
	return &directVU{address: d.address, method: d.method}, nil
}

// byWay is the protocol with the way that holds its stream, and with all others.
func byWay(t *testing.T) (others, held wiretest.Protocol) {
	p := protocol()
	method := theMethod(t)
	p.Ways = append(p.Ways, wiretest.Way{Name: "client", Plain: true,
		Open: func(_ testing.TB, s wiretest.Server) load.Target { return directTarget{s.Address, method} }})
	held = p
	held.Ways = slices.DeleteFunc(slices.Clone(p.Ways), func(w wiretest.Way) bool { return w.Name != "held" })
	held.Answers = []string{wiretest.Frames(func(s wiretest.Stream) { // a message is one
		peer{s}.begin()
		_ = peer{s}.message(0, 2, "\x08\x01")
	})}
	p.Ways = slices.DeleteFunc(p.Ways, func(w wiretest.Way) bool { return w.Name == "held" })
	return p, held
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	others, held := byWay(t)
	others.Hostile(t)
	held.Hostile(t)
}

func TestEndlessServers(t *testing.T) {
	others, held := byWay(t)
	others.Endless(t)
	held.Endless(t)
}

func TestRestarted(t *testing.T) {
	t.Parallel()
	counter, chat := newCounterServer(t), newChatServer(t)
	protocol().Restarted(t, func(t testing.TB, address string) func() {
		server := grpc.NewServer()
		server.RegisterService(counter.desc(), struct{}{})
		server.RegisterService(chat.desc(), struct{}{})
		serve(t, address, server)
		return server.Stop
	}, errkind.Refused)
}

// Messages without end are an answer to a stream, and no valid one to a call.
func TestEndlessMessages(t *testing.T) {
	endless := func(p peer) {
		p.begin()
		for p.message(0, 2, "xx") == nil {
		}
	}
	for _, cfg := range []Config{config(hostile(t, endless), wire.PerVU), chat(hostile(t, endless), "List", `{"value": 3}`)} {
		wiretest.Ends(t, wiretest.Calls{Target: open(t, cfg)}, 0)
	}
}

// Trailers without a status mean UNKNOWN: gRPC over HTTP/2, section Responses.
func TestNoStatus(t *testing.T) {
	address := hostile(t, func(p peer) { p.begin(); p.Headers(true, "a", "b") })
	for _, call := range calls() {
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
	wiretest.Errs(t, open(t, cfg), errkind.Timeout)
}

// A stream that the server drains with GOAWAY is finished; the next call goes
// over a new connection.
func TestGoAwayIsFinished(t *testing.T) {
	address := hostile(t, func(p peer) {
		p.begin()
		p.message(0, 2, "\x08\x01")
		p.WriteGoAway(p.ID, http2.ErrCodeNo, nil)
		p.message(0, 2, "\x08\x01")
		p.Headers(true, "grpc-status", "0")
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
