package script

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// x509Module is "k6/crypto/x509".
func (v *vu) x509Module() exports {
	return exports{
		"parse":       func(text sobek.Value) sobek.Value { return v.certificateObject(v.certificate(text)) },
		"getAltNames": func(text sobek.Value) sobek.Value { return v.texts(altNames(v.certificate(text))) },
		"getIssuer":   func(text sobek.Value) sobek.Value { return v.issuer(v.certificate(text)) },
		"getSubject":  func(text sobek.Value) sobek.Value { return v.subject(v.certificate(text)) },
	}
}

// certificate reads one in the form of PEM.
func (v *vu) certificate(text sobek.Value) *x509.Certificate {
	block, _ := pem.Decode(v.bytes(text))
	if block == nil {
		v.throw("a certificate is text in the form of PEM, which begins with -----BEGIN CERTIFICATE-----")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		v.throw("the certificate cannot be read: %v", err)
	}
	return c
}

func (v *vu) certificateObject(c *x509.Certificate) sobek.Value {
	print := sha1.Sum(c.Raw)
	return v.object(exports{
		"subject": v.subject(c), "issuer": v.issuer(c), "altNames": v.texts(altNames(c)),
		"notBefore": c.NotBefore.Format(time.RFC3339), "notAfter": c.NotAfter.Format(time.RFC3339),
		"signatureAlgorithm": c.SignatureAlgorithm.String(), "fingerPrint": v.numbers(print[:]), "publicKey": v.publicKey(c),
	})
}

// subject is who a certificate is of.
func (v *vu) subject(c *x509.Certificate) sobek.Value {
	of := v.distinguished(&c.Subject)
	of["postalCode"], of["streetAddress"] = firstText(c.Subject.PostalCode), firstText(c.Subject.StreetAddress)
	of["organizationalUnitName"] = v.texts(c.Subject.OrganizationalUnit)
	return v.object(of)
}

// issuer is who signed it.
func (v *vu) issuer(c *x509.Certificate) sobek.Value { return v.object(v.distinguished(&c.Issuer)) }

// distinguished is what both have.
func (v *vu) distinguished(of *pkix.Name) exports {
	names := make([]any, len(of.Names))
	for i, one := range of.Names {
		names[i] = v.object(exports{"type": one.Type.String(), "value": one.Value})
	}
	return exports{
		"commonName": of.CommonName, "country": firstText(of.Country), "stateOrProvinceName": firstText(of.Province),
		"localityName": firstText(of.Locality), "organizationName": firstText(of.Organization), "names": v.rt.NewArray(names...),
	}
}

func firstText(all []string) string { return strings.Join(all[:min(1, len(all))], "") }

func altNames(c *x509.Certificate) []string {
	all := append(c.DNSNames[:len(c.DNSNames):len(c.DNSNames)], c.EmailAddresses...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	for _, u := range c.URIs {
		all = append(all, u.String())
	}
	return all
}

// publicKey has the numbers of the key.
func (v *vu) publicKey(c *x509.Certificate) sobek.Value {
	key := exports{}
	switch public := c.PublicKey.(type) {
	case *rsa.PublicKey:
		key = exports{"e": public.E, "n": public.N}
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x and y
		if err != nil {
			v.throw("the certificate's key cannot be read: %v", err)
		}
		half := len(point) / 2
		key = exports{"curve": public.Params().Name, "x": new(big.Int).SetBytes(point[1 : 1+half]), "y": new(big.Int).SetBytes(point[1+half:])}
	}
	return v.object(exports{"algorithm": c.PublicKeyAlgorithm.String(), "key": v.object(key)})
}

// texts are an array of a script.
func (v *vu) texts(all []string) sobek.Value { return listOf(v, all) }

// numbers are bytes as an array of a script.
func (v *vu) numbers(all []byte) sobek.Value { return listOf(v, all) }

func listOf[T any](v *vu, all []T) sobek.Value {
	list := make([]any, len(all))
	for i, one := range all {
		list[i] = one
	}
	return v.rt.NewArray(list...)
}
