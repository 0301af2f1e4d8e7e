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

// exports are values by their names; "default" is the whole unless it is there.
type exports map[string]any

// modules are those that there are. What is no file is one of them, or a mistake.
var modules map[string]module

func init() { // it refers to functions that refer to it
	modules = map[string]module{
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
	}
}

func moduleNames() []string { return slices.Sorted(maps.Keys(modules)) }

// Exports returns what each module has, by its name, sorted.
func Exports() map[string][]string {
	all := map[string][]string{}
	v := &vu{rt: sobek.New(), target: &Target{}}
	for name, make := range modules {
		all[name] = slices.Sorted(maps.Keys(make(v)))
	}
	return all
}

// moduleText is a module as bundled code: names that it does not have are mistakes where they
// are imported, and those that it has are plain variables.
func moduleText(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const m = %s(%q);\n", nativeModules, name)
	hasDefault := false
	for _, export := range Exports()[name] {
		if hasDefault = hasDefault || export == "default"; export == "default" {
			b.WriteString("export default m.default;\n")
			continue
		}
		fmt.Fprintf(&b, "export const %s = m.%[1]s;\n", export)
	}
	if !hasDefault {
		b.WriteString("export default m;\n")
	}
	return b.String()
}

// native returns a module's exports, the same object each time.
func (v *vu) native(name string) *sobek.Object {
	if v.modules[name] == nil {
		v.modules[name] = v.object(modules[name](v))
	}
	return v.modules[name]
}

// object makes an object of the script out of values by name, in the order of the names.
func (v *vu) object(values exports) *sobek.Object {
	o := v.rt.NewObject()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		_ = o.Set(name, values[name]) // fails for objects that are frozen
	}
	return o
}
