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

// open reads a file as text, or with the mode "b" as an ArrayBuffer.
func (v *vu) open(call sobek.FunctionCall) sobek.Value {
	if v.started {
		v.throw("open works in the outermost part of the script only: what it reads can be kept in a variable there")
	}
	from := "" // the file that calls
	for _, frame := range v.rt.CaptureCallStack(0, nil) {
		if at := frame.Position(); at.Line > 0 {
			from = at.Filename
			break
		}
	}
	content, err := v.target.bundle.read(call.Argument(0).String(), from)
	if err != nil {
		v.throw("open: %v", err)
	}
	if call.Argument(1).String() == "b" {
		return v.rt.ToValue(v.rt.NewArrayBuffer(content))
	}
	return v.rt.ToValue(string(content))
}
