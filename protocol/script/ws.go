package script

import (
	"context"
	"errors"

	"github.com/grafana/sobek"

	"contend/protocol/ws"
)

// wsModule is "k6/ws".
func (v *vu) wsModule() exports { return exports{"connect": v.connectSocket} }

// A blockingSocket is what the function gets that ws.connect is given. The script waits for its end, and
// until then has its events and timers alone.
type blockingSocket struct {
	session
	listeners
	timers timers
	over   bool
}

// connectSocket is ws.connect(url, params, function), whose params may be left out.
func (v *vu) connectSocket(call sobek.FunctionCall) sobek.Value {
	params, last := call.Argument(1), call.Argument(2)
	if len(call.Arguments) == 2 {
		params, last = sobek.Undefined(), params
	}
	callback, ok := sobek.AssertFunction(last)
	if !ok {
		v.throw("ws.connect needs a URL and a function, between them perhaps params")
	}
	if _, err := socketURL(call.Argument(0).String()); err != nil && v.started && !v.target.Options.Throw {
		v.goOn(place(v.rt.CaptureCallStack(0, nil)) + err.Error())
		return v.socketResponse(call.Argument(0).String(), nil, err)
	}
	s := &blockingSocket{session: *v.newSession("ws.connect", call.Argument(0).String(), params, v.ignoreParam),
		listeners: v.socketListeners("binaryMessage", "close", "error", "message", "open", "ping", "pong")}
	s.check()
	var d dialled
	v.away(func(ctx context.Context) { d = s.dial(ctx) })
	if d.took == 0 { // the script is abandoned
		return sobek.Undefined()
	}
	s.answered(d)
	if s.conn != nil {
		defer s.timers.clear()
		s.run(callback)
	}
	return v.socketResponse(s.url.String(), d.answer, d.err)
}

// socketResponse is what ws.connect returns.
func (v *vu) socketResponse(url string, answer *ws.Answer, err error) sobek.Value {
	all := exports{"url": url, "status": 0, "headers": v.rt.NewObject(), "body": "", "error": ""}
	if err != nil {
		all["error"] = err.Error()
	}
	if answer != nil {
		all["status"], all["headers"], all["body"] = answer.Status, v.headersObject(answer.Header), string(answer.Body)
	}
	return v.object(all)
}

// run hands out events until the socket is closed. An exception closes it and ends the script's call.
func (s *blockingSocket) run(callback sobek.Callable) {
	s.timers.from(s.v.ctx, func(live context.Context, post func(func() error) bool) {
		s.listen(live, s.conn, post, s.got, s.ended)
	})
	_, err := callback(sobek.Undefined(), s.object())
	if err == nil && !s.over {
		err = s.emit("open")
	}
	if err == nil {
		err = s.timers.run(s.v)
	}
	thrown, ok := errors.AsType[*sobek.Exception](err)
	if !ok {
		return // of a script that is interrupted nothing goes on
	}
	if !s.over {
		_ = s.end(1001) // the first exception is the one to tell
	}
	panic(thrown)
}

// object is the socket as scripts see it.
func (s *blockingSocket) object() *sobek.Object {
	later := func(name string, again bool) func(sobek.FunctionCall) {
		set := s.timers.setter(s.v, again)
		return func(call sobek.FunctionCall) {
			if after := call.Argument(1).ToFloat(); !(after > 0) {
				s.v.throw("%s of a socket takes more than 0 ms, and not %v", name, call.Argument(1))
			}
			if !s.over {
				set(call)
			}
		}
	}
	timeout, interval := later("setTimeout", false), later("setInterval", true)
	return s.v.object(exports{"on": s.on, "close": s.close,
		"send": func(call sobek.FunctionCall) sobek.Value {
			s.do(func() error { return s.send(true, []byte(call.Argument(0).String())) })
			return sobek.Undefined()
		},
		"sendBinary": func(value sobek.Value) {
			data, ok := []byte(nil), false
			if isObject(value) {
				data, ok = s.v.raw(value)
			}
			if !ok {
				s.v.throw("sendBinary takes an ArrayBuffer or a view of one")
			}
			s.do(func() error { return s.send(false, data) })
		},
		"ping":        func() { s.do(s.ping) },
		"setTimeout":  func(call sobek.FunctionCall) sobek.Value { timeout(call); return sobek.Undefined() },
		"setInterval": func(call sobek.FunctionCall) sobek.Value { interval(call); return sobek.Undefined() },
	})
}

// do sends; what cannot be sent is an event.
func (s *blockingSocket) do(send func() error) {
	text := "websocket: close sent"
	if !s.over {
		err := send()
		if err == nil {
			return
		}
		text = err.Error()
	}
	if err := s.emit("error", s.problem(text)); err != nil {
		panic(err)
	}
}

func (s *blockingSocket) problem(text string) sobek.Value {
	return s.v.object(exports{"error": func() string { return text }})
}

// got hands out what was received.
func (s *blockingSocket) got(r ws.Received) error {
	switch r.Op {
	case ws.Text:
		return s.emit("message", s.v.rt.ToValue(string(r.Data)))
	case ws.Binary:
		return s.emit("binaryMessage", s.v.rt.ToValue(s.v.rt.NewArrayBuffer(r.Data)))
	case ws.Ping:
		return s.emit("ping")
	}
	return s.emit("pong")
}

// ended tells of an end that is not ours.
func (s *blockingSocket) ended(err error) error {
	s.timers.ended()
	s.over, s.timers.pending = true, s.timers.pending[:0]
	s.finish(err)
	code, _ := closeCode(err)
	if text, is := unexpected(err); is {
		if err := s.emit("error", s.problem(text)); err != nil {
			return err
		}
	}
	return s.emit("close", s.v.rt.ToValue(code))
}

// close is socket.close(code), 1001 unless another one is given.
func (s *blockingSocket) close(call sobek.FunctionCall) sobek.Value {
	code := 1001
	if isObject(call.Argument(0)) {
		code = int(call.Argument(0).ToInteger())
	}
	if code < 1000 || code > 4999 {
		s.v.throw("close takes a code from 1000 to 4999, and not %v", call.Argument(0))
	}
	if !s.over {
		if err := s.end(code); err != nil {
			panic(err)
		}
	}
	return sobek.Undefined()
}

// end closes the connection when what was sent is written. It waits for no answer.
func (s *blockingSocket) end(code int) error {
	s.over, s.closing = true, true
	_ = s.conn.SendClose(code, "") // fails if the server was first
	s.v.away(func(context.Context) { s.conn.Close(socketPatience) })
	s.timers.clear()
	s.finish(nil)
	return s.emit("close", s.v.rt.ToValue(code))
}
