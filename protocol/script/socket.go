package script

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
	"contend/protocol/ws"
)

// A socket is a WebSocket that a script has opened. It is counted as one request when it has ended, whose
// time is that of the handshake.
type socket struct {
	v        *vu
	url      *url.URL
	name     string
	tags     tagMap
	header   http.Header
	offered  []string // subprotocols
	compress bool
	jar      http.CookieJar // nil: none

	conn       *ws.Socket
	answer     *ws.Answer
	began      time.Time
	connecting time.Duration
	in, out    int64 // bytes
	pings      []ping
	closing    bool
	ended      bool
}

// A ping is one whose pong has not come.
type ping struct {
	data string
	sent time.Time
}

// newSocket reads a URL of ws or wss and params.
func (v *vu) newSocket(text string, params sobek.Value) *socket {
	v.usable("a WebSocket")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		v.throw("URL %q is none of a WebSocket, as in ws://localhost:8080/", text)
	}
	s := &socket{v: v, url: v.target.redirectedSocket(u), header: http.Header{}, jar: v.cookies()}
	s.name = nameOf("WS", s.url)
	s.header.Set("User-Agent", orContend(v.target.Options.UserAgent))
	if isObject(params) {
		s.readParams(params.ToObject(v.rt))
	}
	if s.jar != nil {
		var pairs []string
		for _, c := range s.jar.Cookies(asHTTP(s.url)) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		if len(pairs) > 0 {
			s.header.Set("Cookie", strings.Join(pairs, "; "))
		}
	}
	return s
}

// asHTTP is the URL of HTTP that cookies of a WebSocket are of.
func asHTTP(u *url.URL) *url.URL {
	like := *u
	like.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	return &like
}

// redirectedSocket moves a URL from the script's origin to the one that is asked in its place.
func (t *Target) redirectedSocket(u *url.URL) *url.URL {
	moved := t.redirected(asHTTP(u))
	moved.Scheme = "ws" + strings.TrimPrefix(moved.Scheme, "http")
	return moved
}

// socketParams are what a WebSocket can be given.
var socketParams = []string{"compression", "headers", "jar", "tags"}

func (s *socket) readParams(params *sobek.Object) {
	v := s.v
	for _, name := range params.Keys() {
		value := params.Get(name)
		if !isObject(value) {
			continue
		}
		var err error
		switch a := (ask{call: call{header: s.header}}); name {
		case "headers":
			err = readHeaders(v, &a, value)
		case "tags":
			if s.tags, err = v.readTagMap(value); s.tags["name"] != "" {
				s.name = s.tags["name"]
			}
		case "jar":
			err = readJar(v, &a, value)
			s.jar = a.jar
		case "compression":
			if s.compress = value.String() == "deflate"; !s.compress && value.String() != "" {
				v.throw("params.compression is %q; allowed: deflate", value.String())
			}
		default:
			v.throw("params.%s is not known%s", name, meant(name, socketParams))
		}
		if err != nil {
			v.throw("params.%s: %v", name, err)
		}
	}
}

// A dialled is what became of a handshake: neither connection nor error where it was refused.
type dialled struct {
	conn   *ws.Socket
	answer *ws.Answer
	began  time.Time
	took   time.Duration
	err    error
}

// take keeps it.
func (s *socket) take(d *dialled) {
	s.conn, s.answer, s.began, s.connecting = d.conn, d.answer, d.began, d.took
}

// dial opens a connection. It changes nothing of the script's.
func (s *socket) dial(ctx context.Context) *dialled {
	port := s.url.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[s.url.Scheme]
	}
	server := s.url.Hostname() + ":" + port
	at := s.v.target.Options.address(server)
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	d := &dialled{began: time.Now()}
	d.conn, d.answer, d.err = ws.DialSocket(ctx, s.url, ws.SocketOptions{Header: s.header, Protocols: s.offered, TLS: s.v.target.tls, At: at, Compress: s.compress, MaxMessage: maxBody})
	d.took = time.Since(d.began)
	return d
}

// A frame is a message, ping or pong that came.
type frame struct {
	text   bool
	binary bool
	ping   bool
	data   []byte
}

