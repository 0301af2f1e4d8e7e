package script

import (
	"crypto"
	"crypto/aes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // for webHashes
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// webHashes are those of the Web Cryptography API (W3C, section 30).
var webHashes = map[string]crypto.Hash{"SHA-1": crypto.SHA1, "SHA-256": crypto.SHA256, "SHA-384": crypto.SHA384, "SHA-512": crypto.SHA512}

// webAlgorithms are those of keys, with what each is for.
var webAlgorithms = map[string]struct {
	usages []string
	pair   bool // a private and a public key
}{
	"HMAC":              {[]string{"sign", "verify"}, false},
	"AES-CBC":           {[]string{"encrypt", "decrypt"}, false},
	"AES-CTR":           {[]string{"encrypt", "decrypt"}, false},
	"AES-GCM":           {[]string{"encrypt", "decrypt"}, false},
	"HKDF":              {[]string{"deriveBits", "deriveKey"}, false},
	"PBKDF2":            {[]string{"deriveBits", "deriveKey"}, false},
	"RSASSA-PKCS1-v1_5": {[]string{"sign", "verify"}, true},
	"RSA-PSS":           {[]string{"sign", "verify"}, true},
	"RSA-OAEP":          {[]string{"encrypt", "decrypt"}, true},
	"ECDSA":             {[]string{"sign", "verify"}, true},
	"ECDH":              {[]string{"deriveBits", "deriveKey"}, true},
}

// a webKey is a CryptoKey.
type webKey struct {
	algorithm   string        // of webAlgorithms
	hash        crypto.Hash   // of HMAC and RSA
	secret      []byte        // nil: it is one of a pair
	private     crypto.Signer // nil: it is public, or secret
	public      crypto.PublicKey
	usages      []string
	extractable bool
}

// keyObject is a key as scripts see it.
func (v *vu) keyObject(k *webKey) *sobek.Object {
	kind := "secret"
	switch {
	case k.private != nil:
		kind = "private"
	case k.public != nil:
		kind = "public"
	}
	algorithm := exports{"name": k.algorithm}
	if k.hash != 0 {
		algorithm["hash"] = v.object(exports{"name": k.hash.String()})
	}
	if point, ok := k.public.(*ecdsa.PublicKey); ok {
		algorithm["namedCurve"] = point.Params().Name
	}
	o := v.object(exports{"type": kind, "extractable": k.extractable, "algorithm": v.object(algorithm), "usages": k.usages})
	v.hide(o, k)
	return o
}

// keyFor is the key of a call (algorithm, key, …).
func (v *vu) keyFor(usage string, call sobek.FunctionCall) *webKey {
	k := v.key(usage, call.Argument(1))
	switch name := v.named(call.Argument(0)); {
	case !strings.EqualFold(name, k.algorithm):
		v.throw("%s: the algorithm is %q, and the key's is %s", usage, name, k.algorithm)
	case !slices.Contains(k.usages, usage):
		v.throw("%s: the key is for %s", usage, strings.Join(k.usages, ", "))
	}
	return k
}

func (v *vu) key(what string, value sobek.Value) *webKey {
	k, ok := hiddenIn[*webKey](value)
	if !ok {
		v.throw("%s: the key was not made by importKey, generateKey or deriveKey", what)
	}
	return k
}

// webHash is named by text or by an object with a name.
func (v *vu) webHash(algorithm sobek.Value) crypto.Hash {
	name := v.named(algorithm)
	h := webHashes[strings.ToUpper(name)]
	if h == 0 {
		v.throw("the algorithm is %q; expected %s", name, strings.Join(slices.Sorted(maps.Keys(webHashes)), ", "))
	}
	return h
}

func (v *vu) named(algorithm sobek.Value) string {
	if o, ok := algorithm.(*sobek.Object); ok && o.Get("name") != nil {
		algorithm = o.Get("name")
	}
	return harmless(algorithm)
}

// newKey is one without content yet, for (algorithm, extractable, usages).
func (v *vu) newKey(what string, algorithm, extractable, usages sobek.Value) *webKey {
	k := &webKey{extractable: extractable.ToBoolean()}
	names := slices.Sorted(maps.Keys(webAlgorithms))
	at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, v.named(algorithm)) })
	if at < 0 {
		v.throw("%s: the algorithm is %q; expected %s", what, v.named(algorithm), strings.Join(names, ", "))
	}
	k.algorithm = names[at]
	known := webAlgorithms[k.algorithm]
	if err := v.rt.ExportTo(usages, &k.usages); err != nil {
		v.throw("%s: the usages are %s; expected an array of %s", what, harmless(usages), strings.Join(known.usages, ", "))
	}
	for _, usage := range k.usages {
		if !slices.Contains(known.usages, usage) {
			v.throw("%s: a usage is %q; expected %s", what, usage, strings.Join(known.usages, ", "))
		}
	}
	if o, ok := algorithm.(*sobek.Object); ok && o.Get("hash") != nil {
		k.hash = v.webHash(o.Get("hash"))
	} else if k.algorithm == "HMAC" || strings.HasPrefix(k.algorithm, "RSA") {
		v.throw("%s: the algorithm has no hash, as in { name: '%s', hash: 'SHA-256' }", what, k.algorithm)
	}
	return k
}

