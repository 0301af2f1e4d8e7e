package script

import (
	"context"
	"strings"

	"github.com/grafana/sobek"
)

// asyncRequest sends a request while the script continues; its promise resolves to the answer.
func (v *vu) asyncRequest(args sobek.FunctionCall) sobek.Value {
	a := v.ask(args.Argument(0).String(), args.Arguments, 1, true)
	v.ready()
	v.addCookies(a)
	promise, resolve, reject := v.rt.NewPromise()
	v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
		first := new(reply)
		wait(live, v.target.limit.reserve())
		v.exchange(live, &a.call, first)
		post(func() error {
			v.timers.ended()
			answer := v.follows(a, v.after(first))
			if first.err != nil && v.target.Options.Throw {
				return reject(v.exception("%s %s: %v", a.method, answer.url(), first.err))
			}
			return resolve(v.rt.NewDynamicObject(answer))
		})
	})
	return v.rt.ToValue(promise)
}

// after carries what follows a reply that has come: a redirect goes on by itself.
func (v *vu) after(first *reply) func(*call) *reply {
	return func(c *call) *reply {
		if r := first; r != nil {
			first = nil
			return r
		}
		return v.paced()(c)
	}
}

// batch sends several requests side by side, and returns the answers in the form of what it was given:
// an array or an object.
func (v *vu) batch(args sobek.FunctionCall) sobek.Value {
	v.ready()
	if !isObject(args.Argument(0)) {
		v.throw("batch takes an array or an object of requests")
	}
	of := args.Argument(0).ToObject(v.rt)
	keys := of.Keys()
	asks := make([]*ask, len(keys))
	for i, key := range keys {
		asks[i] = v.batched(of.Get(key))
	}
	replies := v.together(asks)
	into := v.rt.NewObject()
	if of.ClassName() == "Array" {
		into = v.rt.NewArray()
	}
	for i, key := range keys {
		answer := v.follows(asks[i], v.after(replies[i]))
		_ = into.Set(key, v.rt.NewDynamicObject(answer))
	}
	return into
}

// batched reads one request of a batch: a URL, an array, or an object.
func (v *vu) batched(value sobek.Value) *ask {
	if !isObject(value) {
		v.throw("a request of a batch is a URL, an array or an object")
	}
	if _, tagged := hiddenIn[*taggedURL](value); tagged || value.ExportType() != nil && value.ExportType().Kind().String() == "string" {
		return v.ask("GET", []sobek.Value{value}, 0, true)
	}
	o := value.ToObject(v.rt)
	if o.ClassName() == "Array" {
		var parts []sobek.Value
		for _, key := range o.Keys() {
			parts = append(parts, o.Get(key))
		}
		if len(parts) < 2 {
			v.throw("a request of a batch that is an array has a method and a URL")
		}
		return v.ask(strings.ToUpper(parts[0].String()), parts, 1, true)
	}
	get := func(name string) sobek.Value {
		if value := o.Get(name); value != nil {
			return value
		}
		return sobek.Undefined()
	}
	method := "GET"
	if m := get("method"); !sobek.IsUndefined(m) {
		method = strings.ToUpper(m.String())
	}
	return v.ask(method, []sobek.Value{get("url"), get("body"), get("params")}, 0, true)
}
