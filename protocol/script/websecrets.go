package script

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"math"
	"math/big"
	"strings"

	"github.com/grafana/sobek"
)

// sign takes (algorithm, key, data).
func (v *vu) sign(call sobek.FunctionCall) sobek.Value {
	k, data := v.keyFor("sign", call), v.buffer(call.Argument(2))
	if k.secret != nil {
		return v.newBuffer(k.mac(data))
	}
	if k.private == nil {
		v.throw("sign: the key is public")
	}
	hash, digest := v.digested(k, call.Argument(0), data)
	signature, err := []byte(nil), error(nil)
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, private, digest); err == nil {
			width := (private.Curve.Params().BitSize + 7) / 8 // both side by side, as in IEEE P1363
			signature = append(r.FillBytes(make([]byte, width)), s.FillBytes(make([]byte, width))...)
		}
	case *rsa.PrivateKey:
		if k.algorithm == "RSA-PSS" {
			signature, err = rsa.SignPSS(rand.Reader, private, hash, digest, v.salted(call.Argument(0), hash))
		} else {
			signature, err = rsa.SignPKCS1v15(nil, private, hash, digest)
		}
	}
	if err != nil {
		v.throw("sign: %v", err)
	}
	return v.newBuffer(signature)
}

// verify takes (algorithm, key, signature, data).
func (v *vu) verify(call sobek.FunctionCall) sobek.Value {
	k, signature, data := v.keyFor("verify", call), v.buffer(call.Argument(2)), v.buffer(call.Argument(3))
	if k.secret != nil {
		return v.rt.ToValue(hmac.Equal(signature, k.mac(data)))
	}
	hash, digest := v.digested(k, call.Argument(0), data)
	right := false
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		half := len(signature) / 2
		right = len(signature) == 2*((public.Curve.Params().BitSize+7)/8) &&
			ecdsa.Verify(public, digest, new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:]))
	case *rsa.PublicKey:
		if k.algorithm == "RSA-PSS" {
			right = rsa.VerifyPSS(public, hash, digest, signature, v.salted(call.Argument(0), hash)) == nil
		} else {
			right = rsa.VerifyPKCS1v15(public, hash, digest, signature) == nil
		}
	}
	return v.rt.ToValue(right)
}

func (k *webKey) mac(data []byte) []byte {
	h := hmac.New(k.hash.New, k.secret)
	h.Write(data)
	return h.Sum(nil)
}

// digested is the hash of data: the key's, or of ECDSA that of the algorithm.
func (v *vu) digested(k *webKey, algorithm sobek.Value, data []byte) (crypto.Hash, []byte) {
	hash := k.hash
	if o, ok := algorithm.(*sobek.Object); k.algorithm == "ECDSA" {
		if !ok || o.Get("hash") == nil {
			v.throw("the algorithm has no hash, as in { name: 'ECDSA', hash: 'SHA-256' }")
		}
		hash = v.webHash(o.Get("hash"))
	}
	h := hash.New()
	h.Write(data)
	return hash, h.Sum(nil)
}

// salted are the options of RSA-PSS: saltLength, in bytes, but not 0, which means something else here.
func (v *vu) salted(algorithm sobek.Value, hash crypto.Hash) *rsa.PSSOptions {
	return &rsa.PSSOptions{SaltLength: v.parameter("RSA-PSS", algorithm.ToObject(v.rt), "saltLength", hash.Size(), 1, 512), Hash: hash}
}

// encrypt takes (algorithm, key, data).
func (v *vu) encrypt(call sobek.FunctionCall) sobek.Value {
	k, data := v.keyFor("encrypt", call), v.buffer(call.Argument(2))
	if k.algorithm == "RSA-OAEP" {
		return v.newBuffer(v.wrapped(k, call.Argument(0).ToObject(v.rt), data))
	}
	block, _ := aes.NewCipher(k.secret) // the length was looked at when the key was made
	parameters := call.Argument(0).ToObject(v.rt)
	switch k.algorithm {
	case "AES-GCM":
		sealer, iv, more := v.sealer("encrypt", block, parameters)
		return v.newBuffer(sealer.Seal(nil, iv, data, more))
	case "AES-CBC":
		fill := aes.BlockSize - len(data)%aes.BlockSize // PKCS#7
		padded := append(bytes.Clone(data), bytes.Repeat([]byte{byte(fill)}, fill)...)
		cipher.NewCBCEncrypter(block, v.iv("encrypt", parameters, "iv")).CryptBlocks(padded, padded)
		return v.newBuffer(padded)
	}
	return v.newBuffer(v.counted("encrypt", block, parameters, data))
}

