package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestFirstTellsOfTheFirstAnswerAlone(t *testing.T) {
	wiretest.Engines(t, loop.Supported, func(t *testing.T, engine load.Engine) {
		var n atomic.Int64
		target := targetOf(t, Config{URL: "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			i := n.Add(1)
			w.Header().Set("Server", fmt.Sprintf("%d%s", i, strings.Repeat("x", 200)))
			w.WriteHeader(200 + int(i))
			_, _ = io.WriteString(w, strings.Repeat("y", 10*int(i)))
		})})
		if got, ok := target.First(); ok {
			t.Errorf("before any answer: %+v", got)
		}
		wiretest.Over(t, engine, target, load.Plan{VUs: 1, Iterations: 2})
		want := Answer{Status: 201, Server: "1" + strings.Repeat("x", maxServer-1), BodyLength: 10}
		if got, ok := target.First(); !ok || got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestSameLengthComparesWithTheFirstBody(t *testing.T) {
	bodies := []string{"abc", "abc", "abcd", "", "xyz"}
	wrong := []bool{false, false, true, true, false}
	for _, same := range []bool{true, false} {
		n := 0
		url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			_ = nethttp.NewResponseController(w).Flush() // makes it chunked
			_, _ = io.WriteString(w, bodies[n])
			n++
		})
		v := newTestVU(t, Config{URL: url, AB: AB{SameLength: same}})
		for i, body := range bodies {
			out, err := v.Do(context.Background())
			if err != nil || out.BodyIn != int64(len(body)) {
				t.Fatalf("iteration %d: %+v, %v", i, out, err)
			}
			if failed := same && wrong[i]; out.Failed != failed || (out.Check == "length") != failed {
				t.Errorf("same %t, iteration %d: %+v", same, i, out)
			}
		}
	}
}

// serveTLS answers with the name that the client gave and with the number of
// certificates that it showed.
func serveTLS(t *testing.T, c *tls.Config) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Server", fmt.Sprintf("%q %d", r.TLS.ServerName, len(r.TLS.PeerCertificates)))
	}))
	s.TLS = c
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestTLSSaysWhatItIsTold(t *testing.T) {
	t.Parallel()
	client := testenv.NewCertificate("client")
	own := wire.TLS{Insecure: true, Certificate: client.PEM, Key: client.Key}
	asks := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	plain := serveTLS(t, &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}})
	for _, test := range []struct {
		name   string
		server *httptest.Server
		give   wire.TLS
		want   Answer
	}{
		{"certificate", asks, own, Answer{Server: `"" 1`}},
		{"name", plain, wire.TLS{Insecure: true, ServerName: "example.com"}, Answer{
			Server: `"example.com" 0`, TLS: "TLSv1.3,TLS_AES_128_GCM_SHA256,2048,128", TempKey: "X25519 253 bits"}},
		{"no name, checked all the same", plain, wire.TLS{CA: testenv.PEM(plain.Certificate().Raw), ServerName: "example.com", NoSNI: true}, Answer{Server: `"" 0`}},
		{"1.2", plain, wire.TLS{Insecure: true, MaxVersion: tls.VersionTLS12}, Answer{
			TLS: "TLSv1.2,ECDHE-RSA-AES128-GCM-SHA256,2048,128"}},
		{"suite", plain, wire.TLS{Insecure: true, MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256}}, Answer{
			TLS: "TLSv1.2,ECDHE-RSA-CHACHA20-POLY1305,2048,256"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newTestVU(t, Config{URL: test.server.URL, TLS: test.give})
			if out, err := v.Do(context.Background()); err != nil || out.Failed {
				t.Fatalf("%+v, %v", out, err)
			}
			got, _ := v.target.First()
			for _, say := range []struct{ what, got, want string }{
				{"Server", got.Server, test.want.Server},
				{"TLS", got.TLS, test.want.TLS},
				{"TempKey", got.TempKey, test.want.TempKey},
			} {
				if say.want != "" && say.got != say.want {
					t.Errorf("%s: got %q, want %q", say.what, say.got, say.want)
				}
			}
		})
	}
	t.Run("no certificate", func(t *testing.T) {
		wiretest.Errs(t, targetOf(t, Config{URL: asks.URL, TLS: wire.TLS{Insecure: true}}), errkind.TLS, errkind.Reset)
	})
	t.Run("wrong name without telling it", func(t *testing.T) {
		wiretest.Errs(t, targetOf(t, Config{URL: plain.URL, TLS: wire.TLS{CA: testenv.PEM(plain.Certificate().Raw), ServerName: "other.invalid", NoSNI: true}}), errkind.TLS)
	})
	t.Run("version that the server has not", func(t *testing.T) {
		old := serveTLS(t, &tls.Config{MaxVersion: tls.VersionTLS12})
		wiretest.Errs(t, targetOf(t, Config{URL: old.URL, TLS: wire.TLS{Insecure: true, MinVersion: tls.VersionTLS13}}), errkind.TLS)
	})
}

