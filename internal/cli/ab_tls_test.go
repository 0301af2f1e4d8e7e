package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"contend/internal/lazyregexp"
	"contend/internal/testenv"
)

// handshakes is a server that remembers what clients say of themselves.
type handshakes struct {
	*httptest.Server
	mu    sync.Mutex
	names map[string]bool // of the server, as asked for
	certs int             // connections of a client with a certificate
}

func startTLS(t *testing.T) *handshakes {
	h := &handshakes{names: map[string]bool{}}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.names[r.TLS.ServerName] = true
		h.certs += len(r.TLS.PeerCertificates)
		h.mu.Unlock()
		io.WriteString(w, "hello")
	}))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	suites := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
	h.TLS = &tls.Config{MinVersion: tls.VersionTLS10, ClientAuth: tls.RequestClientCert,
		CurvePreferences: []tls.CurveID{tls.X25519}} // ab's OpenSSL may know no other of ours
	for _, s := range suites {
		h.TLS.CipherSuites = append(h.TLS.CipherSuites, s.ID)
	}
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

// url names the host, because addresses are not named in a handshake.
func (h *handshakes) url() string { return strings.Replace(h.URL, "127.0.0.1", "localhost", 1) + "/" }

var abHandshake = lazyregexp.New(`(?m)^(?:SSL/TLS Protocol|Server Temp Key|TLS Server Name): .*$`)

func TestABHandshakesAsTheOriginal(t *testing.T) {
	original(t)
	h := startTLS(t)
	for _, flags := range []string{"-f TLS1.3", "-f TLS1.2 -Z ECDHE-RSA-AES128-GCM-SHA256", "-f TLS1.2 -Z AES256-SHA -I",
		"-f ALL -k", "-H Host:example.org"} {
		args := append(strings.Fields(flags), "-n", "4", h.url())
		want := abHandshake().FindAllString(theirs(t, args...), -1)
		out, stderr, code := ours(t, args...)
		if got := abHandshake().FindAllString(out, -1); !slices.Equal(got, want) || code != exitDone || len(got) == 0 {
			t.Errorf("%s: %q, want %q\n%s", flags, got, want, stderr)
		}
	}
}

func TestABTLS(t *testing.T) {
	h := startTLS(t)
	key, err := x509.MarshalPKCS8PrivateKey(h.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	var both bytes.Buffer
	pem.Encode(&both, &pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	pem.Encode(&both, &pem.Block{Type: "PRIVATE KEY", Bytes: key})
	file := testenv.Write(t, filepath.Join(t.TempDir(), "both.pem"), both.Bytes())
	out, stderr, code := ours(t, "-n", "3", "-E", file, "-f", "tls1.1", h.url())
	if code != exitDone || !strings.Contains(out, "SSL/TLS Protocol:       TLSv1.1,") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if !h.names["localhost"] || h.certs != 3 {
		t.Errorf("names %v, %d certificates, want localhost and 3", h.names, h.certs)
	}
	clear(h.names)
	if _, stderr, code := ours(t, "-n", "3", "-I", h.url()); code != exitDone || !h.names[""] || h.names["localhost"] {
		t.Errorf("-I: exit code %d, names %v\n%s", code, h.names, stderr)
	}
	// HTTP to a port of HTTPS and the reverse.
	if out, _, code := ours(t, "-n", "3", strings.Replace(h.url(), "https", "http", 1)); code != exitFailed || !strings.Contains(out, "Failed requests:        3\n") {
		t.Errorf("HTTP: exit code %d\n%s", code, out)
	}
	plain := abServer(t)
	out, _, code = ours(t, "-r", "-n", "3", strings.Replace(plain.URL, "http", "https", 1)+"/")
	if code != exitFailed || !strings.Contains(out, "(Connect: 3, Receive: 0, Length: 0, Exceptions: 0)") {
		t.Errorf("HTTPS: exit code %d\n%s", code, out)
	}
}

// Every suite of crypto/tls up to TLS 1.2 has OpenSSL's name.
func TestABCiphersAreComplete(t *testing.T) {
	named := map[uint16]bool{}
	for _, id := range abCiphers {
		named[id] = true
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if old := suite.SupportedVersions[0] < tls.VersionTLS13; old != named[suite.ID] {
			t.Errorf("%s: named %v, want %v", suite.Name, named[suite.ID], old)
		}
	}
}
