package script

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/errkind"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/ws"
)

// A session is a WebSocket of a script: one request, from its dial to its end.
type session struct {
	v       *vu
	ask     ask      // of the handshake, its URL as one of HTTP: cookies belong to those
	url     *url.URL // ws or wss
	options ws.SocketOptions
	began   time.Time
	conn    *ws.Socket // nil: it is not open
	closing bool       // we have sent a close
	pinged  map[string]time.Time
	count   socketCount
}

// A socketCount is the outcome of a session. Messages are those that carry data.
type socketCount struct {
	load.Request
	err    error // there was no answer, or the connection was lost
	detail []byte
	pings  int // that were sent
}

func (s *session) given() tagMap { return s.ask.tags }

func (s *session) system(name string) (string, bool) {
	switch name {
	case "name", "url":
		return s.url.String(), true
	case "status":
		return strconv.Itoa(s.count.Status), s.count.Status != 0
	}
	return "", false
}

// countSocket notes a session that has ended.
func (v *vu) countSocket(s *socketCount) {
	if s.err != nil && v.ctx.Err() != nil {
		return // the run ended, which is nobody's fault
	}
	v.note(s.Request, s.err, s.detail, "101")
}

var socketReaders = map[string]func(v *vu, s *session, value sobek.Value) error{
	"headers": func(v *vu, s *session, value sobek.Value) error { return readHeaders(v, &s.ask, value) },
	"tags":    func(v *vu, s *session, value sobek.Value) error { return readTags(v, &s.ask, value) },
	"jar":     func(v *vu, s *session, value sobek.Value) error { return readJar(v, &s.ask, value) },
	"compression": func(_ *vu, s *session, value sobek.Value) error {
		if kind := value.String(); kind != "" && kind != "deflate" {
			return fmt.Errorf("is %q; expected deflate", kind)
		}
		s.options.Compress = value.String() != ""
		return nil
	},
}

// socketURL reads a URL of a WebSocket.
func socketURL(text string) (*url.URL, error) {
	u, err := wire.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, fmt.Errorf("%q is not a WebSocket URL (example: ws://localhost:8080/path): the scheme must be ws or wss, without user or fragment", text)
	}
	return u, nil
}

// newSession reads what a WebSocket is opened with, and tells of unknown parameters.
func (v *vu) newSession(what, text string, params sobek.Value, unknown func(name, hint string)) *session {
	v.usable(what)
	u, err := socketURL(text)
	if err != nil {
		v.throw("%v", err)
	}
	s := &session{v: v, url: v.target.redirected(u), pinged: map[string]time.Time{}}
	s.ask.header = http.Header{"User-Agent": {orContend(v.target.Options.UserAgent)}}
	readObject(v, s, params, socketReaders, unknown)
	s.ask.url = ofPage(s.url)
	if !s.ask.named {
		s.ask.name = nameOf("WS", s.url)
	}
	v.addCookies(&s.ask)
	s.offer(strings.Join(s.ask.header.Values("Sec-WebSocket-Protocol"), ","))
	s.ask.header.Del("Sec-WebSocket-Protocol")
	s.options.Header, s.options.TLS, s.options.MaxMessage = s.ask.header, v.target.tlsFor(s.url.Hostname()), maxBody
	s.options.Traffic = &v.traffic
	s.options.At = v.at(hostPort(s.url))
	if proxy, err := v.target.around.Proxy(s.url); err != nil {
		v.throw("%v", err)
	} else if proxy != nil {
		s.options.Dial = proxy.Tunnel(hostPort(s.url))
	}
	s.count.Name = s.ask.name
	return s
}

// offer adds subprotocols of a list with commas.
func (s *session) offer(list string) {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			s.options.Protocols = append(s.options.Protocols, one)
		}
	}
}

// check refuses what the handshake cannot be sent with.
func (s *session) check() {
	if err := s.options.Check(); err != nil {
		s.v.throw("%v", err)
	}
}

// dialled is the outcome of a handshake.
type dialled struct {
	conn   *ws.Socket // nil: not connected
	answer *ws.Answer // nil: there was none
	err    error
	took   time.Duration
}

