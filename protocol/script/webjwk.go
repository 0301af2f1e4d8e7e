package script

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/grafana/sobek"
)

// A jwk is a JSON Web Key (RFC 7517; RFC 7518, section 6).
type jwk struct {
	Type        string   `json:"kty"`
	Algorithm   string   `json:"alg,omitempty"`
	Usages      []string `json:"key_ops"`
	Extract     bool     `json:"ext"`
	Secret      *octets  `json:"k,omitempty"`
	Curve       string   `json:"crv,omitempty"`
	X           octets   `json:"x,omitempty"`
	Y           octets   `json:"y,omitempty"`
	Modulus     octets   `json:"n,omitempty"`
	Exponent    octets   `json:"e,omitempty"`
	Private     octets   `json:"d,omitempty"`
	P           octets   `json:"p,omitempty"`
	Q           octets   `json:"q,omitempty"`
	ExponentP   octets   `json:"dp,omitempty"`
	ExponentQ   octets   `json:"dq,omitempty"`
	Coefficient octets   `json:"qi,omitempty"`
}

// Octets are bytes in base64url, without padding.
type octets []byte

// MarshalText writes them.
func (o octets) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString(o)), nil
}

// UnmarshalText reads them.
func (o *octets) UnmarshalText(text []byte) (err error) {
	*o, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(string(text), "="))
	return err
}

func (o octets) number() *big.Int { return new(big.Int).SetBytes(o) }

// readJWK takes the key of an object.
func (v *vu) readJWK(k *webKey, value sobek.Value) error {
	text, err := v.stringify(sobek.Undefined(), value)
	var j jwk
	if err == nil {
		err = json.Unmarshal([]byte(text.String()), &j)
	}
	switch pair := webAlgorithms[k.algorithm].pair; {
	case err != nil:
		return err
	case j.Type == "oct" && j.Secret != nil && !pair:
		v.setSecret("importKey", k, *j.Secret)
		return nil
	case j.Type == "EC" && k.algorithm == "ECDSA":
		return j.ecdsa(k)
	case j.Type == "RSA" && strings.HasPrefix(k.algorithm, "RSA"):
		return j.rsa(k)
	}
	return fmt.Errorf("its kty is %q", j.Type)
}

func (j *jwk) ecdsa(k *webKey) error {
	curve := curves[j.Curve]
	if curve == nil {
		return fmt.Errorf("its crv is %q", j.Curve)
	}
	size := (curve.Params().BitSize + 7) / 8
	public, err := ecdsa.ParseUncompressedPublicKey(curve, bytes.Join([][]byte{{4}, padded(j.X, size), padded(j.Y, size)}, nil))
	if err != nil {
		return err
	}
	if k.public = public; len(j.Private) == 0 {
		return nil
	}
	private, err := ecdsa.ParseRawPrivateKey(curve, padded(j.Private, size))
	if err != nil || !private.PublicKey.Equal(public) {
		return fmt.Errorf("d does not belong to x and y")
	}
	k.private = private
	return nil
}

// padded has zeros before it up to a size.
func padded(o octets, size int) []byte {
	return append(make([]byte, max(0, size-len(o))), o...)
}

func (j *jwk) rsa(k *webKey) error {
	e := j.Exponent.number()
	public := &rsa.PublicKey{N: j.Modulus.number(), E: int(e.Int64())}
	if public.N.BitLen() < 512 || e.BitLen() > 31 || public.E < 2 {
		return fmt.Errorf("its n and e are no key")
	}
	if k.public = public; len(j.Private) == 0 {
		return nil
	}
	private := &rsa.PrivateKey{PublicKey: *public, D: j.Private.number(), Primes: []*big.Int{j.P.number(), j.Q.number()}}
	if err := private.Validate(); err != nil {
		return err
	}
	private.Precompute()
	k.private = private
	return nil
}

// asJWK is a key as an object.
func (v *vu) asJWK(k *webKey) sobek.Value {
	j := jwk{Usages: k.usages, Extract: k.extractable}
	if k.usages == nil {
		j.Usages = []string{}
	}
	if k.secret != nil {
		j.Type, j.Secret = "oct", (*octets)(&k.secret)
	}
	switch mode, aes := strings.CutPrefix(k.algorithm, "AES-"); {
	case aes:
		j.Algorithm = fmt.Sprintf("A%d%s", 8*len(k.secret), mode)
	case k.algorithm == "HMAC":
		j.Algorithm = fmt.Sprintf("HS%d", 8*k.hash.Size())
	case k.algorithm == "ECDSA":
		j.ofECDSA(k)
	case k.algorithm == "RSA-PSS":
		j.ofRSA(k)
		j.Algorithm = fmt.Sprintf("PS%d", 8*k.hash.Size())
	case k.public != nil:
		j.ofRSA(k)
		j.Algorithm = fmt.Sprintf("RS%d", 8*k.hash.Size())
	}
	text, err := json.Marshal(j)
	if err != nil {
		v.throw("exportKey: %v", err)
	}
	return orThrow(v.parse(string(text)))
}

func (j *jwk) ofECDSA(k *webKey) {
	public := k.public.(*ecdsa.PublicKey)
	j.Type, j.Curve = "EC", public.Curve.Params().Name
	point, _ := public.Bytes() // of a curve that there is
	half := (len(point) - 1) / 2
	j.X, j.Y = point[1:1+half], point[1+half:]
	if private, ok := k.private.(*ecdsa.PrivateKey); ok {
		j.Private, _ = private.Bytes()
	}
}

func (j *jwk) ofRSA(k *webKey) {
	public := k.public.(*rsa.PublicKey)
	j.Type, j.Modulus, j.Exponent = "RSA", public.N.Bytes(), big.NewInt(int64(public.E)).Bytes()
	private, ok := k.private.(*rsa.PrivateKey)
	if !ok || len(private.Primes) != 2 {
		return
	}
	private.Precompute()
	p := private.Precomputed
	j.Private, j.P, j.Q = private.D.Bytes(), private.Primes[0].Bytes(), private.Primes[1].Bytes()
	j.ExponentP, j.ExponentQ, j.Coefficient = p.Dp.Bytes(), p.Dq.Bytes(), p.Qinv.Bytes()
}
