package grpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLS says whom to trust. The zero value trusts the system's authorities and
// checks the certificate against the URL's host. Sessions are not resumed: a
// new connection means a full handshake.
type TLS struct {
	// CA holds the trusted authorities in PEM form; empty means the system's.
	CA []byte
	// Insecure accepts any certificate of any host.
	Insecure bool
	// Certificate and Key are the client's, in PEM form, for a server that asks
	// for them (mutual TLS). Both or neither.
	Certificate, Key []byte
	// ServerName is the expected name instead of the URL's host.
	ServerName string
}

func (t TLS) isZero() bool {
	return len(t.CA)+len(t.Certificate)+len(t.Key) == 0 && !t.Insecure && t.ServerName == ""
}

func (t TLS) credentials(secure bool) (credentials.TransportCredentials, error) {
	if !secure {
		if !t.isZero() {
			return nil, errors.New("TLS settings need a grpcs:// URL")
		}
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.Insecure,
		MinVersion:         tls.VersionTLS12,
	}
	if len(t.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("TLS: CA holds no certificate in PEM form")
		}
	}
	if len(t.Certificate)+len(t.Key) > 0 {
		own, err := tls.X509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, fmt.Errorf("TLS: client certificate and key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}
