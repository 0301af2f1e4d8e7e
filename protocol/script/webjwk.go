package script

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// A jwk is a JSON Web Key (RFC 7517 and 7518) as scripts give it.
type jwk struct {
	v *vu
	*sobek.Object
}

// text is a member of a key, "" where it has none.
func (j jwk) text(name string) string { return orText(orUndefined(j.Get(name)), "") }

// bytes are a member that is base64url; it has to be there.
func (j jwk) bytes(name string) []byte {
	content, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(j.text(name), "="))
	if err != nil || len(content) == 0 {
		j.v.throw("importKey: the member %s of a JWK of the type %s is %q; expected base64url", name, j.text("kty"), j.text(name))
	}
	return content
}

func (j jwk) number(name string) *big.Int { return new(big.Int).SetBytes(j.bytes(name)) }

// importJWK gives a key what a JSON Web Key has.
func (v *vu) importJWK(k *webKey, given, algorithm sobek.Value) {
	o, ok := given.(*sobek.Object)
	if !ok {
		v.throw("importKey: a key in the format jwk is an object, not %s", harmless(given))
	}
	j, kty := jwk{v, o}, "oct"
	if webAlgorithms[k.algorithm].pair {
		kty = map[bool]string{true: "EC", false: "RSA"}[k.onCurve()]
	}
	if j.text("kty") != kty {
		v.throw("importKey: kty is %q; for %s expected %s", j.text("kty"), k.algorithm, kty)
	}
	var err error
	switch kty {
	case "oct":
		v.setSecret("importKey", k, j.bytes("k"))
	case "RSA":
		err = k.setRSA(j)
	default:
		if err = k.setECDSA(j); err == nil {
			err = k.fits(algorithm.ToObject(v.rt).Get("namedCurve"))
		}
	}
	if err != nil {
		v.throw("importKey: the key is not of %s in jwk: %v", k.algorithm, err)
	}
}

func (k *webKey) setRSA(j jwk) error {
	public := rsa.PublicKey{N: j.number("n"), E: int(j.number("e").Int64())}
	k.public = &public
	if j.text("d") == "" {
		return nil
	}
	private := &rsa.PrivateKey{PublicKey: public, D: j.number("d"), Primes: []*big.Int{j.number("p"), j.number("q")}}
	private.Precompute()
	k.private, k.public = private, &private.PublicKey
	return private.Validate()
}

func (k *webKey) setECDSA(j jwk) error {
	curve := curves[j.text("crv")]
	if curve == nil {
		return fmt.Errorf("crv is %q; expected P-256, P-384, P-521", j.text("crv"))
	}
	public, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, j.bytes("x"), j.bytes("y")))
	if err != nil {
		return err
	}
	k.public = public
	if j.text("d") == "" {
		return nil
	}
	private, err := ecdsa.ParseRawPrivateKey(curve, j.bytes("d"))
	if err != nil {
		return err
	}
	if !private.PublicKey.Equal(public) {
		return fmt.Errorf("x and y are not those of d")
	}
	k.private = private
	return nil
}

// exportJWK writes a key as a JSON Web Key. As in k6, those of pairs have only what the key is.
func (v *vu) exportJWK(k *webKey) sobek.Value {
	encoded := base64.RawURLEncoding.EncodeToString
	all := exports{}
	switch public := k.public.(type) {
	case nil:
		all = exports{"kty": "oct", "k": encoded(k.secret), "alg": k.jwkAlgorithm(), "ext": k.extractable, "key_ops": listOf(v, k.usages)}
	case *rsa.PublicKey:
		all["kty"], all["n"], all["e"] = "RSA", encoded(public.N.Bytes()), encoded(big.NewInt(int64(public.E)).Bytes())
		if private, ok := k.private.(*rsa.PrivateKey); ok {
			all["d"], all["p"], all["q"] = encoded(private.D.Bytes()), encoded(private.Primes[0].Bytes()), encoded(private.Primes[1].Bytes())
			all["dp"], all["dq"], all["qi"] = encoded(private.Precomputed.Dp.Bytes()), encoded(private.Precomputed.Dq.Bytes()), encoded(private.Precomputed.Qinv.Bytes())
		}
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x and y
		if err != nil {
			v.throw("exportKey: %v", err)
		}
		half := len(point) / 2
		all["kty"], all["crv"], all["x"], all["y"] = "EC", public.Params().Name, encoded(point[1:1+half]), encoded(point[1+half:])
		if private, ok := k.private.(*ecdsa.PrivateKey); ok {
			d, _ := private.Bytes() // its point is on the curve
			all["d"] = encoded(d)
		}
	}
	return v.object(all)
}

// jwkAlgorithm is the alg of a secret key (RFC 7518, sections 3.1 and 5.1).
func (k *webKey) jwkAlgorithm() string {
	if k.algorithm == "HMAC" {
		return "HS" + strings.TrimPrefix(k.hash.String(), "SHA-")
	}
	return fmt.Sprintf("A%d%s", 8*len(k.secret), strings.TrimPrefix(k.algorithm, "AES-"))
}
