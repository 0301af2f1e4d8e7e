package script

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// wsModule is "k6/ws": connect waits until the connection has ended.
func (v *vu) wsModule() exports { return exports{"connect": v.wsConnect} }

// A wsSession is a connection of ws.connect, with the functions that wait for its events.
type wsSession struct {
	*socket
	handlers map[string][]sobek.Callable
	timers   []int64 // that end with it
	over     bool
}

// wsEvents are those that there are.
var wsEvents = []string{"binaryMessage", "close", "error", "message", "open", "ping", "pong"}

// wsConnect is ws.connect(url, params, function).
func (v *vu) wsConnect(call sobek.FunctionCall) sobek.Value {
	params, callback := call.Argument(1), call.Argument(2)
	if _, ok := sobek.AssertFunction(params); ok {
		params, callback = sobek.Undefined(), params
	}
	f, ok := sobek.AssertFunction(callback)
	if !ok {
		v.throw("connect needs a function behind the URL and params, which is given the socket")
	}
	s := &wsSession{socket: v.newSocket(call.Argument(0).String(), params), handlers: map[string][]sobek.Callable{}}
	d := &dialled{err: errEnded} // unless the script is let go on
	v.away(func(ctx context.Context) { d = s.dial(ctx) })
	s.take(d)
	if d.err != nil {
		s.count(d.err)
		v.throw("connect: %v", d.err)
	}
	if s.conn == nil {
		s.count(nil)
		return s.response()
	}
	s.opened()
	if _, err := f(sobek.Undefined(), s.object()); err != nil {
		panic(err)
	}
	s.run()
	return s.response()
}

// run hands out events until the connection has ended.
func (s *wsSession) run() {
	v, conn := s.v, s.conn
	v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
		if post(func() error { return s.emit("open") }) {
			s.receive(live, conn, post, s.came, s.end)
		}
	})
	for !s.over {
		task := v.timers.next(v)
		if v.ctx.Err() != nil {
			panic(v.exception("%v", errEnded))
		}
		if err := task(); err != nil {
			panic(err)
		}
	}
}

func (s *wsSession) came(f frame) error {
	switch {
	case f.text || f.binary:
		s.v.measure(mWSReceived, 1, s)
		if f.text {
			return s.emit("message", s.v.rt.ToValue(string(f.data)))
		}
		return s.emit("binaryMessage", s.v.rt.ToValue(s.v.rt.NewArrayBuffer(f.data)))
	case f.ping:
		return s.emit("ping")
	}
	s.ponged(f.data)
	return s.emit("pong")
}

// end counts the connection and tells the script.
func (s *wsSession) end(err error) error {
	v := s.v
	v.timers.ended()
	s.over = true
	for _, id := range s.timers {
		v.timers.remove(id)
	}
	s.count(err)
	code, _ := closeCode(err)
	if s.unexpected(code) {
		problem := v.object(exports{"error": func() string { return err.Error() }})
		if err := s.emit("error", problem); err != nil {
			return err
		}
	}
	return s.emit("close", v.rt.ToValue(code))
}

func (s *wsSession) emit(event string, values ...sobek.Value) error {
	for _, handler := range s.handlers[event] {
		if _, err := handler(sobek.Undefined(), values...); err != nil {
			return err
		}
	}
	return nil
}

// object is the socket as the script sees it.
func (s *wsSession) object() *sobek.Object {
	v := s.v
	return v.object(exports{
		"on":   s.on,
		"send": func(text string) { s.send(false, []byte(text)) },
		"sendBinary": func(value sobek.Value) {
			data, ok := bytesOf(value)
			if !ok {
				v.throw("sendBinary takes an ArrayBuffer, and not %.40q", harmless(value))
			}
			s.send(true, data)
		},
		"ping": s.ping,
		"close": func(call sobek.FunctionCall) sobek.Value {
			s.close(codeOf(call.Argument(0), goingAway), "")
			return sobek.Undefined()
		},
		"setTimeout":  func(f sobek.Value, ms float64) int64 { return s.timer(f, ms, false) },
		"setInterval": func(f sobek.Value, ms float64) int64 { return s.timer(f, ms, true) },
	})
}

// codeOf reads the code of a close.
func codeOf(value sobek.Value, otherwise int) int {
	if !isObject(value) {
		return otherwise
	}
	return int(value.ToInteger())
}

func (s *wsSession) on(event string, handler sobek.Value) {
	f, ok := sobek.AssertFunction(handler)
	if !ok {
		s.v.throw("on(%q) needs a function", event)
	}
	if !slices.Contains(wsEvents, event) {
		s.v.throw("event is %q; allowed: %s", event, strings.Join(wsEvents, ", "))
	}
	s.handlers[event] = append(s.handlers[event], f)
}

// timer sets one that ends with the connection.
func (s *wsSession) timer(f sobek.Value, ms float64, again bool) int64 {
	id := s.v.setTimer(f, time.Duration(ms*float64(time.Millisecond)), again, nil)
	s.timers = append(s.timers, id)
	return id
}

// response is what connect returns.
func (s *wsSession) response() sobek.Value {
	return s.v.object(exports{"status": s.answer.Status, "url": s.url.String(), "body": string(s.answer.Body), "error": "",
		"headers": s.v.headersObject(s.answer.Header)})
}

// bytesOf are those of an ArrayBuffer or of a view of one.
func bytesOf(value sobek.Value) ([]byte, bool) {
	switch data := value.Export().(type) {
	case sobek.ArrayBuffer:
		return slices.Clone(data.Bytes()), true
	case []byte:
		return slices.Clone(data), true
	}
	return nil, false
}