// receive hands what comes to a function of the script's goroutine, and its end to another, until
// live is done.
func (s *socket) receive(live context.Context, conn *ws.Socket, post func(func() error) bool, each func(frame) error, ended func(error) error) {
	stop := context.AfterFunc(live, func() { conn.Close(0) })
	defer stop()
	for {
		r, err := conn.Next()
		if err != nil {
			if post(func() error { return ended(err) }) {
				conn.Close(time.Second)
			}
			return
		}
		f := frame{r.Op == ws.Text, r.Op == ws.Binary, r.Op == ws.Ping, append([]byte(nil), r.Data...)}
		wire := r.Wire
		if !post(func() error { s.in += wire; return each(f) }) {
			return
		}
	}
}

// opened notes the handshake's answer, and keeps its cookies.
func (s *socket) opened() {
	v := s.v
	v.measure(mWSSessions, 1, s)
	v.measure(mWSConnecting, milliseconds(s.connecting), s)
	if set := (&http.Response{Header: s.answer.Header}).Cookies(); len(set) > 0 && s.jar != nil {
		s.jar.SetCookies(asHTTP(s.url), set)
	}
}

// send sends a message.
func (s *socket) send(binary bool, data []byte) {
	op := ws.Text
	if binary {
		op = ws.Binary
	}
	n, err := s.conn.Send(op, data)
	if err != nil && !s.closing && !s.ended {
		s.v.throw("send: %v", err)
	}
	if err == nil {
		s.out += n
		s.v.measure(mWSSent, 1, s)
	}
}

// ping sends one, numbered so that its pong can be told.
func (s *socket) ping() {
	data := time.Now().Format(time.RFC3339Nano)
	if _, err := s.conn.Send(ws.Ping, []byte(data)); err == nil {
		s.pings = append(s.pings, ping{data, time.Now()})
	}
}

// ponged measures how long a pong took.
func (s *socket) ponged(data []byte) {
	for i, p := range s.pings {
		if p.data == string(data) {
			s.v.measure(mWSPing, milliseconds(time.Since(p.sent)), s)
			s.pings = s.pings[i+1:]
			return
		}
	}
}

// close says goodbye; the end comes when the server has answered.
func (s *socket) close(code int, reason string) {
	if s.closing || s.ended || s.conn == nil {
		return
	}
	s.closing = true
	_ = s.conn.SendClose(code, reason) // reading says what becomes of it
}

// count notes the connection, once. err is why it ended, nil or a *ws.Closed if in order.
func (s *socket) count(err error) {
	v := s.v
	s.ended = true
	if v.ctx.Err() != nil {
		return // the run ended, which is nobody's fault
	}
	one := load.Request{Name: s.name, Service: s.connecting, BytesIn: s.in, BytesOut: s.out, BodyIn: s.in}
	if s.answer != nil {
		one.Status = s.answer.Status
	}
	if s.conn != nil {
		v.measure(mWSSession, milliseconds(time.Since(s.began)), s)
	}
	if closed := (*ws.Closed)(nil); err != nil && !errors.As(err, &closed) {
		v.note(one, err, nil, "")
		return
	}
	one.Failed = s.conn == nil
	v.note(one, nil, s.detail(), "101")
}

// detail is the beginning of a refusal.
func (s *socket) detail() []byte {
	if s.answer == nil {
		return nil
	}
	return s.answer.Body
}

// tag makes a socket know its tags.
func (s *socket) tag(name string) (string, bool) {
	if value, ok := s.tags[name]; ok {
		return value, true
	}
	switch name {
	case "name", "url":
		return s.url.String(), true
	case "status":
		return "101", s.conn != nil
	}
	return "", false
}

// Codes of closing (RFC 6455, section 7.4.1).
const (
	normalClosure = 1000
	goingAway     = 1001
)

// unexpected says whether the script is told of an error: the end was neither the script's wish nor in order.
func (s *socket) unexpected(code int) bool {
	return code == 1006 || !s.closing && code != normalClosure && code != goingAway
}

// closeCode is the code of the end of a connection: that of the server's close, or 1006 without one.
func closeCode(err error) (code int, reason string) {
	if closed := (*ws.Closed)(nil); errors.As(err, &closed) {
		return closed.Code, closed.Reason
	}
	return 1006, ""
}