// dial opens the socket. It touches nothing of the script, which answered informs.
func (s *session) dial(ctx context.Context) (d dialled) {
	ctx, cancel := context.WithTimeoutCause(ctx, defaultTimeout, &errkind.Error{Kind: errkind.Timeout, Err: fmt.Errorf("no answer to the handshake within %v", defaultTimeout)})
	defer cancel()
	began := time.Now()
	d.conn, d.answer, d.err = ws.DialSocket(ctx, s.url, s.options)
	d.took = time.Since(began)
	if d.err != nil && ctx.Err() != nil {
		d.err = context.Cause(ctx)
	}
	return d
}

// answered notes the outcome of the handshake; a session without a socket is over.
func (s *session) answered(d dialled) {
	s.conn, s.began = d.conn, time.Now().Add(-d.took)
	s.count.Service = d.took
	if answer := d.answer; answer != nil {
		s.count.Status = answer.Status
		s.count.detail = fmt.Appendf(nil, "%s: %d %s\r\n\r\n%.200s", s.ask.name, answer.Status, http.StatusText(answer.Status), answer.Body)
		s.v.keepCookies(&s.ask, &reply{header: answer.Header})
	}
	s.v.http.last = &shaken{s.count.detail}
	s.v.measure(mWSSessions, 1, s)
	s.v.measure(mWSConnecting, milliseconds(d.took), s)
	if s.conn == nil {
		s.count.Failed = d.err == nil
		s.finish(d.err)
	}
}

// shaken is the outcome of a handshake, for examples.
type shaken struct{ text []byte }

func (s *shaken) detail() []byte { return s.text }

// finish counts the session, which ended with err.
func (s *session) finish(err error) {
	if s.conn != nil {
		s.v.measure(mWSSession, milliseconds(time.Since(s.began)), s)
	}
	if _, closed := errors.AsType[*ws.Closed](err); !closed && !s.closedHere(err) {
		s.count.err = err
	}
	s.v.countSocket(&s.count)
}

// closedHere says of an error that it is how a server ends what we have closed.
func (s *session) closedHere(err error) bool {
	kind := errkind.Of(err)
	return s.closing && (kind == errkind.Closed || kind == errkind.Reset)
}

// listen has messages become events, until the connection ends or post says so.
func (s *session) listen(live context.Context, conn *ws.Socket, post func(func() error) bool, got func(ws.Received) error, ended func(error) error) {
	stop := context.AfterFunc(live, func() { conn.Close(0) })
	defer stop()
	for {
		r, err := conn.Next()
		if err != nil {
			conn.Close(socketPatience)
			post(func() error { return ended(err) })
			return
		}
		r.Data = slices.Clone(r.Data)
		if !post(func() error { s.note(r); return got(r) }) {
			conn.Close(0)
			return
		}
	}
}

// socketPatience bounds how long a server may take to read what was sent before a close.
const socketPatience = 5 * time.Second

// note counts what was received.
func (s *session) note(r ws.Received) {
	switch r.Op {
	case ws.Text, ws.Binary:
		s.v.measure(mWSReceived, 1, s)
		s.count.BodyIn += r.Body
	case ws.Pong:
		if at, ok := s.pinged[string(r.Data)]; ok {
			delete(s.pinged, string(r.Data))
			s.v.measure(mWSPing, milliseconds(time.Since(at)), s)
		}
	}
}

// send sends a message; what cannot be sent any more is not.
func (s *session) send(text bool, data []byte) error {
	op := ws.Binary
	if text {
		op = ws.Text
	}
	err := s.conn.Send(op, data)
	if err == nil {
		s.v.measure(mWSSent, 1, s)
	}
	return err
}

// ping sends a ping whose pong is known.
func (s *session) ping() error {
	payload := strconv.Itoa(s.count.pings) // from 0, as in k6
	s.count.pings++
	s.pinged[payload] = time.Now()
	return s.conn.Send(ws.Ping, []byte(payload))
}

// closedSocket says of an error of sending that the connection is closed already.
func closedSocket(err error) bool { return errors.Is(err, net.ErrClosed) }

// closeCode is what a close says to scripts: 1006 where there was none.
func closeCode(err error) (code int, reason string) {
	if closed, ok := errors.AsType[*ws.Closed](err); ok {
		return closed.Code, closed.Reason
	}
	return 1006, ""
}

// unexpected reports whether the end of a session is an error to scripts, and in which words.
func unexpected(err error) (string, bool) {
	code, reason := closeCode(err)
	if code == 1006 {
		return err.Error(), true
	}
	return fmt.Sprintf("websocket: close %d: %s", code, reason), code != 1000 && code != 1001
}
