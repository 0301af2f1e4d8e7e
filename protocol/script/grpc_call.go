package script

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/grafana/sobek"

	"contend/load"
	"contend/protocol/grpc"
)

// A grpcInvocation is a unary call that is to be made.
type grpcInvocation struct {
	method  *grpc.Method
	params  *grpcCall
	encoded []byte
}

// invocation reads the arguments of a unary call.
func (c *grpcClient) invocation(path string, message, params sobek.Value) *grpcInvocation {
	m := c.method(path)
	if m.ClientStreams() || m.ServerStreams() {
		c.v.throw("method is %q, which is %s: new grpc.Stream(client, %[1]q) opens it", path, m.Kind())
	}
	return &grpcInvocation{m, c.v.callParams(m, params), c.v.encode(m, message)}
}

// by makes the call until ctx is done, or its own time is over.
func (i *grpcInvocation) by(ctx context.Context, call func(context.Context, *grpc.Method, []byte, grpc.Metadata) *grpc.Reply) *grpc.Reply {
	if i.params.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, i.params.timeout)
		defer cancel()
	}
	return call(ctx, i.method, i.encoded, i.params.metadata)
}

// invoke is client.invoke(method, message, params).
func (c *grpcClient) invoke(path string, message, params sobek.Value) sobek.Value {
	conn, i := c.open("invoke"), c.invocation(path, message, params)
	return c.v.reply(i.method, c.v.call(conn, i))
}

// call makes a call, and counts it.
func (v *vu) call(conn *grpc.Client, i *grpcInvocation) *grpc.Reply {
	r := unanswered
	v.hear(func() error {
		v.away(func(ctx context.Context) { r = i.by(ctx, conn.Invoke) })
		return r.Err
	})
	v.measureCall(i, r)
	return r
}

func (v *vu) measureCall(i *grpcInvocation, r *grpc.Reply) {
	if r.Err == nil || v.ctx.Err() == nil {
		v.measure(mGRPC, milliseconds(r.Service), &callTags{i.params, i.method, r})
	}
	v.countCall(i.params.name, r, int64(len(r.Message)))
}

// asyncInvoke is client.asyncInvoke(method, message, params): a call while the script continues; its promise
// resolves to the answer.
func (c *grpcClient) asyncInvoke(path string, message, params sobek.Value) sobek.Value {
	v := c.v
	promise, resolve, reject := v.rt.NewPromise()
	thrown := v.rt.Try(func() {
		conn, i := c.open("asyncInvoke"), c.invocation(path, message, params)
		v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
			r := i.by(live, conn.InvokeBeside)
			post(func() error {
				v.timers.ended()
				v.measureCall(i, r)
				var answer sobek.Value
				if thrown := v.rt.Try(func() { answer = v.reply(i.method, r) }); thrown != nil {
					return reject(thrown.Value())
				}
				return resolve(answer)
			})
		})
	})
	if thrown != nil {
		_ = reject(thrown.Value()) // fails for values of other runtimes
	}
	return v.rt.ToValue(promise)
}

// healthCheck is client.healthCheck(service, params): {status: grpc.HealthCheckServing}, or an exception.
func (c *grpcClient) healthCheck(call sobek.FunctionCall) sobek.Value {
	v, conn, service := c.v, c.open("healthCheck"), ""
	if isObject(call.Argument(0)) {
		service = call.Argument(0).String()
	}
	params := v.callParams(grpc.Health, call.Argument(1))
	r := v.call(conn, &grpcInvocation{grpc.Health, params, v.encode(grpc.Health, v.object(exports{"service": service}))})
	state, err := grpc.HealthOf(r)
	if err != nil {
		v.throw("healthCheck: %v", err)
	}
	return v.object(exports{"status": state})
}

// unanswered is the outcome of a call of a script that is abandoned.
var unanswered = &grpc.Reply{Code: slices.Index(grpc.Codes(), "Canceled"), Err: errEnded}

// encode turns a message of the script into bytes.
func (v *vu) encode(m *grpc.Method, message sobek.Value) []byte {
	if !isObject(message) {
		v.throw("%s needs a message, {} if it is to be empty", m.Path())
	}
	text, err := v.stringify(sobek.Undefined(), message)
	if err != nil {
		panic(err)
	}
	encoded, err := m.Encode([]byte(text.String()))
	if err != nil {
		v.throw("message %v", err)
	}
	return encoded
}

// countCall notes a call and how it ended; body is how long the messages were that it brought.
func (v *vu) countCall(name string, r *grpc.Reply, body int64) {
	last := &called{name, r}
	v.http.last = last
	one := load.Request{Name: name, Status: r.Code, Service: r.Service, BodyIn: body}
	switch {
	case r.Err == nil:
		if one.Failed = r.Code != 0; one.Failed {
			v.note(one, nil, last.detail(), "")
			return
		}
		v.note(one, nil, nil, "")
	case v.ctx.Err() == nil: // else the run ended, which is nobody's fault
		v.note(one, r.Err, nil, "")
	}
}

// callTags are those of a call.
type callTags struct {
	params *grpcCall
	method *grpc.Method
	reply  *grpc.Reply // nil: of a stream that has not ended
}

func (t *callTags) given() tagMap { return t.params.tags }

func (t *callTags) system(name string) (string, bool) {
	switch name {
	case "name":
		return t.params.name, true
	case "method":
		return t.method.Name(), true
	case "service":
		return t.method.Package() + "." + t.method.Service(), true
	case "status":
		if t.reply != nil {
			return strconv.Itoa(t.reply.Code), true
		}
	}
	return "", false
}

// A called is the outcome of a call, for examples.
type called struct {
	name string
	*grpc.Reply
}

func (c *called) detail() []byte {
	return fmt.Appendf(nil, "%s: %s %.200s", c.name, grpc.Codes()[min(c.Code, len(grpc.Codes())-1)], c.Status)
}

// reply is an answer as scripts see it.
func (v *vu) reply(m *grpc.Method, r *grpc.Reply) sobek.Value {
	all := exports{"status": r.Code, "message": v.decode(m, r.Message), "error": sobek.Null(), // the message is an empty one without an answer
		"headers": v.metadataObject(r.Header), "trailers": v.metadataObject(r.Trailer)}
	if r.Code != 0 {
		all["error"] = v.statusObject(r)
	}
	return v.object(all)
}

func (v *vu) statusObject(r *grpc.Reply) *sobek.Object {
	return v.object(exports{"code": r.Code, "message": r.Status, "details": v.rt.NewArray()})
}

// decode makes a message of the script out of bytes.
func (v *vu) decode(m *grpc.Method, encoded []byte) sobek.Value {
	text, err := m.Decode(encoded)
	if err != nil {
		v.throw("%v", err)
	}
	value, err := v.parse(string(text))
	if err != nil {
		panic(err)
	}
	return value
}

func (v *vu) metadataObject(values map[string][]string) *sobek.Object {
	o := v.rt.NewObject()
	for name, list := range values {
		items := make([]any, len(list))
		for i, one := range list {
			items[i] = one
		}
		_ = o.Set(name, v.rt.NewArray(items...))
	}
	return o
}
