package ws

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func startServer(t *testing.T, start func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, _, err := ws.UpgradeHTTP(r, w)
		if err == nil {
			defer conn.Close()
			serveEcho(conn)
		}
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	start(s)
	t.Cleanup(s.Close)
	return s
}

func TestTLS(t *testing.T) {
	t.Parallel()
	secure := startServer(t, (*httptest.Server).StartTLS)
	ca := testenv.PEM(secure.Certificate().Raw)
	url := strings.Replace(secure.URL, "https", "wss", 1)
	for name, c := range map[string]Config{
		"any":        {URL: url, TLS: wire.TLS{Insecure: true}},
		"authority":  {URL: url, TLS: wire.TLS{CA: ca}},
		"other name": {URL: url, TLS: wire.TLS{CA: ca, ServerName: "example.com"}},
	} {
		c.Message = []byte("x")
		v := newTestVU(t, newTarget(t, c))
		for i := range 3 { // the first waits for a handshake that took long
			if out, err := v.Do(context.Background()); err != nil || i > 0 && out.Phases.Connect != 0 {
				t.Errorf("%s: got %+v, %v", name, out, err)
			}
		}
	}
}

func TestClientCertificate(t *testing.T) {
	secure := startServer(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
		s.StartTLS()
	})
	client := testenv.NewCertificate("client")
	url := strings.Replace(secure.URL, "https", "wss", 1)
	identity := wire.TLS{Insecure: true, Certificate: client.PEM, Key: client.Key}
	if out, err := newTestVU(t, newTarget(t, Config{URL: url, TLS: identity})).Do(context.Background()); err != nil {
		t.Errorf("got %+v, %v", out, err)
	}
	wiretest.Errs(t, newTarget(t, Config{URL: url, TLS: wire.TLS{Insecure: true}}), errkind.TLS)
}
