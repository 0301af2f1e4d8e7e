package script

import (
	"context"
	"maps"
	"time"

	"github.com/grafana/sobek"

	"contend/protocol/ws"
)

// The states of a WebSocket, as the living standard numbers them.
const (
	connecting = iota
	opened
	closing
	closed
)

var socketStates = map[string]int{"CONNECTING": connecting, "OPEN": opened, "CLOSING": closing, "CLOSED": closed}

// websocketsModule is "k6/websockets".
func (v *vu) websocketsModule() exports {
	constructor := v.rt.ToValue(v.newWebSocket).ToObject(v.rt)
	for name, state := range socketStates {
		_ = constructor.Set(name, state)
	}
	return exports{"Blob": v.blobClass(), "WebSocket": constructor}
}

// formerWebsocketsModule is the same by the name that it had.
func (v *vu) formerWebsocketsModule() exports {
	v.target.console.once("k6/experimental/websockets is now called k6/websockets: import that instead, which is the same")
	return v.websocketsModule()
}

// A webSocket is what new WebSocket(url, protocols, params) makes. The iteration is not over before it is
// closed.
type webSocket struct {
	*session
	this       *sobek.Object
	state      int
	binaryType string
	protocol   string
	on         map[string]sobek.Value // by the names of events
	listeners  listeners
}

func (v *vu) newWebSocket(call sobek.ConstructorCall) *sobek.Object {
	w := &webSocket{this: call.This, binaryType: "blob", on: map[string]sobek.Value{},
		listeners: v.socketListeners("close", "error", "message", "open", "ping", "pong")}
	w.session = v.newSession("WebSocket", call.Argument(0).String(), call.Argument(2), v.refuseParam)
	if isObject(call.Argument(1)) {
		var protocols []string
		if _, text := call.Argument(1).Export().(string); text {
			protocols = []string{call.Argument(1).String()}
		} else if err := v.rt.ExportTo(call.Argument(1), &protocols); err != nil {
			v.throw("protocols are a text or a list of texts")
		}
		w.options.Protocols = append(w.options.Protocols, protocols...)
	}
	w.check()
	w.define(call.Argument(0).String())
	v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
		d := w.dial(live)
		if going := post(func() error { return w.shaken(d) }); d.conn == nil {
			return
		} else if !going {
			d.conn.Close(0)
			return
		}
		w.listen(live, d.conn, post, w.got, w.ended)
	})
	return nil
}

