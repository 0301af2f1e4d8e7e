package script

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"

	"github.com/grafana/sobek"
)

// wrapped encrypts by the public key of RSA-OAEP.
func (v *vu) wrapped(k *webKey, parameters *sobek.Object, data []byte) []byte {
	public, ok := k.public.(*rsa.PublicKey)
	if !ok || k.private != nil {
		v.throw("encrypt: RSA-OAEP needs a public key")
	}
	content, err := rsa.EncryptOAEP(k.hash.New(), rand.Reader, public, data, v.part(parameters, "label"))
	if err != nil {
		v.throw("encrypt: %v", err)
	}
	return content
}

// unwrapped decrypts by the private one.
func (v *vu) unwrapped(k *webKey, parameters *sobek.Object, data []byte) []byte {
	private, ok := k.private.(*rsa.PrivateKey)
	if !ok {
		v.throw("decrypt: RSA-OAEP needs a private key")
	}
	content, err := rsa.DecryptOAEP(k.hash.New(), nil, private, data, v.part(parameters, "label"))
	if err != nil {
		v.throw("decrypt: the data was not made with this key and label")
	}
	return content
}

// agreed are so many bytes of what a private key of ECDH and another's public one have in common.
func (v *vu) agreed(what string, k *webKey, parameters *sobek.Object, n int) []byte {
	other := v.key(what+": public", orUndefined(parameters.Get("public")))
	mine, isPrivate := k.private.(*ecdsa.PrivateKey)
	theirs, isPoint := other.public.(*ecdsa.PublicKey)
	if !isPrivate || !isPoint || mine.Curve != theirs.Curve {
		v.throw("%s: ECDH needs a private key, and in public another's public one of the same curve", what)
	}
	private, err := mine.ECDH()
	if err != nil {
		v.throw("%s: %v", what, err)
	}
	public, err := theirs.ECDH()
	if err != nil {
		v.throw("%s: %v", what, err)
	}
	content, err := private.ECDH(public)
	if err != nil || n > len(content) {
		v.throw("%s: %d bytes of what both keys have in common are wanted, which are %d", what, n, len(content))
	}
	return content[:n]
}
