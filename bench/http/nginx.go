package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

const bigBytes = 130_000

// config is nginx's configuration, to be filled with the directory, the user and
// the addresses of HTTP/1.1, of TLS and of HTTP/2 without it. The answer of / has a
// body of 61 bytes. HTTP/2 must not say goodbye after a number of requests.
const config = `daemon off;
worker_processes 1;
%[2]s
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[3]s backlog=4096;
		listen %[4]s ssl http2 backlog=4096;
		listen %[5]s http2 backlog=4096;
		ssl_certificate %[1]s/cert.pem;
		ssl_certificate_key %[1]s/key.pem;
		ssl_protocols TLSv1.3;
		root %[1]s;
		location = / {
			default_type application/json;
			return 200 '{"status":true,"counter":123456,"note":"sixty-one bytes now"}';
		}
	}
}
`

// An nginx is a running server.
type nginx struct {
	address, secure, h2c string
	version              string
	stop                 func()
}

func startNginx(ctx context.Context, dir string) (*nginx, error) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return nil, fmt.Errorf("no server: %w", err)
		}
	}
	var addresses [3]string
	for i := range addresses {
		if addresses[i], err = paired.FreeAddress(); err != nil {
			return nil, err
		}
	}
	if err := writeCertificate(dir); err != nil {
		return nil, err
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // or its worker could not read the directory
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, dir, user, addresses[0], addresses[1], addresses[2]), 0o644); err != nil {
		return nil, err
	}
	page := bytes.Repeat([]byte("<p>The quick brown fox jumps over the lazy dog.</p>\n"), bigBytes/50)[:bigBytes]
	if err := os.WriteFile(filepath.Join(dir, "big.html"), page, 0o644); err != nil {
		return nil, err
	}
	version, _ := exec.Command(binary, "-v").CombinedOutput()
	n := &nginx{
		address: addresses[0], secure: addresses[1], h2c: addresses[2],
		version: strings.TrimPrefix(strings.TrimSpace(string(version)), "nginx version: "),
	}
	n.stop, err = paired.Serve(ctx, n.address, binary, "-p", dir, "-c", file, "-e", filepath.Join(dir, "error.log"))
	return n, err
}

// writeCertificate signs one for 127.0.0.1 that lasts a day.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(write("cert.pem", "CERTIFICATE", certificate), write("key.pem", "PRIVATE KEY", private))
}