// decrypt takes (algorithm, key, data).
func (v *vu) decrypt(call sobek.FunctionCall) sobek.Value {
	k, data := v.keyFor("decrypt", call), v.buffer(call.Argument(2))
	if k.algorithm == "RSA-OAEP" {
		return v.newBuffer(v.unwrapped(k, call.Argument(0).ToObject(v.rt), data))
	}
	block, _ := aes.NewCipher(k.secret)
	parameters := call.Argument(0).ToObject(v.rt)
	switch k.algorithm {
	case "AES-GCM":
		sealer, iv, more := v.sealer("decrypt", block, parameters)
		plain, err := sealer.Open(nil, iv, data, more)
		if err != nil {
			v.throw("decrypt: the data was not made with this key, iv and additionalData")
		}
		return v.newBuffer(plain)
	case "AES-CBC":
		if len(data) == 0 || len(data)%aes.BlockSize != 0 {
			v.throw("decrypt: the data has %d bytes, which is no multiple of %d", len(data), aes.BlockSize)
		}
		plain := make([]byte, len(data))
		cipher.NewCBCDecrypter(block, v.iv("decrypt", parameters, "iv")).CryptBlocks(plain, data)
		fill := int(plain[len(plain)-1])
		if fill == 0 || fill > aes.BlockSize || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(fill)}, fill)) {
			v.throw("decrypt: the data was not made with this key and iv")
		}
		return v.newBuffer(plain[:len(plain)-fill])
	}
	return v.newBuffer(v.counted("decrypt", block, parameters, data))
}

// sealer is AES-GCM with its iv and additional data.
func (v *vu) sealer(what string, block cipher.Block, parameters *sobek.Object) (cipher.AEAD, []byte, []byte) {
	iv := v.part(parameters, "iv")
	if bits := v.parameter(what, parameters, "tagLength", 128, 0, 128); bits != 128 || len(iv) == 0 {
		v.throw("%s: AES-GCM needs an iv, and its tagLength is 128", what)
	}
	sealer, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		v.throw("%s: %v", what, err)
	}
	return sealer, iv, v.part(parameters, "additionalData")
}

// counted is AES-CTR, the same in both directions.
func (v *vu) counted(what string, block cipher.Block, parameters *sobek.Object, data []byte) []byte {
	out := make([]byte, len(data))
	cipher.NewCTR(block, v.iv(what, parameters, "counter")).XORKeyStream(out, data)
	return out
}

// iv is a parameter of one block.
func (v *vu) iv(what string, parameters *sobek.Object, name string) []byte {
	iv := v.part(parameters, name)
	if len(iv) != aes.BlockSize {
		v.throw("%s: the %s has %d bytes; expected %d", what, name, len(iv), aes.BlockSize)
	}
	return iv
}

// part is a parameter that has bytes; nil: it is missing.
func (v *vu) part(parameters *sobek.Object, name string) []byte {
	value := parameters.Get(name)
	if value == nil || !isObject(value) {
		return nil
	}
	return v.buffer(value)
}

// deriveBits takes (algorithm, key, bits).
func (v *vu) deriveBits(call sobek.FunctionCall) sobek.Value {
	bits := call.Argument(2).ToFloat()
	if !(bits > 0 && bits <= 1<<20) || math.Mod(bits, 8) != 0 { // which NaN is not, either
		v.throw("deriveBits: the length is %s; expected a multiple of 8 to 1048576 bits", harmless(call.Argument(2)))
	}
	return v.newBuffer(v.derived("deriveBits", call, int(bits)/8))
}

// deriveKey takes (algorithm, key, algorithm of the new key, extractable, usages).
func (v *vu) deriveKey(call sobek.FunctionCall) sobek.Value {
	k := v.newKey("deriveKey", call.Argument(2), call.Argument(3), call.Argument(4))
	parameters := call.Argument(2).ToObject(v.rt)
	switch {
	case k.algorithm == "HMAC":
		v.setSecret("deriveKey", k, v.derived("deriveKey", call, v.parameter("deriveKey", parameters, "length", 8*k.hash.New().BlockSize(), 8, 1<<20)/8))
	case strings.HasPrefix(k.algorithm, "AES"):
		v.setSecret("deriveKey", k, v.derived("deriveKey", call, v.parameter("deriveKey", parameters, "length", 256, 0, 256)/8))
	default:
		v.throw("deriveKey: the algorithm of the new key is %s; expected HMAC, AES-CBC, AES-CTR, AES-GCM", k.algorithm)
	}
	return v.keyObject(k)
}

// mostIterations is how often PBKDF2 may hash for all its blocks together: nothing interrupts it.
const mostIterations = 10_000_000

// derived are so many bytes, of (algorithm, key, …).
func (v *vu) derived(what string, call sobek.FunctionCall, n int) (content []byte) {
	k := v.keyFor(what, call)
	parameters := call.Argument(0).ToObject(v.rt)
	if k.algorithm == "ECDH" {
		return v.agreed(what, k, parameters, n)
	}
	of := v.webHash(orUndefined(parameters.Get("hash")))
	hash := of.New
	salt := v.part(parameters, "salt")
	var err error
	if k.algorithm == "PBKDF2" {
		iterations := v.parameter(what, parameters, "iterations", 0, 1, mostIterations/((n+of.Size()-1)/of.Size()))
		if iterations == 0 {
			v.throw("%s: PBKDF2 needs iterations", what)
		}
		content, err = pbkdf2.Key(hash, string(k.secret), salt, iterations, n)
	} else {
		content, err = hkdf.Key(hash, k.secret, salt, string(v.part(parameters, "info")), n)
	}
	if err != nil {
		v.throw("%s: %v", what, err)
	}
	return content
}
