package script

import (
	"github.com/grafana/sobek"
)

// globals are what a script finds without importing it.
func (v *vu) globals() {
	v.env = v.rt.NewObject()
	for name, value := range v.target.env {
		_ = v.env.Set(name, value)
	}
	for name, value := range v.of.load.Env {
		_ = v.env.Set(name, value)
	}
	_ = v.rt.Set("__ENV", v.env)
	_ = v.rt.Set("__VU", v.id)
	_ = v.rt.Set("open", v.open)
	_ = v.rt.Set("require", v.require)
	_ = v.rt.GlobalObject().DefineDataProperty(resolveName, v.rt.ToValue(v.resolve), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE)
	v.later("console", func() sobek.Value { return v.object(v.target.console.methods(v)) })
	v.later("crypto", func() sobek.Value { return v.rt.ToValue(v.webCrypto()) })
	for name, function := range v.timersModule() {
		_ = v.rt.Set(name, function)
	}
	_ = v.rt.Set("global", v.rt.GlobalObject())
}

// later makes a global when it is asked for.
func (v *vu) later(name string, make func() sobek.Value) {
	global := v.rt.GlobalObject()
	get := func(sobek.FunctionCall) sobek.Value {
		value := make()
		_ = global.DefineDataProperty(name, value, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE) // it is configurable
		return value
	}
	set := func(call sobek.FunctionCall) sobek.Value {
		_ = global.DefineDataProperty(name, call.Argument(0), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE)
		return sobek.Undefined()
	}
	_ = global.DefineAccessorProperty(name, v.rt.ToValue(get), v.rt.ToValue(set), sobek.FLAG_TRUE, sobek.FLAG_TRUE)
}
