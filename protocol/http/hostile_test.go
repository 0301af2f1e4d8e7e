package http

import (
	"fmt"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"contend/errkind"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

const ok200 = "HTTP/1.1 200 OK\r\n"

// at is a server of the kit.
func at(s wiretest.Server) Config {
	c := Config{URL: "http://" + s.Address}
	if s.Secure {
		c.URL, c.TLS = "https://"+s.Address, wire.TLS{CA: s.CA, Insecure: s.CA == nil && !s.Strict, ServerName: s.Name}
	}
	return c
}

// hostile is what both engines have to survive, with keep-alive and without.
func hostile() wiretest.Protocol {
	say := func(text string) func(net.Conn) { return wiretest.AfterRead(wiretest.Say(0, text)) }
	endless := func(start, more string) func(net.Conn) { return wiretest.AfterRead(wiretest.Endless(start, more)) }
	wrong, late := []errkind.Kind{errkind.Protocol}, []errkind.Kind{errkind.Timeout}
	p := wiretest.Protocol{
		Asked: wiretest.AfterRead,
		Answers: []string{
			ok200 + "Content-Length: 10\r\n\r\n0123456789",
			ok200 + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n",
		},
		Foreign: wrong,
		Wants:   map[string][]errkind.Kind{"speaks HTTP/1.1": nil},
		Peers: []wiretest.Peer{
			{Name: "sends more than announced", Serve: say(ok200 + "Content-Length: 2\r\n\r\nabc"), Want: wrong},
			{Name: "announces two lengths", Serve: say(ok200 + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), Want: wrong},
			{Name: "garbage without end", Serve: say(strings.Repeat("\xaa", 5000)), Want: wrong},
			{Name: "endless header", Serve: endless(ok200, strings.Repeat("X: "+strings.Repeat("y", 995)+"\r\n", 20)), Want: wrong, Endless: true},
			{Name: "endless line", Serve: endless(ok200+"X: ", strings.Repeat("y", 20_000)), Want: wrong, Endless: true},
			{Name: "endless interim answers", Serve: endless("", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000)), Want: wrong, Endless: true},
			{Name: "endless body", Serve: endless(ok200+"\r\n", strings.Repeat("x", 20_000)), Want: late, Endless: true},
			{Name: "endless chunks", Serve: endless(ok200+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("5\r\nhello\r\n", 1000)), Want: late, Endless: true},
			{Name: "a body a byte at a time", Serve: wiretest.AfterRead(wiretest.Say(wiretest.Short/5, strings.Split("HTTP/1.1 200\r\n\r\n"+strings.Repeat("x", 99), "")...)), Want: late},
		},
	}
	for _, event := range []bool{false, true} {
		for _, disable := range []bool{false, true} {
			if ok, _ := loop.Supported(); event && !ok {
				continue
			}
			p.Ways = append(p.Ways, wiretest.Way{Name: fmt.Sprintf("loop=%t, close=%t", event, disable), Plain: true, Secure: true,
				Open: func(t testing.TB, s wiretest.Server) load.Target {
					c := at(s)
					c.DisableKeepAlive = disable
					if event {
						return targetOf(t, c)
					}
					return wiretest.Calls{Target: targetOf(t, c)}
				}})
		}
	}
	return p
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	hostile().Hostile(t)
}

func TestEndlessServers(t *testing.T) { hostile().Endless(t) }

// The loop speaks HTTP/2 itself.
func hostileHTTP2() wiretest.Protocol {
	return wiretest.Protocol{
		Asked: wiretest.AskedOverHTTP2,
		Answers: []string{wiretest.Frames(func(s wiretest.Stream) {
			_ = s.Headers(false, ":status", "200", "content-length", "10")
			_ = s.WriteData(s.ID, true, []byte("0123456789"))
		})},
		Foreign: []errkind.Kind{errkind.Protocol},
		Wants: map[string][]errkind.Kind{
			"has no such name":        nil, // a loop is given addresses
			"speaks a frame of HTTP2": nil,
			"speaks an alert of TLS":  {errkind.Closed}, // in less than a frame
			"endless interim answers": {errkind.Timeout},
		},
		Peers: wiretest.OverHTTP2(":status", "200"),
		ALPN:  []string{"h2"},
		Ways: []wiretest.Way{{Name: "loop", Plain: true, Secure: true, Open: func(t testing.TB, s wiretest.Server) load.Target {
			c := at(s)
			c.HTTP2 = true
			return targetOf(t, c)
		}}},
	}
}

func TestEndlessServersOfHTTP2(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	hostileHTTP2().Endless(t)
}

func TestHostileServersOfHTTP2(t *testing.T) {
	t.Parallel()
	wiretest.Needs(t, loop.Supported)
	hostileHTTP2().Hostile(t)
	for _, h := range wiretest.Handlers {
		if h.Name == "long header" { // is not too long here
			continue
		}
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			c := Config{URL: wiretest.Started(t, wiretest.BothVersions(h.Serve)), HTTP2: true}
			wiretest.Errs(t, targetOf(t, c), h.Want...)
		})
	}
}

func TestRestarted(t *testing.T) {
	t.Parallel()
	p := hostile()
	if ok, _ := loop.Supported(); ok {
		p.Ways = append(p.Ways, hostileHTTP2().Ways...)
	}
	p.Restarted(t, wiretest.OnTCP(func(l net.Listener) func() {
		s := wiretest.BothVersions(nethttp.HandlerFunc(echoMethod))
		s.Listener.Close()
		s.Listener = l
		s.Start()
		return func() {
			s.CloseClientConnections()
			s.Close()
		}
	}), errkind.Refused)
}

func TestNoServer(t *testing.T) {
	wiretest.Errs(t, targetOf(t, Config{URL: "http+unix:///no/such/socket:/"}), errkind.Dial)
	if loops, why := targetOf(t, Config{URL: "http://name.invalid/"}).Loops(10); loops != 0 {
		t.Errorf("%d loops, %s", loops, why)
	}
}
