package wiretest

import (
	"crypto/tls"
	"sync"

	"contend/internal/testenv"
)

var own = sync.OnceValue(func() testenv.Certificate { return testenv.NewCertificate("127.0.0.1", "example.com") })

// Certificate is one for 127.0.0.1 and example.com, its own authority, always the same.
func Certificate() tls.Certificate { return own().Certificate }

// TLS is how a server with that certificate is set up. It agrees on keys as most servers do: the hybrid exchange, which
// clients offer as well, is two thirds of a handshake's work with the race detector.
func TLS(protocols ...string) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{Certificate()}, NextProtos: protocols, CurvePreferences: []tls.CurveID{tls.X25519}}
}

// Authority is the certificate in PEM form.
func Authority() []byte { return own().PEM }
