package script

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// webHashes are those of the Web Cryptography API (W3C, section 30).
var webHashes = map[string]func() hash.Hash{
	"SHA-1": sha1.New, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

// webCrypto is the global crypto, as browsers have it: random numbers, digests, and HMAC.
func (v *vu) webCrypto() *sobek.Object {
	subtle := exports{
		"digest": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value {
				h := v.webHash(call.Argument(0))()
				h.Write(v.buffer(call.Argument(1)))
				return v.rt.ToValue(v.rt.NewArrayBuffer(h.Sum(nil)))
			})
		},
		"importKey": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return v.importKey(call) })
		},
		"sign": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value {
				return v.rt.ToValue(v.rt.NewArrayBuffer(v.mac("sign", call, call.Argument(2))))
			})
		},
		"verify": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value {
				given := v.buffer(call.Argument(2))
				return v.rt.ToValue(hmac.Equal(given, v.mac("verify", call, call.Argument(3))))
			})
		},
	}
	there := strings.Join(slices.Sorted(maps.Keys(subtle)), ", ")
	for _, name := range []string{"decrypt", "deriveBits", "deriveKey", "encrypt", "exportKey", "generateKey", "unwrapKey", "wrapKey"} {
		subtle[name] = func() { v.throw("crypto.subtle.%s is not there; those that are: %s", name, there) }
	}
	return v.object(exports{
		"getRandomValues": v.getRandomValues,
		"randomUUID":      randomUUID,
		"subtle":          v.object(subtle),
	})
}

// promise is settled by what a function returns or throws.
func (v *vu) promise(of func() sobek.Value) sobek.Value {
	p, resolve, reject := v.rt.NewPromise()
	value, err := v.try(of)
	if err != nil {
		_ = reject(err)
	} else {
		_ = resolve(value)
	}
	return v.rt.ToValue(p)
}

// try returns what a function throws as a value.
func (v *vu) try(of func() sobek.Value) (value, thrown sobek.Value) {
	defer func() {
		if caught := recover(); caught != nil {
			e, ok := caught.(*sobek.Object)
			if !ok {
				panic(caught)
			}
			thrown = e
		}
	}()
	return of(), nil
}

// buffer are the bytes of an ArrayBuffer or a view; text has none here.
func (v *vu) buffer(value sobek.Value) []byte {
	if _, text := value.Export().(string); text {
		v.throw("an ArrayBuffer is needed, not text")
	}
	return v.bytes(value)
}

// webHash is named by text or by an object with a name.
func (v *vu) webHash(algorithm sobek.Value) func() hash.Hash {
	name := v.named(algorithm)
	h := webHashes[strings.ToUpper(name)]
	if h == nil {
		v.throw("the algorithm is %q; allowed: %s", name, strings.Join(slices.Sorted(maps.Keys(webHashes)), ", "))
	}
	return h
}

func (v *vu) named(algorithm sobek.Value) string {
	if o, ok := algorithm.(*sobek.Object); ok && o.Get("name") != nil {
		algorithm = o.Get("name")
	}
	return harmless(algorithm)
}

// a macKey is a CryptoKey for HMAC.
type macKey struct {
	hash   func() hash.Hash
	key    []byte
	usages []string
}

// importKey takes ("raw", bytes, {name: "HMAC", hash}, extractable, usages).
func (v *vu) importKey(call sobek.FunctionCall) sobek.Value {
	if format := call.Argument(0).String(); format != "raw" {
		v.throw("importKey: the format is %q; allowed: raw", format)
	}
	algorithm, ok := call.Argument(2).(*sobek.Object)
	if name := v.named(call.Argument(2)); !ok || !strings.EqualFold(name, "HMAC") || algorithm.Get("hash") == nil {
		v.throw("importKey: the algorithm is %q; allowed: { name: 'HMAC', hash: 'SHA-256' }", name)
	}
	k := &macKey{hash: v.webHash(algorithm.Get("hash")), key: v.buffer(call.Argument(1))}
	if err := v.rt.ExportTo(call.Argument(4), &k.usages); err != nil || len(k.usages) == 0 {
		v.throw("importKey: the usages are %s; allowed: an array of sign and verify", harmless(call.Argument(4)))
	}
	for _, usage := range k.usages {
		if usage != "sign" && usage != "verify" {
			v.throw("importKey: a usage is %q; allowed: sign, verify", usage)
		}
	}
	return v.rt.ToValue(k)
}

// mac is the code of (algorithm, key, …) for data.
func (v *vu) mac(usage string, call sobek.FunctionCall, data sobek.Value) []byte {
	k, ok := call.Argument(1).Export().(*macKey)
	switch name := v.named(call.Argument(0)); {
	case !strings.EqualFold(name, "HMAC"):
		v.throw("%s: the algorithm is %q; allowed: HMAC", usage, name)
	case !ok:
		v.throw("%s: the key is none that importKey made", usage)
	case !slices.Contains(k.usages, usage):
		v.throw("%s: the key was imported for %s", usage, strings.Join(k.usages, ", "))
	}
	h := hmac.New(k.hash, k.key)
	h.Write(v.buffer(data))
	return h.Sum(nil)
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
		v.throw("getRandomValues fills %d bytes at the most, not %d", mostRandomValues, len(content))
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
