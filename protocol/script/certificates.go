package script

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
)

// A clientCertificate is one that some servers are shown.
type clientCertificate struct {
	tls.Certificate
	// domains are those of the servers; none: all. *.name is every name below.
	domains []string
}

// readTLSAuth reads options.tlsAuth: certificates and keys as PEM.
func (o *Options) readTLSAuth(raw json.RawMessage) error {
	var list []struct {
		Cert     string   `json:"cert"`
		Key      string   `json:"key"`
		Password string   `json:"password"`
		Domains  []string `json:"domains"`
	}
	if err := decode(raw, &list); err != nil {
		return err
	}
	var errs []error
	for i, given := range list {
		pair, err := tls.X509KeyPair([]byte(given.Cert), []byte(given.Key))
		switch {
		case given.Password != "":
			errs = append(errs, fmt.Errorf("[%d] has a password, but keys that are encrypted cannot be read: store it without", i))
		case err != nil:
			errs = append(errs, fmt.Errorf("[%d]: cert and key are PEM text, but %w", i, err))
		}
		o.certificates = append(o.certificates, clientCertificate{pair, given.Domains})
	}
	return errors.Join(errs...)
}

// shows reports whether a server of that name is shown the certificate.
func (c *clientCertificate) shows(name string) bool {
	for _, domain := range c.domains {
		below, wild := strings.CutPrefix(domain, "*")
		if strings.EqualFold(domain, name) || wild && strings.HasSuffix(strings.ToLower(name), strings.ToLower(below)) {
			return true
		}
	}
	return len(c.domains) == 0
}

// tlsFor is the TLS configuration for a server of that name.
func (t *Target) tlsFor(name string) *tls.Config {
	if len(t.Options.certificates) == 0 {
		return t.tls
	}
	config := t.tls.Clone()
	for i := range t.Options.certificates {
		if c := &t.Options.certificates[i]; c.shows(name) {
			config.Certificates = append(config.Certificates[:len(config.Certificates):len(config.Certificates)], c.Certificate)
		}
	}
	return config
}

// dialTLS connects; the handshake that follows is as tlsFor says.
func (v *vu) dialTLS(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := v.dialTo(ctx, dialer, network, address)
	if err != nil {
		return nil, err
	}
	config := v.target.tlsFor(name).Clone()
	config.ServerName = name
	return tls.Client(conn, config), nil
}
