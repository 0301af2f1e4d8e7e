package script

import (
	"bytes"
	"encoding/base64"

	"github.com/grafana/sobek"
)

// encodingModule is "k6/encoding".
func (v *vu) encodingModule() exports {
	return exports{
		"b64encode": func(call sobek.FunctionCall) sobek.Value {
			return v.rt.ToValue(base64Of(call.Argument(1)).EncodeToString(v.bytes(call.Argument(0))))
		},
		"b64decode": v.b64decode,
	}
}

// base64Forms are those of RFC 4648, with padding and without.
var base64Forms = map[string]*base64.Encoding{
	"std": base64.StdEncoding, "rawstd": base64.RawStdEncoding, "url": base64.URLEncoding, "rawurl": base64.RawURLEncoding,
}

// base64Of is that of a name, or std, as in k6.
func base64Of(form sobek.Value) *base64.Encoding {
	if e := base64Forms[form.String()]; e != nil {
		return e
	}
	return base64.StdEncoding
}

// b64decode returns an ArrayBuffer, or text where its third argument is "s".
func (v *vu) b64decode(call sobek.FunctionCall) sobek.Value {
	content, err := base64Of(call.Argument(1)).DecodeString(call.Argument(0).String())
	if err != nil {
		v.throw("b64decode: %v", err)
	}
	switch format := call.Argument(2); {
	case !isObject(format):
		return v.rt.ToValue(v.rt.NewArrayBuffer(content))
	case format.String() == "s":
		return v.rt.ToValue(string(content))
	default:
		v.throw("the format is %q; expected s", format)
	}
	return nil
}

// bytes are those of text, an ArrayBuffer, or a view of one, as a copy.
func (v *vu) bytes(value sobek.Value) []byte {
	if text, ok := value.Export().(string); ok {
		return []byte(text)
	}
	content, ok := v.raw(value)
	if !ok {
		v.throw("text or an ArrayBuffer is needed, not %s", harmless(value))
	}
	return bytes.Clone(content)
}

// raw are the bytes of an ArrayBuffer, or of a view of one.
func (v *vu) raw(value sobek.Value) ([]byte, bool) {
	if buffer, ok := value.Export().(sobek.ArrayBuffer); ok {
		return buffer.Bytes(), true
	}
	return v.view(value)
}

// view is what a typed array or a DataView shows of its buffer.
func (v *vu) view(value sobek.Value) ([]byte, bool) {
	o, ok := value.(*sobek.Object)
	if !ok || o.Get("buffer") == nil {
		return nil, false
	}
	buffer, ok := o.Get("buffer").Export().(sobek.ArrayBuffer)
	if !ok || o.Get("byteOffset") == nil || o.Get("byteLength") == nil {
		return nil, false
	}
	from, n := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	all := buffer.Bytes()
	if from < 0 || n < 0 || from+n > int64(len(all)) {
		return nil, false
	}
	return all[from : from+n], true
}
