package script

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// maxDepth bounds recursion. Its end is an exception in the script.
const maxDepth = 4096

// initTimeout bounds the outermost part of a script.
const initTimeout = 30 * time.Second

// bounded has the end of ctx interrupt what a function runs before the virtual user follows anything.
func (v *vu) bounded(ctx context.Context, run func() error) error {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		v.rt.Interrupt(context.Cause(ctx))
		close(interrupted)
	})
	err := v.explain(run())
	if !stop() {
		<-interrupted
		v.rt.ClearInterrupt()
		if err == nil {
			err = context.Cause(ctx)
		}
	}
	return err
}

// What a script may ask for at once. The interpreter would ask the system for any amount, and nothing
// can interrupt it while it does.
const (
	longestString = 1<<29 - 24 // characters, as in V8
	longestArray  = 1 << 26    // elements
	largestBuffer = 1 << 30    // bytes
)

// A bound is of a function whose work depends on a number, not on the size of its input.
type bound struct {
	owner, name string // owner.name is the function, owner a constructor if name is ""
	unit        string
	most        float64
	asks        func(this, first sobek.Value) float64
}

// bounds are those that there are.
var bounds = func() []bound {
	number := func(_, n sobek.Value) float64 { return n.ToFloat() }
	all := []bound{
		{"String.prototype", "repeat", "characters", longestString, func(this, n sobek.Value) float64 { return length(this) * n.ToFloat() }},
		{"String.prototype", "padStart", "characters", longestString, number},
		{"String.prototype", "padEnd", "characters", longestString, number},
		{"Array.prototype", "fill", "elements", longestArray, func(this, _ sobek.Value) float64 { return length(this) }},
		{"Array.prototype", "join", "elements", longestArray, func(this, _ sobek.Value) float64 { return length(this) }},
		{"Array", "from", "elements", longestArray, func(_, like sobek.Value) float64 { return length(like) }},
		{"ArrayBuffer", "", "bytes", largestBuffer, number},
	}
	for name, width := range map[string]float64{"Int8": 1, "Uint8": 1, "Uint8Clamped": 1, "Int16": 2, "Uint16": 2, "Int32": 4, "Uint32": 4, "Float32": 4, "Float64": 8, "BigInt64": 8, "BigUint64": 8} {
		all = append(all, bound{name + "Array", "", "bytes", largestBuffer, func(_, n sobek.Value) float64 { return width * max(size(n), length(n)) }})
	}
	return all
}()

// size is a number that is given; 0 for anything else.
func size(n sobek.Value) float64 {
	if _, ok := n.(*sobek.Object); ok || n == nil {
		return 0
	}
	return n.ToFloat()
}

// length is that of a string, or of an object like an array; 0 of what has none.
func length(of sobek.Value) float64 {
	switch of := of.(type) {
	case sobek.String:
		return float64(of.Length())
	case *sobek.Object:
		return size(of.Get("length"))
	}
	return 0
}

// boundsOf returns those of functions that a text names.
func boundsOf(text string) []bound {
	return slices.DeleteFunc(slices.Clone(bounds), func(b bound) bool { return !strings.Contains(text, cmp.Or(b.name, b.owner)) })
}

// bound has the functions refuse too much.
func (v *vu) bound() {
	for _, b := range v.target.bundle.bounds {
		check := func(this sobek.Value, args []sobek.Value) {
			if asked := b.asks(this, sobek.FunctionCall{Arguments: args}.Argument(0)); asked > b.most {
				panic(v.exceptionOf("RangeError", "%s would be %.0f %s, and may be %.0f", cmp.Or(b.name, "new "+b.owner), asked, b.unit, b.most))
			}
		}
		owner := v.rt.GlobalObject()
		for name := range strings.SplitSeq(b.owner, ".") {
			owner = owner.Get(name).ToObject(v.rt)
		}
		if b.name == "" {
			v.boundConstructor(b.owner, owner, check)
			continue
		}
		original, _ := sobek.AssertFunction(owner.Get(b.name))
		_ = owner.DefineDataProperty(b.name, v.rt.ToValue(func(call sobek.FunctionCall) sobek.Value {
			check(call.This, call.Arguments)
			return orThrow(original(call.This, call.Arguments...))
		}), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
}

// boundConstructor replaces a constructor by another for the same class.
func (v *vu) boundConstructor(name string, original *sobek.Object, check func(this sobek.Value, args []sobek.Value)) {
	construct, _ := sobek.AssertFunction(v.rt.Get("Reflect").ToObject(v.rt).Get("construct"))
	var other *sobek.Object
	other = v.rt.ToValue(func(call sobek.ConstructorCall) *sobek.Object {
		check(nil, call.Arguments)
		by := call.NewTarget
		if by == nil || by == other {
			by = original
		}
		return orThrow(construct(sobek.Undefined(), original, v.rt.NewArray(anys(call.Arguments)...), by)).ToObject(v.rt)
	}).ToObject(v.rt)
	class := original.Get("prototype").ToObject(v.rt)
	_ = other.Set("prototype", class)
	_ = other.SetPrototype(original)
	_ = other.DefineDataProperty("name", v.rt.ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	_ = class.DefineDataProperty("constructor", other, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	_ = v.rt.Set(name, other)
}

func anys(values []sobek.Value) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = value
	}
	return all
}

// orThrow throws in turn what a call has thrown.
func orThrow(value sobek.Value, err error) sobek.Value {
	if err != nil {
		panic(err)
	}
	return value
}
