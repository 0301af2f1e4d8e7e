package grpc

import (
	"crypto/tls"
	"testing"

	"contend/failure"
	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// A server that chooses no protocol in the handshake, or refuses all that were offered, does not speak HTTP/2. The
// former is known by a text of grpc-go.
func TestNoALPN(t *testing.T) {
	t.Parallel()
	authority, certificate := wiretest.Authority(), wiretest.Certificate()
	for name, protocols := range map[string][]string{"chooses none": nil, "refuses": {"http/1.1"}} {
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: protocols})
		testenv.Must(t, err)
		defer wiretest.Serve(listener, wiretest.Hang)()
		address := listener.Addr().String()
		cfg := config(address, wire.PerVU)
		cfg.URL, cfg.TLS = "grpcs://"+address+methodPath, wire.TLS{CA: authority}
		target, err := New(t.Context(), cfg)
		if err == nil {
			err = target.Reach(t.Context())
			target.Close()
		}
		if got := failure.Connecting(err); got.Kind != failure.NoALPN {
			t.Errorf("%s: %v carries %+v", name, err, got)
		}
	}
}
