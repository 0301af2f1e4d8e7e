package router

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/systems/uplink/api"
)

// pairs returns a function that makes connections and returns the end of the server.
func pairs(t *testing.T) func() *net.TCPConn {
	t.Helper()
	l := listen(t)
	return func() *net.TCPConn {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		return server.(*net.TCPConn)
	}
}

func isOpen(c *connection) bool { return len(c.places) > 0 }

// Room is made by those that have been idle for longest, of an address that has too
// many by its own.
func TestListenerMakesRoom(t *testing.T) {
	t.Parallel()
	pair := pairs(t)
	f, err := newListener(nil, Connections{Max: 4, PerAddress: 3}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var c []*connection
	enter := func(from string) *connection {
		t.Helper()
		n := f.admit(pair(), netip.MustParseAddr(from))
		c = append(c, n)
		return n
	}
	expect := func(what string, open ...int) {
		t.Helper()
		for i, n := range c {
			want := false
			for _, o := range open {
				want = want || o == i
			}
			if n != nil && isOpen(n) != want {
				t.Errorf("%s: connection %d is open: %v", what, i, isOpen(n))
			}
		}
	}
	for range 3 {
		enter("192.0.2.1") // 0, 1, 2
	}
	f.changed(c[0], http.StateActive)
	f.changed(c[0], http.StateIdle) // so 1 has been idle for longest
	enter("::ffff:192.0.2.1")       // 3: the same address, which has 3
	expect("full address", 0, 2, 3)
	enter("2001:db8::1") // 4: the fourth in all
	enter("2001:db8::2") // 5
	expect("full", 0, 3, 4, 5)
	enter("2001:db8::3") // 6
	enter("2001:db8::4") // 7: one more of the network of 64 bits, which has 3 then
	expect("full network", 3, 5, 6, 7)
	for _, i := range []int{3, 5, 6, 7} {
		f.changed(c[i], http.StateHijacked)
	}
	spare := enter("192.0.2.2")
	if !isOpen(spare) || spare.places[0].pool != &f.spare || f.all.open != 4 {
		t.Errorf("%+v with %d open", spare.places, f.all.open)
	}
	if err := c[3].Close(); err != nil {
		t.Error(err)
	}
	if n := enter("192.0.2.3"); n.places[0].pool != &f.all || len(f.addresses) != 2 { // of 5, 6, 7 and of this one
		t.Errorf("%+v, %d addresses", n.places, len(f.addresses))
	}
	want := listenerCounts{accepted: 10, evicted: 4}
	if f.counts != want {
		t.Errorf("%+v, want %+v", f.counts, want)
	}
}

// The spare ones make room for each other, too, and are refused when all are busy.
func TestListenerSpare(t *testing.T) {
	t.Parallel()
	pair := pairs(t)
	f, err := newListener(nil, Connections{Max: 1}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	from := netip.MustParseAddr("192.0.2.1")
	f.changed(f.admit(pair(), from), http.StateHijacked)
	first := f.admit(pair(), from)
	for range spareConns {
		f.changed(f.admit(pair(), from), http.StateActive) // the last one replaces the first
	}
	if isOpen(first) || f.spare.open != spareConns || f.counts.refused != 0 {
		t.Errorf("first open: %v, %d spare, %+v", isOpen(first), f.spare.open, f.counts)
	}
	if n := f.admit(pair(), from); n != nil || f.counts.refused != 1 {
		t.Errorf("%v, %+v", n, f.counts)
	}
}

func TestMaxConns(t *testing.T) {
	t.Parallel()
	files := maxFiles()
	if files == 0 {
		t.Skip("how many files may be open is not known here")
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := newListener(nil, Connections{Max: files*3/4 + 1}, log); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("expected 0 to %d", files*3/4)) {
		t.Error(err)
	}
	f, err := newListener(nil, Connections{}, log)
	if want := min(files*3/4, connsMost); err != nil || f.all.most != want || f.perAddress != want/2 {
		t.Errorf("%+v, %v, want %d", f, err, want)
	}
}

// A failing listener fails n times and then works.
type failing struct {
	net.Listener
	n   int
	err error
}

func (l *failing) Accept() (net.Conn, error) {
	if l.n--; l.n >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", l.err)}
	}
	return l.Listener.Accept()
}

// No failure to accept ends the service, and where files ran out idle connections
// are closed for it.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err     error
		evicted int64
	}{{syscall.EMFILE, 1}, {syscall.ENFILE, 1}, {syscall.ENOBUFS, 0}} {
		l := listen(t)
		f, err := newListener(&failing{l, 2, tt.err}, Connections{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		idle := f.admit(pairs(t)(), netip.MustParseAddr("192.0.2.1"))
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		conn, err := f.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if f.counts.failures != 2 || f.counts.evicted != tt.evicted || isOpen(idle) != (tt.evicted == 0) {
			t.Errorf("%v: %+v", tt.err, f.counts)
		}
		l.Close()
		if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}

// get asks for a path on a connection of its own, which it returns open.
func get(t *testing.T, address, path string) (net.Conn, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, acme); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return c, response
}

// With streams on all connections only operators are answered.
func TestFullOfStreams(t *testing.T) {
	s := start(t, "", func(c *Config) { c.Connections = Connections{Max: 2, PerAddress: 2} })
	address := s.address
	streams := []*client{s.connect(acme, "upstream/"), s.connect(acme, "downstream/")}
	for path, want := range map[string]int{"/health": 200, "/ready": 200, "/metrics": 200, "/api/v1/devices/select": 503, "/api/v1/stream/upstream/": 503} {
		if _, response := get(t, address, path); response.StatusCode != want || !response.Close {
			t.Errorf("%s: %s, close %v", path, response.Status, response.Close)
		}
	}
	if text := s.scrape(); !strings.Contains(text, `contend_router_http_connections{kind="usual"} 2`) {
		t.Error(text)
	}
	streams[0].Close()
	s.until("there is room again", func() bool {
		_, response := get(t, address, "/api/v1/devices/select")
		return response.StatusCode == http.StatusOK
	})
}

// A deadlines notes the last deadline for reading.
type deadlines struct {
	http.ResponseWriter
	reading time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.reading = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { return nil }

// The body of a request is not waited for without a valid token, and not on a spare connection.
func TestWhoseBodyIsRead(t *testing.T) {
	t.Parallel()
	known, err := api.ParseTokens(strings.NewReader(tokens))
	if err != nil {
		t.Fatal(err)
	}
	operators := http.NewServeMux()
	handler := forOperators(forStrangers(known, operators), operators)
	for _, tt := range []struct {
		token  string
		spare  bool
		length int64
		left   bool
	}{
		{acme, false, 5, false}, {acme, false, -1, false}, {"wrong", false, 5, true}, {"wrong", false, -1, true}, {late, false, 5, true},
		{"wrong", false, 0, false}, {acme, true, 5, true}, {"wrong", true, 5, true}, {"wrong", true, 0, false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(context.WithValue(t.Context(), spareKey{}, tt.spare))
		r.ContentLength = tt.length
		r.Header.Set("Authorization", "Bearer "+tt.token)
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		handler.ServeHTTP(w, r)
		if left := !w.reading.IsZero() && w.reading.Before(time.Now()); left != tt.left || (w.Header().Get("Connection") == "close") != (tt.left || tt.spare) {
			t.Errorf("%+v: reading until %v, %v", tt, w.reading, w.Header())
		}
	}
}

// 265 connections from eight addresses, of a process that may open 300 files, announce
// bodies that never come, and have no token. Each is answered and closed long before a
// customer's body would be given up, and operators are answered.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("one loopback address")
	}
	p := launchWith(t, 300, openRedis(t, "").URL(), memory, "one")
	heads := []string{
		"POST /api/v1/devices/insert HTTP/1.1\r\nContent-Length: 1000",
		"POST /api/v1/devices/drop HTTP/1.1\r\nContent-Length: 1000000",
		"POST /api/v1/devices/drop HTTP/1.1\r\nTransfer-Encoding: chunked",
		"POST /api/v1/no/such/call HTTP/1.1\r\nContent-Length: 1000\r\nExpect: 100-continue",
		"GET /api/v1/stream/upstream/ HTTP/1.1\r\nContent-Length: 1000",
		"GET /ready HTTP/1.1\r\nContent-Length: 1000",
		"GET /nothing HTTP/1.1\r\nContent-Length: 1000",
	}
	var conns []net.Conn
	for i := range 265 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%8))}}
		c, err := d.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c, "%s\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n", heads[i%len(heads)]); err != nil {
			continue // closed to make room, or refused
		}
		conns = append(conns, c)
	}
	answered := 0
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(20 * time.Second)) // bodies have 30
		text, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %q it is still open", text)
		}
		if strings.HasPrefix(string(text), "HTTP/1.1 ") {
			answered++
		}
	}
	if answered == 0 {
		t.Error("nobody was answered")
	}
	for range 60 {
		if _, response := get(t, p.address, "/ready"); response.StatusCode != http.StatusOK {
			t.Error(response.Status)
		}
	}
}

// Whoever asks once and then says nothing is not kept.
func TestIdleTimeout(t *testing.T) {
	s := start(t, "", func(c *Config) { c.Connections.IdleTimeout = 20 * time.Millisecond })
	c, _ := get(t, s.address, "/health")
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// 400 silent connections of a process that may open 300 files, without a token:
// operators are answered, and so are customers.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	p := launchWith(t, 300, openRedis(t, "").URL(), memory, "one")
	for range 400 {
		get(t, p.address, "/health")
	}
	for range 400 { // and those that never say anything
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for _, path := range []string{"/ready", "/api/v1/devices/select"} {
		if _, response := get(t, p.address, path); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
	text := p.metrics()
	for _, want := range []string{`contend_router_http_connections{kind="usual"} 112`, `contend_router_http_connections_total{event="evicted"}`} { // 300 * 3/4 / 2
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "accept_errors") {
		t.Error(text)
	}
}
