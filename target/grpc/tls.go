package grpc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLS says how the server of a grpcs:// URL is verified. The zero value
// verifies it with the system's authorities.
type TLS struct {
	// CAFile and CAPEM are authorities in PEM form that replace the system's;
	// at most one is set.
	CAFile string
	CAPEM  []byte
	// ServerName overrides the host of the URL in the verification.
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

func (t TLS) isZero() bool {
	return t.CAFile == "" && len(t.CAPEM) == 0 && t.ServerName == "" && !t.Insecure
}

func (t TLS) credentials(secure bool) (credentials.TransportCredentials, error) {
	if !secure {
		if !t.isZero() {
			return nil, errors.New("TLS settings need a grpcs:// URL")
		}
		return insecure.NewCredentials(), nil
	}
	roots, err := t.roots()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{
		RootCAs:            roots,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.Insecure,
		MinVersion:         tls.VersionTLS12,
	}), nil
}

func (t TLS) roots() (*x509.CertPool, error) {
	pem, source := t.CAPEM, "the CA text"
	switch {
	case t.CAFile != "" && len(pem) > 0:
		return nil, errors.New("TLS: both a CA file and CA text")
	case t.CAFile != "":
		var err error
		if pem, err = os.ReadFile(t.CAFile); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		source = t.CAFile
	case len(pem) == 0:
		return nil, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("TLS: no certificate in %s", source)
	}
	return roots, nil
}
