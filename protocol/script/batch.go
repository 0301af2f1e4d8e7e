package script

import (
	"context"
	"net/url"
	"strings"

	"github.com/grafana/sobek"
)

// A promised is a request whose answer settles a promise.
type promised struct {
	ask             *ask
	resolve, reject func(any) error // fail if the script is interrupted
}

// asyncRequest sends a request while the script continues, as soon as it waits for anything; its promise resolves to
// the answer.
func (v *vu) asyncRequest(args sobek.FunctionCall) sobek.Value {
	a, wrong := v.asked(args.Argument(0).String(), args.Arguments, 1, true)
	promise, resolve, reject := v.rt.NewPromise()
	if wrong != nil {
		_ = resolve(v.rt.NewDynamicObject(wrong)) // fails if the script is interrupted
		return v.rt.ToValue(promise)
	}
	v.addCookies(a)
	v.timers.promised = append(v.timers.promised, promised{a, resolve, reject})
	return v.rt.ToValue(promise)
}

// alone returns what sends the only request that the script waits for, as if it were not asynchronous, which costs
// least; nil: it waits for more.
func (v *vu) alone() func() error {
	t := &v.timers
	if len(t.promised) != 1 || t.live > 0 || len(t.pending) > 0 || v.conversation.owes() {
		return nil
	}
	one := t.promised[0]
	t.promised = t.promised[:0]
	return func() error { return v.keep(one, v.follows(one.ask, v.paced())) }
}

// sendPromised sends requests side by side, before the script waits.
func (v *vu) sendPromised() {
	all := v.timers.promised
	v.timers.promised = v.timers.promised[:0]
	for _, one := range all {
		if v.conversation.takesAside(&one.ask.call) {
			c := &carried{call: &one.ask.call}
			c.settle = func() error { return v.keep(one, v.follows(one.ask, v.after(c.reply))) }
			v.conversation.push(c)
			continue
		}
		v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
			first := new(reply)
			wait(live, v.target.limit.reserve())
			v.exchange(live, &one.ask.call, first)
			post(func() error {
				v.timers.ended()
				return v.keep(one, v.follows(one.ask, v.after(first)))
			})
		})
	}
}

// keep settles the promise of an answer.
func (v *vu) keep(p promised, answer *response) error {
	if answer.err != nil && v.target.Options.Throw {
		return p.reject(v.exception("%s %s: %v", p.ask.method, answer.url(), answer.err))
	}
	return p.resolve(v.rt.NewDynamicObject(answer))
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
	if _, ok := args.Argument(0).(*sobek.Object); !ok {
		v.throw("batch takes an array or an object of requests")
	}
	of := args.Argument(0).ToObject(v.rt)
	keys := of.Keys()
	answers := make([]*response, len(keys)) // nil: what is sent
	into := v.rt.NewObject()
	if of.ClassName() == "Array" {
		into = v.rt.NewArray()
	}
	var asks []*ask
	for i, key := range keys {
		a, wrong := v.batched(of.Get(key))
		switch answers[i] = wrong; {
		case wrong == nil:
			asks = append(asks, a)
		case a.mistaken != cannotSend:
			return v.unsent(into, keys, wrong, i)
		}
	}
	replies := v.together(asks)
	for i, key := range keys {
		if answers[i] == nil {
			answers[i] = v.follows(asks[0], v.after(replies[0]))
			asks, replies = asks[1:], replies[1:]
		}
		_ = into.Set(key, v.rt.NewDynamicObject(answers[i]))
	}
	return into
}

// unsent is what batch returns if its i-th request has a mistake that k6 sees before it sends any: responses of nothing before
// it, and null after it.
func (v *vu) unsent(into *sobek.Object, keys []string, wrong *response, i int) sobek.Value {
	for j, key := range keys {
		value := sobek.Null()
		if j < i {
			value = v.rt.NewDynamicObject(&response{v: v, reply: new(reply), ask: &ask{call: call{discard: true}}, from: new(url.URL)})
		} else if j == i {
			value = v.rt.NewDynamicObject(wrong)
		}
		_ = into.Set(key, value)
	}
	return into
}

// batched reads one request of a batch: a URL, an array, or an object.
func (v *vu) batched(value sobek.Value) (*ask, *response) {
	if !isObject(value) {
		return v.asked("GET", []sobek.Value{value}, 0, true)
	}
	if _, tagged := hiddenIn[*taggedURL](value); tagged || value.ExportType() != nil && value.ExportType().Kind().String() == "string" {
		return v.asked("GET", []sobek.Value{value}, 0, true)
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
		return v.asked(strings.ToUpper(parts[0].String()), parts, 1, true)
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
	return v.asked(method, []sobek.Value{get("url"), get("body"), get("params")}, 0, true)
}
