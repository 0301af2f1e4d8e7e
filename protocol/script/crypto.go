package script

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"
	"golang.org/x/crypto/md4"       //lint:ignore SA1019 scripts that talk to old servers need it
	"golang.org/x/crypto/ripemd160" //lint:ignore SA1019 likewise
)

// hashes are those that scripts can ask for.
var hashes = map[string]func() hash.Hash{
	"md4": md4.New, "md5": md5.New, "ripemd160": ripemd160.New, "sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384,
	"sha512": sha512.New, "sha512_224": sha512.New512_224, "sha512_256": sha512.New512_256,
}

// cryptoModule is "k6/crypto".
func (v *vu) cryptoModule() exports {
	all := exports{
		"createHash": func(call sobek.FunctionCall) sobek.Value { return v.hasher(v.hash(call.Argument(0))()) },
		"createHMAC": func(call sobek.FunctionCall) sobek.Value {
			return v.hasher(hmac.New(v.hash(call.Argument(0)), v.bytes(call.Argument(1))))
		},
		"hmac": func(call sobek.FunctionCall) sobek.Value {
			h := hmac.New(v.hash(call.Argument(0)), v.bytes(call.Argument(1)))
			h.Write(v.bytes(call.Argument(2)))
			return v.digest(h, call.Argument(3))
		},
		"hexEncode": func(call sobek.FunctionCall) sobek.Value {
			return v.rt.ToValue(hex.EncodeToString(v.bytes(call.Argument(0))))
		},
		"randomBytes": v.randomBytes,
	}
	for name, of := range hashes {
		all[name] = func(call sobek.FunctionCall) sobek.Value {
			h := of()
			h.Write(v.bytes(call.Argument(0)))
			return v.digest(h, call.Argument(1))
		}
	}
	return all
}

func (v *vu) hash(name sobek.Value) func() hash.Hash {
	h := hashes[name.String()]
	if h == nil {
		v.throw("the algorithm is %q; expected %s", name, strings.Join(slices.Sorted(maps.Keys(hashes)), ", "))
	}
	return h
}

// hasher is what createHash returns: text and bytes are added until, and after, a digest is asked for.
func (v *vu) hasher(h hash.Hash) sobek.Value {
	return v.object(exports{
		"update": func(call sobek.FunctionCall) sobek.Value {
			h.Write(v.bytes(call.Argument(0)))
			return sobek.Undefined()
		},
		"digest": func(call sobek.FunctionCall) sobek.Value { return v.digest(h, call.Argument(0)) },
	})
}

// digestForms are what a digest can be written as.
var digestForms = map[string]func([]byte) string{
	"hex": hex.EncodeToString, "base64": base64.StdEncoding.EncodeToString,
	"base64url": base64.URLEncoding.EncodeToString, "base64rawurl": base64.RawURLEncoding.EncodeToString,
}

// digest is a sum in one of these forms, hex unless one is named, or with "binary" an ArrayBuffer.
func (v *vu) digest(h hash.Hash, form sobek.Value) sobek.Value {
	name := orText(form, "hex")
	if name == "binary" {
		return v.newBuffer(h.Sum(nil))
	}
	text := digestForms[name]
	if text == nil {
		v.throw("the encoding is %q; expected binary, %s", name, strings.Join(slices.Sorted(maps.Keys(digestForms)), ", "))
	}
	return v.rt.ToValue(text(h.Sum(nil)))
}

// maxRandom bounds what a script gets at a time.
const maxRandom = 64 << 20

// randomBytes are not of the run's seed: a server that outlives runs may want that they never come again.
func (v *vu) randomBytes(n int64) sobek.Value {
	if n < 1 || n > maxRandom {
		v.throw("randomBytes takes a number of bytes, not %d; expected 1 to %d", n, maxRandom)
	}
	return v.newBuffer(random(int(n)))
}