// importKey takes (format, bytes, algorithm, extractable, usages).
func (v *vu) importKey(call sobek.FunctionCall) sobek.Value {
	k := v.newKey("importKey", call.Argument(2), call.Argument(3), call.Argument(4))
	format, formats := call.Argument(0).String(), "raw"
	switch {
	case k.onCurve():
		formats = "jwk, pkcs8, raw, spki"
	case webAlgorithms[k.algorithm].pair:
		formats = "jwk, pkcs8, spki"
	case k.algorithm == "HMAC" || strings.HasPrefix(k.algorithm, "AES"):
		formats = "jwk, raw"
	}
	if !slices.Contains(strings.Split(formats, ", "), format) {
		v.throw("importKey: the format is %q; for %s expected %s", format, k.algorithm, formats)
	}
	if format == "jwk" {
		v.importJWK(k, call.Argument(1), call.Argument(2))
		return v.keyObject(k)
	}
	content := slices.Clone(v.buffer(call.Argument(1)))
	if format == "raw" && !k.onCurve() {
		v.setSecret("importKey", k, content)
		return v.keyObject(k)
	}
	var err error
	var parsed any
	switch format {
	case "raw":
		k.public, err = ecdsa.ParseUncompressedPublicKey(v.curve("importKey", call.Argument(2).ToObject(v.rt)), content)
	case "pkcs8":
		if parsed, err = x509.ParsePKCS8PrivateKey(content); err == nil {
			k.private, _ = parsed.(crypto.Signer)
			if k.private != nil {
				k.public = k.private.Public()
			}
		}
	default:
		k.public, err = x509.ParsePKIXPublicKey(content)
	}
	if err == nil {
		err = k.fits(call.Argument(2).ToObject(v.rt).Get("namedCurve"))
	}
	if err != nil {
		v.throw("importKey: the key is not of %s in %s: %v", k.algorithm, format, err)
	}
	return v.keyObject(k)
}

// fits says why a key of a pair does not belong to its algorithm, or to the curve, if one was named.
func (k *webKey) fits(curve sobek.Value) error {
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		if !k.onCurve() {
			return nil
		}
	case *ecdsa.PublicKey:
		name := public.Curve.Params().Name
		if k.onCurve() && (curve == nil || sobek.IsUndefined(curve) || harmless(curve) == name) {
			return nil
		}
		return fmt.Errorf("it is one of the curve %s", name)
	}
	return fmt.Errorf("it is a %T", k.public)
}

// onCurve reports whether keys of the algorithm are points of a curve.
func (k *webKey) onCurve() bool { return strings.HasPrefix(k.algorithm, "EC") }

// curve is the one that parameters name.
func (v *vu) curve(what string, parameters *sobek.Object) elliptic.Curve {
	name := harmless(orUndefined(parameters.Get("namedCurve")))
	curve := curves[name]
	if curve == nil {
		v.throw("%s: the namedCurve is %s; expected %s", what, name, strings.Join(slices.Sorted(maps.Keys(curves)), ", "))
	}
	return curve
}

