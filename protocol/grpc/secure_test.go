package grpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

// A server that asks for a client's certificate gets it, in calls and streams.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	server, client := testenv.NewCertificate("127.0.0.1"), testenv.NewCertificate("client")
	trusted := x509.NewCertPool()
	trusted.AddCert(client.Leaf)
	address, _ := newChatServer(t).start(t, "127.0.0.1:0", v1Reflection, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
	})))
	for _, method := range []string{"Collect", "List", "Talk"} {
		for _, mode := range modes() {
			cfg := chat(address, method, `{"value": 2}`)
			secure(&cfg)
			cfg.Connections.Sharing = mode
			cfg.TLS = wire.TLS{CA: server.PEM, Certificate: client.PEM, Key: client.Key}
			out, err := newVU(t, open(t, cfg), 0).Do(t.Context())
			if err != nil || out.Failed {
				t.Errorf("%s, %v: got %+v, %v", method, cfg.Connections, out, err)
			}
			cfg.TLS = wire.TLS{CA: server.PEM}
			vu := newVU(t, open(t, cfg), 0)
			vu.(load.TimeoutSetter).SetTimeout(10 * time.Second)
			out, err = vu.Do(t.Context())
			// The alert comes after the handshake, and is lost if we write first.
			if kind := errkind.Of(err); kind != errkind.TLS && kind != errkind.Reset {
				t.Errorf("%s, %v: got %d %s, error %v of kind %s", method, cfg.Connections, out.Status, out.Detail, err, kind)
			}
		}
	}
}

// No error repeats what may be a secret.
func TestSecrets(t *testing.T) {
	const secret = "hunter2"
	one, other := testenv.NewCertificate("a"), testenv.NewCertificate("b")
	for _, cfg := range []Config{
		{URL: "grpc://u:" + secret + "@127.0.0.1:1/chat.Room/Talk"},
		{URL: "grpc://u:" + secret + "@127.0.0.1:port/chat.Room/Talk"},
		{URL: "grpc://127.0.0.1:1/chat.Room/Talk", Metadata: map[string][]string{"authorization": {"Bearer " + secret + "\n"}}},
		{URL: "grpc://127.0.0.1:1/chat.Room/Talk", Metadata: map[string][]string{"Authorization": {secret}}},
		{URL: "grpcs://127.0.0.1:1/chat.Room/Talk", TLS: wire.TLS{Certificate: one.PEM, Key: []byte(secret)}},
		{URL: "grpcs://127.0.0.1:1/chat.Room/Talk", TLS: wire.TLS{Certificate: other.PEM, Key: one.Key}},
		{URL: "grpc://127.0.0.1:1/chat.Room/Talk", Metadata: map[string][]string{"authorization": {secret}}},
	} {
		_, err := New(t.Context(), cfg)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v", err)
		}
	}
}

// Metadata is sent with every stream; binary values arrive as they are.
func TestStreamMetadata(t *testing.T) {
	for _, method := range []string{"Collect", "List", "Talk"} {
		address := chatAt(t, func(stream grpc.ServerStream) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			if !slices.Equal(md.Get("tenant"), []string{"a", "b"}) || !slices.Equal(md.Get("trace-bin"), []string{"\x00\xff"}) ||
				!slices.Equal(md.Get("authorization"), []string{"Basic dTpw"}) {
				return fmt.Errorf("metadata %v", md)
			}
			return nil
		})
		cfg := chat(address, method, `{"value": 1}`)
		cfg.Metadata = map[string][]string{"tenant": {"a", "b"}, "trace-bin": {"\x00\xff"}, "authorization": {"Basic dTpw"}}
		if out, err := newVU(t, open(t, cfg), 0).Do(t.Context()); err != nil || out.Failed {
			t.Errorf("%s: %s, %v", method, out.Detail, err)
		}
	}
}

// {text: n characters}, n from 128 to 16383, is n + 3 bytes.
func TestMaxMessage(t *testing.T) {
	address := chatAt(t, nil)
	cfg := chat(address, "Talk", fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", 1000)))
	for _, test := range []struct {
		limit int
		want  errkind.Kind
	}{{1003, ""}, {1002, errkind.Protocol}, {0, ""}} {
		cfg.MaxMessage = test.limit
		out, err := newVU(t, open(t, cfg), 0).Do(t.Context())
		if test.want != "" {
			checkKind(t, err, test.want)
		} else if err != nil || out.BytesIn != 1003 {
			t.Errorf("limit %d: got %+v, %v", test.limit, out, err)
		}
	}
}
