package script

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/grafana/sobek"
)

// requirer is how the name of the function begins with which esbuild runs a CommonJS module.
const requirer = "__require"

// caller is the file whose code calls a function of ours, from the script's folder.
func (v *vu) caller() string {
	for _, frame := range v.rt.CaptureCallStack(0, nil) {
		if file := v.target.bundle.fileOf(frame); file != "" {
			return file
		}
	}
	return ""
}

// fileOf is the file of a frame, from the script's folder; "": none of the script's. What a source map of a file
// says that it was made of is the script itself.
func (b *bundle) fileOf(frame sobek.StackFrame) string {
	at := frame.Position()
	name, err := url.PathUnescape(at.Filename) // maps have URLs
	switch {
	case at.Line == 0:
		return ""
	case err == nil && b.files[filepath.Join(b.dir, filepath.FromSlash(name))]:
		return name
	}
	return b.name
}

// running is the file whose outermost part runs, whichever file's function was called there.
func (v *vu) running() (file string) {
	for _, frame := range v.rt.CaptureCallStack(0, nil) {
		if file != "" && strings.HasPrefix(frame.FuncName(), requirer) {
			return file
		}
		if at := v.target.bundle.fileOf(frame); at != "" {
			file = at
		}
	}
	return file
}

// open reads a file as text, or with the mode "b" as an ArrayBuffer. As in k6, its path is from the file that is
// running when it is called, which is not the one that has the call if that is in a function of another file.
func (v *vu) open(call sobek.FunctionCall) sobek.Value {
	if v.started {
		v.throw("open works in the outermost part of the script only: what it reads can be kept in a variable there")
	}
	content, err := v.target.bundle.read(call.Argument(0).String(), v.running())
	if err != nil {
		v.throw("open: %v", err)
	}
	if call.Argument(1).String() == "b" {
		return v.rt.ToValue(v.rt.NewArrayBuffer(content))
	}
	return v.rt.ToValue(string(content))
}

// resolve is import.meta.resolve: the URL of a file from that of the caller.
func (v *vu) resolve(name string) string {
	if modules[name] != nil || strings.Contains(name, "://") {
		return name
	}
	return "file://" + v.target.bundle.located(name, v.caller())
}

// require is what calls come to whose argument is known only when they run; all others are part of the bundle.
func (v *vu) require(name string) sobek.Value {
	if modules[name] == nil {
		v.throw("require(%q): files are found by require calls with a plain string; modules are %s", name, strings.Join(moduleNames(), ", "))
	}
	return v.module(name).all()
}
