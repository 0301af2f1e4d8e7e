package counter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestListenRefusesBadConfig(t *testing.T) {
	tests := []struct {
		name string
		give Config
		want []string // all of them in one error
	}{
		{"nothing to serve", Config{}, []string{"HTTPAddr and GRPCAddr are both empty"}},
		{"gRPC without a guard", Config{GRPCAddr: ":0"}, []string{"Guard is missing; expected mutex, "}},
		{"unknown guard", Config{HTTPAddr: ":0", Guard: "nosuch"},
			[]string{`Guard: design is "nosuch"; expected mutex, `}},
		{"striped", Config{GRPCAddr: ":0", Guard: "striped"},
			[]string{`Guard: design striped returns no value; expected mutex, `}},
		{"negative timeout", Config{HTTPAddr: ":0", DrainTimeout: -1}, []string{"DrainTimeout is -1ns; expected 0s or more"}},
		{"all at once", Config{Guard: "nosuch", DrainTimeout: -1},
			[]string{"both empty", "design is", "DrainTimeout"}},
		{"HTTP address", Config{HTTPAddr: "127.0.0.1:x"}, []string{`HTTP on "127.0.0.1:x"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Listen(tt.give)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if !strings.HasPrefix(err.Error(), "counter: ") {
				t.Errorf("%q is not prefixed", err)
			}
		})
	}
}

func TestListenNamesTheAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	// HTTP is bound first and must be released again: goleak sees to that for
	// its goroutines, and the second attempt for the port.
	addr := testenv.HeldAddress(t)
	for range 2 {
		_, err := Listen(Config{HTTPAddr: addr, GRPCAddr: ln.Addr().String(), Guard: "mutex"})
		if err == nil || !strings.Contains(err.Error(), `gRPC on "`+ln.Addr().String()+`"`) {
			t.Errorf("error %v does not name the address", err)
		}
	}
}

func serveAndStop(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Serve(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestServeLogs(t *testing.T) {
	var log bytes.Buffer
	s, err := Listen(Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Guard: "INPUTQ",
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	serveAndStop(t, s)
	for _, want := range []string{
		`msg=environment cores=\d+ gomaxprocs=\d+ cpu_limit=(none|[0-9.]+)\n`,
		`msg=serving http=` + s.httpAddr().String() + ` grpc=` + s.grpcAddr().String() + ` guard=inputq\n`,
		`msg=draining timeout=10s\n`,
		`msg=stopped\n`,
	} {
		if n := len(regexp.MustCompile(want).FindAllString(log.String(), -1)); n != 1 {
			t.Errorf("%d lines like %q in\n%s", n, want, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 4 {
		t.Errorf("%d lines, want 4:\n%s", n, log.String())
	}
}

func TestOneSideOnly(t *testing.T) {
	web := start(t, httpOnly())
	if web.grpcAddr() != nil || web.httpAddr() == nil {
		t.Errorf("HTTP only: %v, %v", web.httpAddr(), web.grpcAddr())
	}
	rpc := start(t, grpcOnly("cas"))
	if rpc.httpAddr() != nil || rpc.grpcAddr() == nil {
		t.Errorf("gRPC only: %v, %v", rpc.httpAddr(), rpc.grpcAddr())
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	for name, broken := range map[string]func(*Server){
		"http": func(s *Server) { _ = s.http.Close() },
		"grpc": func(s *Server) { _ = s.grpc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Guard: "mutex"}, broken)
			err := s.wait(t)
			if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), "stopped serving") {
				t.Errorf("error %v", err)
			}
		})
	}
}
