package roundtrip

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/quic-go/quic-go/http3"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestMain(m *testing.M) { testenv.Main(m, 8) }

// A way is one of the ways to speak.
type way struct {
	name    string
	version string
	start   func(t testing.TB, handler http.Handler) (url string, stop func())
}

var ways = []way{
	{"h2c", "2", startPlain},
	{"h2", "2", startSecure},
	{"h3", "3", startQUIC},
}

func (w way) config(t testing.TB, handler http.HandlerFunc) Config {
	url, stop := w.start(t, handler)
	t.Cleanup(stop)
	return Config{URL: url, Version: w.version, TLS: w.trust()}
}

func (w way) trust() wire.TLS { return wire.TLS{Insecure: w.name != "h2c"} }

func newServer(handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	return s
}

func startPlain(_ testing.TB, handler http.Handler) (string, func()) {
	s := newServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	return s.URL, func() { s.CloseClientConnections(); s.Close() }
}

func startSecure(_ testing.TB, handler http.Handler) (string, func()) {
	s := newServer(handler)
	s.EnableHTTP2 = true
	s.TLS = wiretest.TLS()
	s.StartTLS()
	return s.URL, func() { s.CloseClientConnections(); s.Close() }
}

func startQUIC(t testing.TB, handler http.Handler) (string, func()) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	testenv.Must(t, err)
	return "https://" + conn.LocalAddr().String(), serveQUIC(conn, handler)
}

// serveQUIC serves until stop is called.
func serveQUIC(conn net.PacketConn, handler http.Handler) (stop func()) {
	s := &http3.Server{Handler: handler, TLSConfig: http3.ConfigureTLSConfig(wiretest.TLS()), Logger: slog.New(slog.DiscardHandler)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(conn) })
	var once sync.Once
	return func() {
		once.Do(func() {
			s.Close()
			conn.Close()
			serving.Wait()
		})
	}
}

func newTestVU(t testing.TB, c Config) *vu {
	t.Helper()
	return wiretest.VU[*vu](t, newTarget(t, c), 0)
}

func newTarget(t testing.TB, c Config) *Target {
	t.Helper()
	target, err := New(c)
	testenv.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

func run(t testing.TB, c Config, plan load.Plan) *load.Result {
	t.Helper()
	return wiretest.Run(t, newTarget(t, c), plan)
}

var everyConnections = []wire.Connections{{}, {Sharing: wire.PerIteration}, {Sharing: wire.Shared}, {Sharing: wire.Shared, N: 3}}

// onEvery runs a test for each way to speak and to share.
func onEvery(t *testing.T, test func(t *testing.T, w way, connections wire.Connections)) {
	for _, w := range ways {
		for _, connections := range everyConnections {
			t.Run(fmt.Sprintf("%s/%v", w.name, connections), func(t *testing.T) { test(t, w, connections) })
		}
	}
}
