package fleet

import (
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"os"
	"sync"
	"time"
)

// A coordinator that listens beyond its machine has no certificate that anybody vouches for. Its key is made of the
// token, which workers also have: whoever shows that key knows the token, and nobody else can intercept. As the key
// is public, anyone who can connect can try tokens without asking, so a token must be long, and each try takes
// rounds of PBKDF2 (RFC 8018; OWASP's figure for SHA-256).
const (
	rounds        = 600_000
	shortestToken = 16 // in bytes
)

// keys are functions that return the key of a token, by token: whoever connects again does not compute it again.
var keys sync.Map

// keyOf returns the key of who listens for a fleet with a token.
func keyOf(token string) (ed25519.PrivateKey, error) {
	key, _ := keys.LoadOrStore(token, sync.OnceValues(func() (ed25519.PrivateKey, error) {
		seed, err := pbkdf2.Key(sha256.New, token, []byte("contend fleet"), rounds, ed25519.SeedSize)
		if err != nil {
			return nil, err
		}
		return ed25519.NewKeyFromSeed(seed), nil
	}))
	return key.(func() (ed25519.PrivateKey, error))()
}

// listening returns how a server is spoken to that is known by the token.
func listening(token string) (*tls.Config, error) {
	if len(token) < shortestToken {
		return nil, fmt.Errorf("the token has %d bytes, which can be guessed; expected at least %d beyond this machine, as printed by openssl rand -hex 16", len(token), shortestToken)
	}
	key, err := keyOf(token)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(10, 0, 0)}
	certificate, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}, nil
}

// A strangerError is of a server that cannot be trusted.
type strangerError struct{ why error }

func (e *strangerError) Error() string {
	return fmt.Sprintf("the server is not the fleet's: it does not know the token, and nobody vouches for its certificate (%v)", e.why)
}

// verified returns how to speak to a server that knows the token, or that has a certificate for its host.
func (a Address) verified(host string) (*tls.Config, error) {
	var roots *x509.CertPool // nil: the system's
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, err
		}
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", a.CA)
		}
	}
	var own ed25519.PublicKey
	if len(a.Token) >= shortestToken {
		key, err := keyOf(a.Token)
		if err != nil {
			return nil, err
		}
		own = key.Public().(ed25519.PublicKey)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			leaf := s.PeerCertificates[0]
			if own != nil && own.Equal(leaf.PublicKey) {
				return nil
			}
			chain := x509.VerifyOptions{Roots: roots, DNSName: host, Intermediates: x509.NewCertPool()}
			for _, c := range s.PeerCertificates[1:] {
				chain.Intermediates.AddCert(c)
			}
			if _, err := leaf.Verify(chain); err != nil {
				return &strangerError{err}
			}
			return nil
		}}, nil
}