// setSecret keeps the bytes of a key.
func (v *vu) setSecret(what string, k *webKey, content []byte) {
	if _, err := aes.NewCipher(content); strings.HasPrefix(k.algorithm, "AES") && err != nil {
		v.throw("%s: the key has %d bytes; for %s expected 16, 24, 32", what, len(content), k.algorithm)
	}
	if k.secret = content; k.secret == nil {
		k.secret = []byte{}
	}
}

// exportKey takes (format, key).
func (v *vu) exportKey(call sobek.FunctionCall) sobek.Value {
	k, format := v.key("exportKey", call.Argument(1)), call.Argument(0).String()
	if !k.extractable {
		v.throw("exportKey: the key is not extractable")
	}
	if format == "jwk" {
		return v.exportJWK(k)
	}
	var content []byte
	var err error
	switch {
	case format == "raw" && k.secret != nil:
		content = slices.Clone(k.secret)
	case format == "raw" && k.onCurve() && k.private == nil:
		content, err = k.public.(*ecdsa.PublicKey).Bytes() // fits has seen to it
	case format == "pkcs8" && k.private != nil:
		content, err = x509.MarshalPKCS8PrivateKey(k.private)
	case format == "spki" && k.private == nil && k.public != nil:
		content, err = x509.MarshalPKIXPublicKey(k.public)
	default:
		err = fmt.Errorf("the format is %q; expected jwk, raw of a secret key or a point, pkcs8 of a private one, spki of a public one", format)
	}
	if err != nil {
		v.throw("exportKey: %v", err)
	}
	return v.newBuffer(content)
}

// curves are those of ECDSA.
var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// generateKey takes (algorithm, extractable, usages); of a pair it makes both keys.
func (v *vu) generateKey(call sobek.FunctionCall) sobek.Value {
	k := v.newKey("generateKey", call.Argument(0), call.Argument(1), call.Argument(2))
	parameters := call.Argument(0).ToObject(v.rt)
	switch {
	case k.onCurve():
		k.private, _ = ecdsa.GenerateKey(v.curve("generateKey", parameters), rand.Reader) // which never fails
		return v.pairOf(k)
	case strings.HasPrefix(k.algorithm, "RSA"):
		bits := v.parameter("generateKey", parameters, "modulusLength", 2048, 1024, 8192)
		private, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			v.throw("generateKey: %v", err)
		}
		k.private = private
		return v.pairOf(k)
	case strings.HasPrefix(k.algorithm, "AES"):
		v.setSecret("generateKey", k, random(v.parameter("generateKey", parameters, "length", 256, 0, 256)/8))
	case k.algorithm == "HMAC":
		v.setSecret("generateKey", k, random(v.parameter("generateKey", parameters, "length", 8*k.hash.New().BlockSize(), 8, 1<<20)/8))
	default:
		v.throw("generateKey: keys of %s are imported", k.algorithm)
	}
	return v.keyObject(k)
}

// pairOf is what generateKey makes of a private key.
func (v *vu) pairOf(k *webKey) sobek.Value {
	public := *k
	k.public, public.public, public.private, public.extractable = k.private.Public(), k.private.Public(), nil, true
	k.usages = slices.DeleteFunc(slices.Clone(k.usages), func(usage string) bool { return usage == "verify" || usage == "encrypt" })
	public.usages = slices.DeleteFunc(slices.Clone(public.usages), func(usage string) bool { return usage != "verify" && usage != "encrypt" })
	return v.object(exports{"privateKey": v.keyObject(k), "publicKey": v.keyObject(&public)})
}

func random(n int) []byte {
	content := make([]byte, n)
	_, _ = rand.Read(content) // which never fails
	return content
}

func orUndefined(value sobek.Value) sobek.Value {
	if value == nil {
		return sobek.Undefined()
	}
	return value
}

// parameter is a whole number of an algorithm.
func (v *vu) parameter(what string, of *sobek.Object, name string, otherwise, least, most int) int {
	value := of.Get(name)
	if value == nil || sobek.IsUndefined(value) {
		return otherwise
	}
	n := value.ToFloat()
	if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		v.throw("%s: the %s is %s; expected %d to %d", what, name, harmless(value), least, most)
	}
	return int(n)
}
