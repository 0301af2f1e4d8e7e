package errkind

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"testing"
)

// Alerts of a server are known by their code, whatever crypto/tls calls them.
func TestAlertOf(t *testing.T) {
	refuse := func([][]byte, [][]*x509.Certificate) error { return errors.New("no") }
	for name, tt := range map[string]struct {
		server, client *tls.Config
		certificate    bool           // is sent by the client
		want           tls.AlertError // RFC 8446, section 6
	}{
		"certificate required": {&tls.Config{ClientAuth: tls.RequireAnyClientCert}, &tls.Config{}, false, 116},
		"bad certificate":      {&tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyPeerCertificate: refuse}, &tls.Config{}, true, 42},
		"unknown authority":    {&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}, &tls.Config{}, true, 48},
		"no protocol":          {&tls.Config{NextProtos: []string{"http/1.1"}}, &tls.Config{NextProtos: []string{"h2"}}, false, 120},
		"no version":           {&tls.Config{MaxVersion: tls.VersionTLS12}, &tls.Config{MinVersion: tls.VersionTLS13}, false, 70},
	} {
		t.Run(name, func(t *testing.T) {
			err := shakeHands(t, tt.server, tt.client, tt.certificate)
			if got, ok := AlertOf(err); !ok || got != tt.want {
				t.Errorf("%v: alert %d, %t; want %d", err, uint8(got), ok, uint8(tt.want))
			}
		})
	}
	for _, err := range []error{io.EOF, &net.OpError{Op: "remote error", Err: errors.New("tls: something")}} {
		if got, ok := AlertOf(err); ok {
			t.Errorf("%v is alert %d", err, uint8(got))
		}
	}
	if got, ok := AlertOf(fmt.Errorf("over QUIC: %w", tls.AlertError(116))); !ok || got != 116 {
		t.Errorf("alert %d, %t; want 116", uint8(got), ok)
	}
}

// shakeHands returns the error with which the handshake ends for the client, or the first read after it.
func shakeHands(t *testing.T, server, client *tls.Config, certificate bool) error {
	t.Helper()
	lent := httptest.NewTLSServer(nil) // its certificate
	defer lent.Close()
	server.Certificates, client.InsecureSkipVerify = lent.TLS.Certificates, true
	if certificate {
		client.Certificates = lent.TLS.Certificates
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), client)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1)) // of TLS 1.3 alerts about our certificate come after the handshake
	return err
}