func TestOpenSSLNames(t *testing.T) {
	// As `openssl ciphers -stdname` prints them.
	for id, want := range map[uint16]string{
		tls.TLS_RSA_WITH_AES_128_CBC_SHA:                  "AES128-SHA",
		tls.TLS_RSA_WITH_AES_256_GCM_SHA384:               "AES256-GCM-SHA384",
		tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA:                 "DES-CBC3-SHA",
		tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA:                "ECDHE-RSA-RC4-SHA",
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256:       "ECDHE-ECDSA-AES128-SHA256",
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
		tls.TLS_CHACHA20_POLY1305_SHA256:                  "TLS_CHACHA20_POLY1305_SHA256",
	} {
		if got := opensslName(tls.CipherSuiteName(id)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestConnectionsAreMadeAsTold(t *testing.T) {
	t.Parallel()
	var from atomic.Value
	server := serveOn(t, "tcp", "127.0.0.1:0", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		from.Store(fmt.Sprint(host, " ", r.Proto, " ", r.RequestURI, " ", r.Host))
		_, _ = io.Copy(io.Discard, r.Body)
	})
	body := bytes.Repeat([]byte("x"), 200_000)
	for name, test := range map[string]struct {
		give Config
		want string
	}{
		"local address": {Config{URL: "http://" + server, AB: AB{LocalAddress: "127.0.0.2"}}, "127.0.0.2 HTTP/1.1 / " + server},
		"proxy":         {Config{URL: "http://name.invalid/x", Proxy: server}, "127.0.0.1 HTTP/1.1 http://name.invalid/x name.invalid"},
		"small buffers": {Config{URL: "http://" + server, AB: AB{SocketBuffer: 32 << 10}, Body: body}, "127.0.0.1 HTTP/1.1 / " + server},
		"1.0":           {Config{URL: "http://" + server, AB: AB{HTTP10: true}}, "127.0.0.1 HTTP/1.0 / " + server},
	} {
		t.Run(name, func(t *testing.T) {
			overBothEngines(t, func(t *testing.T, run runner) {
				from.Store("")
				r := run(t, test.give, load.Plan{VUs: 1, Iterations: 3, Timeout: testenv.Patience})
				if r.Completed != 3 || from.Load() != test.want {
					t.Errorf("completed %d, errored %v, from %v, want %s", r.Completed, r.Examples, from.Load(), test.want)
				}
			})
		})
	}
}

func TestAWrongAnswerShowsItsBeginning(t *testing.T) {
	long := strings.Repeat("x", 400_000)
	for _, test := range []struct {
		name, answer, want string
	}{
		{"short", "HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy", "HTTP/1.1 503 No\r\n\r\nbusy"},
		{"chunked", "HTTP/1.1 404\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "HTTP/1.1 404\r\n\r\nabc"},
		{"long", fmt.Sprintf("HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n%s", len(long), long), "HTTP/1.1 500 X\r\n\r\n" + long[:182]},
		{"long reason", fmt.Sprintf("HTTP/1.1 500 %s\r\nContent-Length: 1\r\n\r\ny", long[:5000]), "HTTP/1.1 500 " + long[:87] + "\r\n\r\ny"},
		{"right", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := newTestVU(t, Config{URL: "http://" + wiretest.Listen(t, wiretest.Answering(test.answer))})
			for i := range 3 {
				out, err := v.Do(context.Background())
				if err != nil || string(out.Detail) != test.want || out.Failed != (test.want != "") {
					t.Fatalf("iteration %d: %q, %v; want %q", i, out.Detail, err, test.want)
				}
			}
		})
	}
}
