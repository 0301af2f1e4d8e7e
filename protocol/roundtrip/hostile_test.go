package roundtrip

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// hostile is what HTTP/2 has to survive, for each way to share connections.
func hostile() wiretest.Protocol {
	answer := func(length, body string) func(net.Conn) {
		return wiretest.Streams(func(s wiretest.Stream) {
			_ = s.Headers(false, ":status", "200", "content-length", length)
			_ = s.WriteData(s.ID, true, []byte(body))
		})
	}
	p := wiretest.Protocol{
		Asked: wiretest.AskedOverHTTP2,
		Answers: []string{wiretest.Frames(func(s wiretest.Stream) {
			_ = s.Headers(false, ":status", "200", "content-length", "10")
			_ = s.WriteData(s.ID, true, []byte("0123456789"))
		})},
		Foreign: []errkind.Kind{errkind.Protocol, errkind.Closed},
		Resets:  []errkind.Kind{errkind.Reset, errkind.Closed},
		Wants: map[string][]errkind.Kind{
			"endless interim answers": {errkind.Protocol, errkind.Timeout},
		},
		ALPN: []string{"h2"},
		Peers: append(wiretest.OverHTTP2(":status", "200"),
			wiretest.Peer{Name: "promises a frame", Serve: wiretest.AskedOverHTTP2(wiretest.Say(0, "\x00\x01\x02 garbage")), Want: []errkind.Kind{errkind.Timeout}},
			wiretest.Peer{Name: "less than announced", Serve: answer("5", "abc"), Want: []errkind.Kind{errkind.Closed, errkind.Protocol}},
			wiretest.Peer{Name: "more than announced", Serve: answer("2", "abc"), Want: []errkind.Kind{errkind.Protocol}},
			wiretest.Peer{Name: "never begins", Serve: wiretest.Streams(func(s wiretest.Stream) { _ = s.WriteGoAway(0, http2.ErrCodeNo, nil) }), Want: []errkind.Kind{errkind.Closed}},
			wiretest.Peer{Name: "refuses", Serve: wiretest.Streams(func(s wiretest.Stream) { _ = s.WriteRSTStream(s.ID, http2.ErrCodeRefusedStream) }), Want: []errkind.Kind{errkind.Reset}}),
	}
	for _, connections := range everyConnections {
		p.Ways = append(p.Ways, over("2", connections))
	}
	return p
}

// over is a way of a version.
func over(version string, connections wire.Connections) wiretest.Way {
	return wiretest.Way{Name: fmt.Sprintf("HTTP/%s, %v", version, connections), Plain: version == "2", Secure: true, Alone: true,
		Open: func(t testing.TB, s wiretest.Server) load.Target {
			c := Config{URL: "http://" + s.Address, Version: version, Sharing: connections}
			if s.Secure || version == "3" {
				c.URL, c.TLS = "https://"+s.Address, wire.TLS{CA: s.CA, Insecure: s.CA == nil && !s.Strict, ServerName: s.Name}
			}
			return newTarget(t, c)
		}}
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	hostile().Hostile(t)
}

func TestEndlessServers(t *testing.T) { hostile().Endless(t) }

func TestHostileHandlers(t *testing.T) {
	t.Parallel()
	for _, h := range wiretest.Handlers {
		onEvery(t, func(t *testing.T, w way, connections wire.Connections) {
			if connections.N > 0 || connections.Sharing == wire.PerIteration {
				return // like the others
			}
			t.Parallel()
			c := w.config(t, h.Serve)
			c.Sharing = connections
			t.Run(h.Name, func(t *testing.T) { wiretest.Errs(t, newTarget(t, c), h.Want...) })
		})
	}
}

func TestNobodyOfQUIC(t *testing.T) {
	t.Parallel()
	wiretest.Errs(t, newTarget(t, Config{URL: "https://" + testenv.HeldAddress(t), Version: "3"}), errkind.Refused)
	wiretest.Errs(t, newTarget(t, Config{URL: "https://name.invalid", Version: "3"}), errkind.DNS, errkind.Timeout)
}

func TestRestarted(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	streams := hostile()
	streams.Restarted(t, wiretest.OnTCP(func(l net.Listener) func() {
		s := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
		s.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = s.Serve(l) }()
		return func() { s.Close() }
	}), errkind.Refused)
	var quic wiretest.Protocol
	for _, connections := range everyConnections {
		quic.Ways = append(quic.Ways, over("3", connections))
	}
	quic.Restarted(t, func(t testing.TB, address string) func() {
		conn, err := net.ListenPacket("udp", address)
		for end := time.Now().Add(testenv.Patience); err != nil && time.Now().Before(end); conn, err = net.ListenPacket("udp", address) {
			time.Sleep(20 * time.Millisecond) // a socket of somebody may have the port for a while
		}
		if err != nil {
			t.Error(err)
			return func() {}
		}
		return serveQUIC(conn, handler)
	}, errkind.Timeout, errkind.Refused)
}

func TestHostileServersOfQUIC(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]byte{"silent": nil, "garbage": bytes.Repeat([]byte("\xaa"), 1200), "short": {0x40}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.ListenPacket("udp", "127.0.0.1:0")
			testenv.Must(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for buf := make([]byte, 2048); ; {
					_, from, err := conn.ReadFrom(buf)
					if err != nil {
						return
					}
					if answer != nil {
						_, _ = conn.WriteTo(answer, from)
					}
				}
			}()
			wiretest.Errs(t, newTarget(t, Config{URL: "https://" + conn.LocalAddr().String(), Version: "3", TLS: wire.TLS{Insecure: true}}), errkind.Timeout)
			conn.Close()
			<-done
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	ca := wiretest.Authority()
	for _, w := range ways[1:] {
		c := w.config(t, ok)
		for name, trust := range map[string]wire.TLS{"authority": {CA: ca}, "other name": {CA: ca, ServerName: "example.com"}} {
			c.TLS = trust
			if out, err := newTestVU(t, c).Do(context.Background()); err != nil || out.Failed {
				t.Errorf("%s, %s: got %+v, %v", w.name, name, out, err)
			}
		}
		c.TLS = wire.TLS{}
		wiretest.Errs(t, newTarget(t, c), errkind.TLS)
		c.TLS = wire.TLS{CA: ca, ServerName: "other.invalid"}
		wiretest.Errs(t, newTarget(t, c), errkind.TLS)
	}
	t.Run("HTTP/1.1 only", func(t *testing.T) {
		s := newServer(http.HandlerFunc(ok))
		s.StartTLS()
		defer s.Close()
		wiretest.Errs(t, newTarget(t, Config{URL: s.URL, Version: "2", TLS: wire.TLS{Insecure: true}}), errkind.TLS, errkind.Protocol)
	})
}
