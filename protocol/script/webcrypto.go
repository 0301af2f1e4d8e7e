package script

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// webCrypto is the global crypto, as browsers have it: random numbers, and the part of crypto.subtle that
// load tests need for their keys (W3C, Web Cryptography API).
func (v *vu) webCrypto() *sobek.Object {
	promises := map[string]func(sobek.FunctionCall) sobek.Value{
		"digest": func(call sobek.FunctionCall) sobek.Value {
			h := v.webHash(call.Argument(0)).New()
			h.Write(v.buffer(call.Argument(1)))
			return v.newBuffer(h.Sum(nil))
		},
		"importKey": v.importKey, "exportKey": v.exportKey, "generateKey": v.generateKey,
		"sign": v.sign, "verify": v.verify,
		"encrypt": v.encrypt, "decrypt": v.decrypt,
		"deriveBits": v.deriveBits, "deriveKey": v.deriveKey,
	}
	subtle := exports{}
	for name, of := range promises {
		subtle[name] = func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return of(call) })
		}
	}
	there := strings.Join(slices.Sorted(maps.Keys(subtle)), ", ")
	for _, name := range []string{"unwrapKey", "wrapKey"} {
		subtle[name] = func() { v.throw("crypto.subtle.%s is not there; those that are: %s", name, there) }
	}
	return v.object(exports{
		"getRandomValues": v.getRandomValues,
		"randomUUID":      randomUUID,
		"subtle":          v.object(subtle),
	})
}

func (v *vu) newBuffer(content []byte) sobek.Value { return v.rt.ToValue(v.rt.NewArrayBuffer(content)) }

// promise is settled by what a function returns or throws.
func (v *vu) promise(of func() sobek.Value) sobek.Value {
	p, resolve, reject := v.rt.NewPromise()
	var value sobek.Value
	if thrown := v.rt.Try(func() { value = of() }); thrown != nil {
		_ = reject(thrown.Value())
	} else {
		_ = resolve(value)
	}
	return v.rt.ToValue(p)
}

// buffer are the bytes of an ArrayBuffer or a view; text has none here.
func (v *vu) buffer(value sobek.Value) []byte {
	if _, text := value.Export().(string); text {
		v.throw("an ArrayBuffer is needed, not text")
	}
	return v.bytes(value)
}

// mostRandomValues is how many bytes getRandomValues fills (Web Cryptography API, section 10.1.1).
const mostRandomValues = 65536

// getRandomValues fills an array of integers.
func (v *vu) getRandomValues(call sobek.FunctionCall) sobek.Value {
	content, ok := v.view(call.Argument(0))
	if kind := harmless(call.Argument(0).ToObject(v.rt).Get("constructor").ToObject(v.rt).Get("name")); !ok || strings.HasPrefix(kind, "Float") || kind == "DataView" {
		v.throw("getRandomValues fills an array of integers, such as new Uint8Array(16)")
	}
	if len(content) > mostRandomValues {
		v.throw("getRandomValues fills at most %d bytes, not %d", mostRandomValues, len(content))
	}
	_, _ = rand.Read(content) // which never fails
	return call.Argument(0)
}

// randomUUID is one of version 4 (RFC 9562, section 5.4).
func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
