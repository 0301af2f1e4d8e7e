package script

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
)

// What a certificate says can be read.
func TestCertificatesAreRead(t *testing.T) {
	wide, err := rsa.GenerateKey(rand.Reader, 2048)
	testenv.Must(t, err)
	curved, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.Must(t, err)
	ofRSA, ofECDSA := signed(t, wide), signed(t, curved)
	print := sha1.Sum(ofRSA)
	point, err := curved.PublicKey.Bytes()
	testenv.Must(t, err)
	script := func(der []byte, text string) string {
		return fmt.Sprintf("((pem) => %s)(`%s`)", text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, []expression{
		{script(ofRSA, `JSON.stringify(x509.getSubject(pem))`), `{"commonName":"shop","country":"CH","localityName":"","names":[{"type":"2.5.4.6","value":"CH"},{"type":"2.5.4.17","value":"8000"},` +
			`{"type":"2.5.4.10","value":"Example"},{"type":"2.5.4.11","value":"A"},{"type":"2.5.4.11","value":"B"},{"type":"2.5.4.3","value":"shop"}],"organizationName":"Example","organizationalUnitName":["A","B"],"postalCode":"8000","stateOrProvinceName":"","streetAddress":""}`},
		{script(ofRSA, `((i) => [i.commonName, i.organizationName, i.postalCode].join())(x509.getIssuer(pem))`), "shop,Example,"},
		{script(ofRSA, `x509.getAltNames(pem).join()`), "a.example,me@example,127.0.0.1,http://example/"},
		{script(ofRSA, `((c) => [c.notBefore, c.notAfter, c.signatureAlgorithm, c.publicKey.algorithm, c.publicKey.key.e, c.subject.country, c.issuer.country, c.altNames.length].join())(x509.parse(pem))`),
			"2026-01-02T03:04:05Z,2036-01-02T03:04:05Z,SHA256-RSA,RSA,65537,CH,CH,4"},
		{script(ofRSA, `String(x509.parse(pem).publicKey.key.n)`), wide.N.String()},
		{script(ofRSA, `hex(x509.parse(pem).fingerPrint)`), fmt.Sprintf("%x", print)},
		{script(ofECDSA, `((c) => [c.signatureAlgorithm, c.publicKey.algorithm, c.publicKey.key.curve, c.publicKey.key.x, c.publicKey.key.y].join())(x509.parse(pem))`),
			fmt.Sprintf("ECDSA-SHA256,ECDSA,P-256,%v,%v", new(big.Int).SetBytes(point[1:33]), new(big.Int).SetBytes(point[33:]))},
		{`x509.parse('text')`, "!a certificate is text in the form of PEM"},
		{"x509.parse(`-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----`)", "!the certificate cannot be read: "},
	})
}

// signed is a certificate that its own key has signed.
func signed(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: begin, NotAfter: begin.AddDate(10, 0, 0),
		Subject:  pkix.Name{CommonName: "shop", Country: []string{"CH"}, Organization: []string{"Example"}, OrganizationalUnit: []string{"A", "B"}, PostalCode: []string{"8000"}},
		DNSNames: []string{"a.example"}, EmailAddresses: []string{"me@example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, URIs: []*url.URL{{Scheme: "http", Host: "example", Path: "/"}},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	testenv.Must(t, err)
	return der
}
