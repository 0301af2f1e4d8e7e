package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Certificate is one for both ends of a connection, which is its own authority. Its key is of a kind that signs fast:
// that of httptest takes ten times as long.
type Certificate struct {
	tls.Certificate
	PEM, Key []byte // both in PEM form
}

// NewCertificate makes one for hosts, by address or name; the first is its common name.
func NewCertificate(hosts ...string) Certificate {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hosts[0]}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	must(err)
	leaf, err := x509.ParseCertificate(der)
	must(err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	must(err)
	return Certificate{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, PEM(der), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
}

// Write writes the certificate and its key into a folder of the test.
func (c Certificate) Write(t testing.TB) (certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, text := range map[string][]byte{certificate: c.PEM, key: c.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// PEM is a certificate in that form.
func PEM(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
