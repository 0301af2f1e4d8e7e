package discover

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"contend/internal/testenv"
)

// served starts a server of HTTP that speaks the protocols.
func served(t *testing.T, secure bool, protocols func(*http.Protocols), handler http.HandlerFunc) string {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.Protocols = new(http.Protocols)
	protocols(server.Config.Protocols)
	t.Cleanup(server.Close)
	if secure {
		server.EnableHTTP2 = server.Config.Protocols.HTTP2()
		server.StartTLS()
	} else {
		server.Start()
	}
	return server.Listener.Addr().String()
}

// talks starts a server that greets, and answers a line or what begins with a zero.
func talks(t *testing.T, greets string, answers func(line string) string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.WriteString(conn, greets)
				line, _ := bufio.NewReader(conn).ReadString('\n')
				io.WriteString(conn, answers(line))
			}()
		}
	}()
	return listener.Addr().String()
}

func grpcServer(t *testing.T, described bool) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	if described {
		reflection.Register(server)
	}
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestServiceAt(t *testing.T) {
	http1 := func(p *http.Protocols) { p.SetHTTP1(true) }
	h2c := func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }
	http2 := func(p *http.Protocols) { p.SetHTTP2(true) }
	right := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }
	api := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/openapi.json":
			io.WriteString(w, `{"paths": {"/users/{id}": {"get": {}}, "/users": {"get": {}, "post": {}}, "/orders": {"post": {}}, "/secret": {"get": {}}}}`)
		case "/users", "/health":
		default:
			http.NotFound(w, r)
		}
	}
	silent := func(string) string { return "" }
	for name, tt := range map[string]struct{ address, want string }{
		"HTTP":           {served(t, false, http1, right), "HTTP /"},
		"400":            {served(t, false, http1, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }), "HTTP"},
		"TLS":            {served(t, true, http1, right), "HTTPS /"},
		"h2c":            {served(t, false, h2c, right), "HTTP/2 /"},
		"HTTP/2 and TLS": {served(t, true, http2, right), "HTTP/2 over TLS /"},
		"OpenAPI":        {served(t, false, http1, api), "HTTP /users /health"},
		"gRPC":           {grpcServer(t, true), "gRPC /grpc.health.v1.Health/Check /grpc.health.v1.Health/List"},
		"gRPC alone":     {grpcServer(t, false), "gRPC"},
		"Redis": {talks(t, "", func(line string) string {
			return map[bool]string{true: "+PONG\r\n", false: "-ERR\r\n"}[line == "PING\r\n"]
		}), "RESP, the protocol of Redis"},
		"NATS":    {talks(t, "INFO {}\r\n", silent), "the protocol of NATS"},
		"mail":    {talks(t, "220 me\r\n", silent), "SMTP or FTP"},
		"MySQL":   {talks(t, "\x4a\x00\x00\x00\x0a8.0\x00", silent), "the protocol of MySQL"},
		"unknown": {talks(t, "", silent), "neither HTTP nor gRPC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serviceAt(t.Context(), tt.address, Request{})
			got := s.String()
			for _, a := range s.Answers {
				if a.Right {
					got += " " + a.Path
				}
			}
			if got != tt.want {
				t.Errorf("%s, want %s (%+v)", got, tt.want, s)
			}
		})
	}
}

// A server is asked as it will be driven, and for nothing else if that may have an effect.
func TestRequest(t *testing.T) {
	var asked []string
	address := served(t, false, func(p *http.Protocols) { p.SetHTTP1(true) }, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.Join([]string{r.Method, r.Host, r.URL.Path, r.Header.Get("Authorization"), string(body)}, " "))
		w.WriteHeader(http.StatusForbidden)
	})
	s := serviceAt(t.Context(), address, Request{Method: "POST", Data: "x", Header: http.Header{"Authorization": {"me"}, "Host": {"h"}}})
	if want := []string{"POST h / me x"}; !slices.Equal(asked, want) || s.Answers[0] != (Answer{"/", false, "403"}) {
		t.Errorf("asked %q, want %q: %+v", asked, want, s)
	}
}

// A server that wants a certificate of its clients is said to speak TLS.
func TestCertificateWanted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	if s := serviceAt(t.Context(), server.Listener.Addr().String(), Request{}); !strings.HasPrefix(s.Speaks, "TLS whose handshake fails") {
		t.Errorf("%+v", s)
	}
}
