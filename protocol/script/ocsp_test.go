package script

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"contend/internal/testenv"
)

// What a server staples to its handshake can be read; without it there is nothing to read.
func TestStapledStatus(t *testing.T) {
	for _, c := range []struct {
		status int
		want   string
	}{
		{-1, "{\"next_update\":0,\"produced_at\":0,\"revocation_reason\":\"\",\"revoked_at\":0,\"status\":\"\",\"this_update\":0}"},
		{ocsp.Good, "good 1700000000 1700003600 0 "},
		{ocsp.Revoked, "revoked 1700000000 1700003600 1600000000 key_compromise"},
	} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.StartTLS()
		t.Cleanup(server.Close)
		if pair := &server.TLS.Certificates[0]; c.status >= 0 {
			pair.OCSPStaple = staple(t, pair, c.status)
		}
		text := "[o.status, o.this_update, o.next_update, o.revoked_at, o.revocation_reason].join(' ')"
		if c.status < 0 {
			text = "JSON.stringify(o)"
		}
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6'; export const options = { insecureSkipTLSVerify: true };
			export default function () { const o = http.get(__ENV.BASE_URL).ocsp; check(o, { [`+text+`]: (o) => http.OCSP_STATUS_GOOD === 'good' }); }`)
		shows(t, drive(t, Config{Script: path, URL: server.URL}, 1, true), c.want, c.want, 1)
	}
}

// staple is what the server's own key says of its certificate.
func staple(t *testing.T, pair *tls.Certificate, status int) []byte {
	t.Helper()
	of, err := x509.ParseCertificate(pair.Certificate[0])
	testenv.Must(t, err)
	at := time.Unix(1.7e9, 0)
	said, err := ocsp.CreateResponse(of, of, ocsp.Response{Status: status, SerialNumber: of.SerialNumber, ThisUpdate: at, NextUpdate: at.Add(time.Hour),
		RevokedAt: time.Unix(1.6e9, 0), RevocationReason: ocsp.KeyCompromise}, pair.PrivateKey.(crypto.Signer))
	testenv.Must(t, err)
	return said
}