// define gives the object its properties.
func (w *webSocket) define(url string) {
	rt := w.v.rt
	property := func(name string, get, set any) {
		setter := sobek.Value(nil)
		if set != nil {
			setter = rt.ToValue(set)
		}
		_ = w.this.DefineAccessorProperty(name, rt.ToValue(get), setter, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	}
	property("url", func() string { return url }, nil)
	property("readyState", func() int { return w.state }, nil)
	property("bufferedAmount", w.unsent, nil)
	property("extensions", func() string { return "" }, nil)
	property("protocol", func() string { return w.protocol }, nil)
	property("binaryType", func() string { return w.binaryType }, w.setBinaryType)
	for _, event := range w.listeners.known {
		property("on"+event, func() sobek.Value { return w.on[event] }, func(value sobek.Value) { w.setOn(event, value) })
	}
	for name, state := range socketStates {
		_ = w.this.DefineDataProperty(name, rt.ToValue(state), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE)
	}
	for name, method := range map[string]any{"send": w.sendValue, "close": w.close, "addEventListener": w.addEventListener,
		"ping": func() { w.mustBeOpen("ping"); w.mustSend(w.ping()) }} {
		_ = w.this.Set(name, method)
	}
}

// unsent is 0 without a connection: nothing can be sent then.
func (w *webSocket) unsent() int {
	if w.state == connecting || w.conn == nil {
		return 0
	}
	return w.conn.Unsent()
}

func (w *webSocket) setBinaryType(kind string) {
	switch kind {
	case "arraybuffer", "blob":
		w.binaryType = kind
	default:
		w.v.throw("binaryType is %q; expected arraybuffer, blob", kind)
	}
}

func (w *webSocket) setOn(event string, value sobek.Value) {
	if _, ok := sobek.AssertFunction(value); !ok && isObject(value) {
		w.v.throw("on%s needs a function, or null", event)
	}
	w.on[event] = value
}

func (w *webSocket) addEventListener(event string, function sobek.Value) {
	w.listeners.add("addEventListener", event, function)
}

// emit calls the handlers of an event: first its on function.
func (w *webSocket) emit(event string, values exports) error {
	all := exports{"type": event, "target": w.this, "timestamp": float64(time.Now().UnixMicro()) / 1000}
	maps.Copy(all, values)
	calls := w.listeners.called[event]
	if f, ok := sobek.AssertFunction(w.on[event]); ok {
		calls = append([]sobek.Callable{f}, calls...)
	}
	return callAll(calls, w.this, w.v.object(all))
}

// shaken goes on after the handshake.
func (w *webSocket) shaken(d dialled) error {
	w.answered(d)
	switch {
	case w.conn == nil:
		w.v.timers.ended()
		w.state = closed
		text := "the handshake was refused"
		if d.err != nil {
			text = d.err.Error()
		}
		if err := w.emit("error", exports{"error": text}); err != nil {
			return err
		}
		return w.emit("close", exports{"code": 1006, "reason": "", "wasClean": false})
	case w.state == closing: // it was closed before it was open
		_ = w.conn.SendClose(1000, "")
		return nil
	}
	w.state, w.protocol = opened, d.answer.Header.Get("Sec-WebSocket-Protocol")
	return w.emit("open", nil)
}

// got hands out what was received, without messages after a close.
func (w *webSocket) got(r ws.Received) error {
	switch {
	case r.Op == ws.Ping:
		return w.emit("ping", nil)
	case r.Op == ws.Pong:
		return w.emit("pong", nil)
	case w.state != opened:
		return nil
	}
	var data any = string(r.Data)
	if r.Op == ws.Binary {
		if data = w.v.rt.NewArrayBuffer(r.Data); w.binaryType == "blob" {
			data = w.v.blobObject(&blob{content: r.Data})
		}
	}
	return w.emit("message", exports{"data": data, "origin": w.url.String()})
}

// ended tells of the end.
func (w *webSocket) ended(err error) error {
	w.v.timers.ended()
	w.state = closed
	w.finish(err)
	code, reason := closeCode(err)
	if text, is := unexpected(err); is {
		if err := w.emit("error", exports{"error": text}); err != nil {
			return err
		}
	}
	return w.emit("close", exports{"code": code, "reason": reason, "wasClean": code != 1006})
}

// mustBeOpen refuses to send where nothing can be sent.
func (w *webSocket) mustBeOpen(what string) {
	if w.state != opened {
		w.v.throw("InvalidStateError: %s needs a socket that is open, and its readyState is %d", what, w.state)
	}
}

// mustSend is must for what counts as a message that was sent, as in k6.
func (w *webSocket) mustSend(err error) {
	if w.must(err); err == nil {
		w.v.measure(mWSSent, 1, w.session)
	}
}

// must is for what the connection does not take. One that is lost tells so by its events.
func (w *webSocket) must(err error) {
	if err != nil && !closedSocket(err) {
		w.v.throw("%v", err)
	}
}

// sendValue is socket.send(data).
func (w *webSocket) sendValue(call sobek.FunctionCall) sobek.Value {
	w.mustBeOpen("send")
	value := call.Argument(0)
	if text, ok := value.Export().(string); ok {
		w.must(w.send(true, []byte(text)))
		return sobek.Undefined()
	}
	data, ok := w.v.raw(value)
	if b, is := hiddenIn[*blob](value); is {
		data, ok = b.content, true
	}
	if !ok {
		w.v.throw("send takes text, an ArrayBuffer, a view of one or a Blob")
	}
	w.must(w.send(false, data))
	return sobek.Undefined()
}

// close is socket.close(code, reason).
func (w *webSocket) close(call sobek.FunctionCall) sobek.Value {
	code, reason := 1000, ""
	if value := call.Argument(0); isObject(value) {
		if code = int(value.ToInteger()); code != 1000 && (code < 3000 || code > 4999) {
			w.v.throw("close takes the code 1000, or one from 3000 to 4999, and not %v", value)
		}
	}
	if value := call.Argument(1); isObject(value) {
		if reason = value.String(); len(reason) > 123 {
			w.v.throw("close takes a reason of at most 123 bytes, and not %d", len(reason))
		}
	}
	if w.state == opened {
		w.closing = true
		w.mustSend(w.conn.SendClose(code, reason))
	}
	if w.state < closing {
		w.state, w.closing = closing, true
	}
	return sobek.Undefined()
}
