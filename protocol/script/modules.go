package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// A module is what scripts import by a name: its exports for one virtual user.
type module func(*vu) exports

// exports are values by their names; "default" is the whole unless it is one of them.
type exports map[string]any

// modules are the known ones. An import that is not a file is one of them, or a mistake.
var modules map[string]module

func init() { // it refers to functions that refer to it
	modules = map[string]module{
		"k6/crypto/x509":             (*vu).x509Module,
		"k6/experimental/websockets": (*vu).formerWebsocketsModule,
		"k6/html":                    (*vu).htmlModule,

		"k6":            (*vu).k6Module,
		"k6/crypto":     (*vu).cryptoModule,
		"k6/data":       (*vu).dataModule,
		"k6/encoding":   (*vu).encodingModule,
		"k6/execution":  (*vu).executionModule,
		"k6/http":       (*vu).httpModule,
		"k6/metrics":    (*vu).metricsModule,
		"k6/timers":     (*vu).timersModule,
		"k6/net/grpc":   (*vu).grpcModule,
		"k6/websockets": (*vu).websocketsModule,
		"k6/ws":         (*vu).wsModule,

		"k6/experimental/csv": (*vu).csvModule,
		"k6/experimental/fs":  (*vu).fsModule,
		"k6/secrets":          (*vu).secretsModule,
	}
}

// instead says of modules that k6 has, or had, what to write for them.
var instead = map[string]string{
	"k6/experimental/grpc":      "it is k6/net/grpc now",
	"k6/experimental/timers":    "its functions are global now: leave the import out",
	"k6/experimental/webcrypto": "crypto is global now: leave the import out",
	"k6/experimental/streams":   "read files with open, and the rows of all callers with SharedArray of k6/data",
}

func moduleNames() []string { return slices.Sorted(maps.Keys(modules)) }

// moduleExports returns what each module has, by its name, sorted.
func moduleExports() map[string][]string {
	all := map[string][]string{}
	v := &vu{rt: sobek.New(), target: &Target{}}
	for name, make := range modules {
		all[name] = slices.Sorted(maps.Keys(make(v)))
	}
	return all
}

// moduleText is a module as bundled code: names that it does not have are undefined where they are missed, those
// that nobody imports are left out, and those that are imported are plain variables.
func moduleText(name string, missing []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const m = %s(%q);\n", nativeModules, name)
	whole := "m()"
	for _, export := range moduleExports()[name] {
		if export == "default" {
			whole = `m("default")`
			continue
		}
		fmt.Fprintf(&b, "export const %s = /* @__PURE__ */ m(%[1]q);\n", export)
	}
	for _, export := range missing {
		fmt.Fprintf(&b, "export const %s = undefined;\n", export)
	}
	fmt.Fprintf(&b, "export default /* @__PURE__ */ %s;\n", whole)
	return b.String()
}

// native is what bundled code finds a module in: a function that returns what is exported by a name, or
// without one all of it.
func (v *vu) native(name string) any {
	m := v.module(name)
	return func(call sobek.FunctionCall) sobek.Value {
		if len(call.Arguments) > 0 {
			return m.Get(call.Argument(0).String())
		}
		return m.all()
	}
}

// module returns the virtual user's own of a name, which is made once.
func (v *vu) module(name string) *lazy {
	m := v.modules[name]
	if m == nil {
		m = &lazy{v: v, of: modules[name](v), made: map[string]sobek.Value{}}
		v.modules[name] = m
	}
	return m
}

// A lazy makes values of a script when they are asked for: a runtime has many, and most scripts need few.
type lazy struct {
	v     *vu
	of    exports
	made  map[string]sobek.Value
	whole *sobek.Object // all of them; nil: nobody has asked
}

var _ sobek.DynamicObject = (*lazy)(nil)

// all is an object with everything that the module has.
func (l *lazy) all() sobek.Value {
	if l.whole == nil {
		l.whole = l.v.rt.NewDynamicObject(l)
	}
	return l.whole
}

// Get returns the same value each time.
func (l *lazy) Get(name string) sobek.Value {
	if value, ok := l.made[name]; ok {
		return value
	}
	of, ok := l.of[name]
	if !ok {
		return nil
	}
	value := l.v.rt.ToValue(of)
	l.made[name] = value
	return value
}

// Set lets a script replace a value.
func (l *lazy) Set(name string, value sobek.Value) bool {
	l.made[name] = value
	return true
}

// Has reports whether there is such a value.
func (l *lazy) Has(name string) bool {
	_, made := l.made[name]
	return made || l.of[name] != nil
}

// Delete is not possible.
func (l *lazy) Delete(string) bool { return false }

// Keys returns the names of what a module has.
func (l *lazy) Keys() []string { return slices.Sorted(maps.Keys(l.of)) }

// hidden is where an object of a script has a value of ours.
const hidden = "__hidden"

// hide gives an object such a value, which hiddenIn finds.
func (v *vu) hide(o *sobek.Object, value any) {
	_ = o.DefineDataProperty(hidden, v.rt.ToValue(value), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE)
}

// hiddenIn is the value that was hidden in an object.
func hiddenIn[T any](value sobek.Value) (found T, ok bool) {
	if o, is := value.(*sobek.Object); is && o.Get(hidden) != nil {
		found, ok = o.Get(hidden).Export().(T)
	}
	return found, ok
}

// object makes an object of the script out of values by name, in the order of the names.
func (v *vu) object(values exports) *sobek.Object {
	o := v.rt.NewObject()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		_ = o.Set(name, values[name]) // fails for objects that are frozen
	}
	return o
}
