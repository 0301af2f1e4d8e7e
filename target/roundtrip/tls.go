package roundtrip

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// TLS says whom to trust and who we are. The zero value trusts the system's
// authorities and checks the certificate against the URL's host. Sessions are
// not resumed: a new connection means a full handshake.
type TLS struct {
	// CA holds the trusted authorities in PEM form; empty means the system's.
	CA []byte
	// Insecure accepts any certificate of any host.
	Insecure bool
	// ServerName is the expected name instead of the URL's host.
	ServerName string
	// Certificate, with the chain that the server needs, and Key are ours, in
	// PEM form. Empty means that we do not identify ourselves.
	Certificate, Key []byte
}

func (t TLS) isZero() bool {
	return len(t.CA) == 0 && !t.Insecure && t.ServerName == "" && len(t.Certificate) == 0 && len(t.Key) == 0
}

// config builds the TLS configuration for an origin; nil means no TLS.
func (t TLS) config(o origin) (*tls.Config, error) {
	if !o.secure {
		if !t.isZero() {
			return nil, errors.New("roundtrip: TLS is set but URL is not https")
		}
		return nil, nil
	}
	c := &tls.Config{
		ServerName:         o.hostname,
		InsecureSkipVerify: t.Insecure,
		NextProtos:         []string{"http/1.1"},
	}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	var errs []error
	if len(t.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CA) {
			errs = append(errs, errors.New("roundtrip: TLS.CA holds no certificate in PEM form"))
		}
	}
	if len(t.Certificate) > 0 || len(t.Key) > 0 {
		pair, err := tls.X509KeyPair(t.Certificate, t.Key)
		if err != nil {
			errs = append(errs, fmt.Errorf("roundtrip: TLS.Certificate and TLS.Key: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(errs...)
}
