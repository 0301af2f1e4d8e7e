package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"time"

	"contend/bench/internal/paired"
)

// directives has servers for HTTP/1.1, for TLS and for HTTP/2 without it, which
// must not say goodbye after a number of requests. The answer of / is SmallBody.
const directives = `
	server {
		listen {{addr}} backlog=4096;
		listen {{addr.tls}} ssl http2 backlog=4096;
		listen {{addr.h2c}} http2 backlog=4096;
		ssl_certificate {{dir}}/cert.pem;
		ssl_certificate_key {{dir}}/key.pem;
		ssl_protocols TLSv1.3;
		root {{dir}};
		location = / {
			default_type application/json;
			return 200 '` + paired.SmallBody + `';
		}
	}`

// An nginx is a running server with its addresses.
type nginx struct {
	plain, tls, h2c string
	version         string
	stop            func()
}

func startNginx(ctx context.Context) (*nginx, error) {
	certificate, key, err := selfSigned()
	if err != nil {
		return nil, err
	}
	server, version, err := paired.StartNginx(ctx, directives, map[string]string{
		"cert.pem": certificate, "key.pem": key, "big.html": string(paired.BigBody())})
	if err != nil {
		return nil, err
	}
	return &nginx{server.Addr(""), server.Addr("tls"), server.Addr("h2c"), version,
		func() { _ = server.Stop(context.Background()) }}, nil
}

// selfSigned returns a certificate for 127.0.0.1 that lasts a day.
func selfSigned() (certificate, key string, err error) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	signed, err1 := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	private, err2 := x509.MarshalPKCS8PrivateKey(secret)
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", signed), text("PRIVATE KEY", private), errors.Join(err1, err2)
}
