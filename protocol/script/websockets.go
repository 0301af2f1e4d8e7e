package script

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// websocketsModule is "k6/websockets": sockets in the form of browsers. They are opened beside the script,
// and the iteration is over when they are closed.
func (v *vu) websocketsModule() exports { return exports{"WebSocket": v.newWebSocket} }

// The states of a WebSocket.
const (
	connecting = iota
	open
	closing
	closed
)

// A webSocket is what new WebSocket(url, protocols, params) makes.
type webSocket struct {
	*socket
	this      *sobek.Object
	state     int
	listeners map[string][]sobek.Callable
	goodbye   [2]any // the code and reason that the script closes with
}

// socketEvents are those that there are.
var socketEvents = []string{"close", "error", "message", "open", "ping", "pong"}

func (v *vu) newWebSocket(call sobek.ConstructorCall) *sobek.Object {
	w := &webSocket{socket: v.newSocket(call.Argument(0).String(), call.Argument(2)), this: call.This, listeners: map[string][]sobek.Callable{}}
	switch protocols := call.Argument(1); list := protocols.Export().(type) {
	case string:
		w.offered = []string{list}
	case []any:
		_ = v.rt.ExportTo(protocols, &w.offered) // elements become text
	}
	for name, value := range map[string]int{"CONNECTING": connecting, "OPEN": open, "CLOSING": closing, "CLOSED": closed} {
		_ = call.This.Set(name, value)
	}
	w.define("readyState", func() any { return w.state })
	w.define("url", func() any { return w.url.String() })
	w.define("bufferedAmount", func() any { return w.unsent() })
	w.define("protocol", func() any { return w.protocol() })
	w.define("extensions", func() any { return w.field("Sec-WebSocket-Extensions") })
	for _, event := range socketEvents {
		_ = call.This.Set("on"+event, sobek.Null())
	}
	for name, function := range map[string]any{"send": w.sendValue, "close": w.closeValue, "ping": w.pingNow, "addEventListener": w.listen} {
		_ = call.This.Set(name, function)
	}
	_ = call.This.Set("binaryType", "arraybuffer")
	w.start()
	return nil
}

// define makes a property that cannot be set.
func (w *webSocket) define(name string, get func() any) {
	value := w.v.rt.ToValue(func() sobek.Value { return w.v.rt.ToValue(get()) })
	_ = w.this.DefineAccessorProperty(name, value, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
}

func (w *webSocket) unsent() int {
	if w.conn == nil {
		return 0
	}
	return w.conn.Unsent()
}

func (w *webSocket) protocol() string { return w.field("Sec-WebSocket-Protocol") }

func (w *webSocket) field(name string) string {
	if w.answer == nil {
		return ""
	}
	return w.answer.Header.Get(name)
}

// start opens the connection, and has what comes become events.
func (w *webSocket) start() {
	w.v.timers.from(w.v.ctx, func(live context.Context, post func(func() error) bool) {
		d := w.dial(live)
		switch {
		case d.err != nil:
			post(func() error { return w.end(d.err) })
		case d.conn == nil:
			post(func() error { w.take(d); return w.refused() })
		case post(func() error { w.take(d); return w.ready() }):
			w.receive(live, d.conn, post, w.came, w.end)
		default:
			d.conn.Close(0)
		}
	})
}

// ready tells the script that there is a connection.
func (w *webSocket) ready() error {
	w.opened()
	if w.state == closing { // before there was one
		w.close(w.goodbye[0].(int), w.goodbye[1].(string))
		return nil
	}
	w.state = open
	return w.emit("open", nil)
}

func (w *webSocket) came(f frame) error {
	v := w.v
	switch {
	case f.text:
		v.measure(mWSReceived, 1, w)
		return w.emit("message", exports{"data": string(f.data)})
	case f.binary:
		v.measure(mWSReceived, 1, w)
		if kind := w.this.Get("binaryType").String(); kind != "arraybuffer" {
			return v.explain(v.rt.Try(func() { v.throw("binaryType is %q; allowed: arraybuffer", kind) }))
		}
		return w.emit("message", exports{"data": v.rt.NewArrayBuffer(f.data)})
	case f.ping:
		return w.emit("ping", nil)
	}
	w.ponged(f.data)
	return w.emit("pong", nil)
}

// refused is the end of a handshake that the server did not want.
func (w *webSocket) refused() error {
	w.v.timers.ended()
	w.state = closed
	w.count(nil)
	if err := w.emit("error", exports{"error": "handshake: status " + w.v.rt.ToValue(w.answer.Status).String()}); err != nil {
		return err
	}
	return w.emit("close", exports{"code": 1006, "reason": "", "wasClean": false})
}

// end counts the connection and tells the script.
func (w *webSocket) end(err error) error {
	w.v.timers.ended()
	w.state = closed
	w.count(err)
	code, reason := closeCode(err)
	if w.unexpected(code) {
		if thrown := w.emit("error", exports{"error": err.Error()}); thrown != nil {
			return thrown
		}
	}
	return w.emit("close", exports{"code": code, "reason": reason, "wasClean": code != 1006})
}

// emit calls on… and the listeners of an event.
func (w *webSocket) emit(event string, with exports) error {
	values := exports{"type": event, "timestamp": time.Now().UnixMilli(), "target": w.this}
	for name, value := range with {
		values[name] = value
	}
	object := w.v.object(values)
	all := w.listeners[event]
	if on, ok := sobek.AssertFunction(w.this.Get("on" + event)); ok {
		all = append([]sobek.Callable{on}, all...)
	}
	for _, listener := range all {
		if _, err := listener(w.this, object); err != nil {
			return err
		}
	}
	return nil
}

// listen is addEventListener(event, function).
func (w *webSocket) listen(event string, function sobek.Value) {
	f, ok := sobek.AssertFunction(function)
	if !ok || !slices.Contains(socketEvents, event) {
		w.v.throw("addEventListener takes one of %s and a function, and not %q", strings.Join(socketEvents, ", "), event)
	}
	w.listeners[event] = append(w.listeners[event], f)
}

// sendValue is send(data): text, or what has bytes.
func (w *webSocket) sendValue(value sobek.Value) {
	if w.state == connecting {
		w.v.throw("send works when the WebSocket is open: in onopen")
	}
	if w.state != open {
		return
	}
	data, binary := bytesOf(value)
	if text, ok := value.Export().(string); ok {
		data = []byte(text)
	} else if !binary {
		w.v.throw("send takes text, an ArrayBuffer or a view of one, and not %.40q", harmless(value))
	}
	w.send(binary, data)
}

// closeValue is close(code, reason).
func (w *webSocket) closeValue(call sobek.FunctionCall) sobek.Value {
	code, reason := codeOf(call.Argument(0), normalClosure), ""
	if isObject(call.Argument(1)) {
		reason = call.Argument(1).String()
	}
	if code != normalClosure && (code < 3000 || code > 4999) || len(reason) > 123 {
		w.v.throw("close(%d, %.40q); allowed: 1000 or 3000 to 4999, and a reason of up to 123 bytes", code, reason)
	}
	if w.state == connecting {
		w.goodbye = [2]any{code, reason}
	}
	if w.state <= open {
		w.state = closing
		w.close(code, reason)
	}
	return sobek.Undefined()
}

func (w *webSocket) pingNow() {
	if w.state != open {
		w.v.throw("ping works when the WebSocket is open: in onopen")
	}
	w.ping()
}
