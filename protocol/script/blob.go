package script

import (
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// A blob is what a Blob of a script has: bytes that stay as they are, and their type (W3C, File API, section 3).
type blob struct {
	content []byte
	kind    string
}

// blobClass is the constructor Blob, the same for all modules of a virtual user.
func (v *vu) blobClass() *sobek.Object {
	if v.blobs == nil {
		v.blobs = v.rt.ToValue(v.newBlob).ToObject(v.rt)
		_ = v.blobs.DefineDataProperty("name", v.rt.ToValue("Blob"), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
	return v.blobs
}

// newBlob is new Blob(parts, { type }).
func (v *vu) newBlob(call sobek.ConstructorCall) *sobek.Object {
	b := new(blob)
	if parts := call.Argument(0); isObject(parts) {
		v.rt.ForOf(parts, func(part sobek.Value) bool {
			b.content = append(b.content, v.blobPart(part)...)
			return true
		})
	}
	if o, ok := call.Argument(1).(*sobek.Object); ok {
		b.kind = orText(orUndefined(o.Get("type")), "")
	}
	v.defineBlob(call.This, b)
	return nil
}

// blobPart is a part of one: another one, bytes, or else text.
func (v *vu) blobPart(part sobek.Value) []byte {
	if other, ok := hiddenIn[*blob](part); ok {
		return other.content
	}
	if content, ok := v.raw(part); ok {
		return content
	}
	return []byte(part.String())
}

// blobObject is a Blob of these bytes.
func (v *vu) blobObject(b *blob) *sobek.Object {
	o := v.rt.CreateObject(v.blobClass().Get("prototype").ToObject(v.rt))
	v.defineBlob(o, b)
	return o
}

// defineBlob gives an object what a Blob has.
func (v *vu) defineBlob(o *sobek.Object, b *blob) {
	v.hide(o, b)
	for name, value := range map[string]any{"size": len(b.content), "type": b.kind} {
		_ = o.DefineDataProperty(name, v.rt.ToValue(value), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	}
	content := func() sobek.Value { return v.newBuffer(slices.Clone(b.content)) }
	methods := exports{
		"arrayBuffer": func() sobek.Value { return v.promise(content) },
		"bytes": func() sobek.Value {
			return v.promise(func() sobek.Value { return orThrow(v.rt.New(v.rt.Get("Uint8Array"), content())) })
		},
		"slice": func(call sobek.FunctionCall) sobek.Value { return v.blobObject(b.slice(call)) },
		"text": func() sobek.Value {
			return v.promise(func() sobek.Value { return v.rt.ToValue(strings.ToValidUTF8(string(b.content), "\ufffd")) })
		},
	}
	for name, method := range methods {
		_ = o.Set(name, method)
	}
}

// slice is b.slice(from, to, type), numbers from the end where they are negative.
func (b *blob) slice(call sobek.FunctionCall) *blob {
	from, to := between(call, len(b.content))
	return &blob{b.content[from:to], textAt(call, 2, "")}
}
