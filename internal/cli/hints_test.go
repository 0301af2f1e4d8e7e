package cli

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// An HTTP server does not speak gRPC, and the hint says so only if that is the cause.
func TestHintsOfGRPC(t *testing.T) {
	t.Parallel()
	proto := filepath.Join(t.TempDir(), "a.proto")
	const text = `syntax = "proto3"; package a; message M {} service B { rpc C(M) returns (M); }`
	testenv.Write(t, proto, text)
	unimplemented := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "12")
	})
	start := func(http2, secure bool) string {
		server := httptest.NewUnstartedServer(unimplemented)
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(http2)
		t.Cleanup(server.Close)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		return server.Listener.Addr().String()
	}
	plain, both, secure := start(false, false), start(true, false), start(false, true)
	for _, tt := range []struct {
		words      string
		code       int
		want, none string // what the error says, and what it does not
	}{
		{"run -d 1h grpc://" + plain + "/a.B/C", exitFailed, "\n  the server speaks HTTP/1 on this port and gRPC needs HTTP/2; try its gRPC port, or http://" + plain + "/path\n", ""},
		{"run -d 1h --proto " + proto + " grpc://" + plain + "/a.B/C", exitFailed, "\n  the server speaks HTTP/1 on this port", ""},
		{"sweep -d 1h grpc://" + plain + "/a.B/C", exitFailed, "\n  the server speaks HTTP/1 on this port", ""},
		{"run -d 1h --insecure grpcs://" + secure + "/a.B/C", exitFailed, "\n  the server does not offer HTTP/2 in the TLS handshake", ""},
		{"run -d 1h grpc://" + both + "/a.B/C", exitUsage, "--proto is missing, and the server has no reflection service to ask", "HTTP/1"},
		{"run -n 5 --proto " + proto + " grpc://" + both + "/a.B/C", exitFailed, "5 failed", "HTTP/1"},
	} {
		t.Run(tt.words, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			code := Main(t.Context(), append(strings.Fields(tt.words), "--brief"), Streams{io.Discard, &errs}) // no page, but the error
			if text := errs.String(); code != tt.code || !strings.Contains(text, tt.want) || tt.none != "" && strings.Contains(text, tt.none) {
				t.Errorf("exit code %d, want %d, with %q and without %q: %s", code, tt.code, tt.want, tt.none, text)
			}
		})
	}
}

// A certificate for another name, or out of its time, gets advice as well.
func TestHintsOfCertificates(t *testing.T) {
	for _, err := range []error{
		x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"example.com"}}, Host: "localhost"},
		x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired},
	} {
		err = fmt.Errorf("tls: %w", err)
		if text := hint(t.Context(), "https://localhost:1/", trouble{err: err}); !strings.HasSuffix(text, "skip verification with --insecure") {
			t.Errorf("%q has no hint", text)
		}
	}
}

func TestHintsOfTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	const authority = "the certificate is self-signed or from an unknown CA; trust it with --ca-file FILE, or skip verification with --insecure"
	for _, tt := range []struct{ words, want string }{
		{"run -c 2 -n 20 http://" + address + "/a?b", "\n  the server speaks TLS on this port; try https://" + address + "/a?b\n"},
		{"run -c 2 -n 20 ws://" + address + "/", "\n  the server speaks TLS on this port; try wss://" + address + "/\n"},
		{"run -c 2 -n 20 grpc://" + address + "/a.B/C", "\n  the server speaks TLS on this port; try grpcs://" + address + "/a.B/C\n"},
		{"compare --rounds 1 --pairs 1 --block 500ms --warmup 0s http://" + address + "/ http://" + address + "/", "\n  the server speaks TLS on this port; try https://" + address + "/\n"},
		{"run -d 1h https://" + address + "/", authority},
		{"sweep -d 1h --http 2 https://" + address + "/", authority},
		{"run -d 1h wss://" + address + "/", authority},
		{"run -d 1h grpcs://" + address + "/a.B/C", authority},
	} {
		t.Run(tt.words, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			code := Main(t.Context(), append(strings.Fields(tt.words), "--brief"), Streams{io.Discard, &errs}) // no page, but the error
			if code != exitFailed || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("exit code %d, want %d and %q: %s", code, exitFailed, tt.want, &errs)
			}
		})
	}
}

// A server that answers, if only 502, is sent what it was asked for and nothing else.
func TestNoOtherProtocolIsTriedOnAServerThatAnswers(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"run -c 2 -n 20 %s", "ab -c 2 -n 20 %s/", "sweep --levels 1 --visits 1 --block 500ms --warmup 0s %s",
		"compare --rounds 1 --pairs 1 --block 500ms --warmup 0s %s %[1]s/a"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			var other atomic.Pointer[string]
			address := wiretest.Listen(t, func(conn net.Conn) {
				for from := bufio.NewReader(conn); ; {
					begin, err := from.Peek(4)
					if err != nil {
						return
					}
					if text := string(begin); text != "GET " {
						other.Store(&text)
						return
					}
					if _, err := http.ReadRequest(from); err != nil {
						return
					}
					io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno")
				}
			})
			code := Main(t.Context(), strings.Fields(fmt.Sprintf(words, "http://"+address)), Streams{io.Discard, io.Discard})
			if code == 0 {
				t.Error("exit code 0")
			}
			if sent := other.Load(); sent != nil {
				t.Errorf("%q sent", *sent)
			}
		})
	}
}

// Nor is HTTP/2 tried on a server whose answers in HTTP/1 are broken, or that a script did not ask.
func TestNoPrefaceIsSentToServersOfHTTP1(t *testing.T) {
	t.Parallel()
	script := testenv.Write(t, filepath.Join(t.TempDir(), "throws.js"), "export default function () { throw new Error('no') }")
	for words, asked := range map[string][]string{"run -c 1 -n 2 %s": {"GET / HTTP/1.1", "OPTIONS * HTTP/1.1"}, "run -c 1 -n 2 --script " + script + " %s": {}} {
		var asking sync.Mutex
		var seen []string
		address := wiretest.Listen(t, func(conn net.Conn) {
			from := bufio.NewReader(conn)
			for begin, err := from.Peek(1); err == nil && begin[0] != 22; begin, err = from.Peek(1) { // until a handshake of TLS
				request, err := http.ReadRequest(from)
				if err != nil {
					return
				}
				asking.Lock()
				seen = append(seen, request.Method+" "+request.RequestURI+" "+request.Proto)
				asking.Unlock()
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno")
			}
		})
		Main(t.Context(), strings.Fields(fmt.Sprintf(words, "http://"+address)), Streams{io.Discard, io.Discard})
		asking.Lock()
		if got := slices.Compact(seen); !slices.Equal(got, asked) {
			t.Errorf("%s: asked %q, want %q", words, got, asked)
		}
		asking.Unlock()
	}
}

// A server that writes its answer in two pieces, with Nagle's algorithm on or off.
func TestHintOfDelayedAcks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems delay acknowledgements by other times")
	}
	t.Parallel()
	server := func(noDelay bool) string {
		return wiretest.Listen(t, func(conn net.Conn) {
			conn.(*net.TCPConn).SetNoDelay(noDelay)
			for from := bufio.NewReader(conn); ; {
				if _, err := http.ReadRequest(from); err != nil {
					return
				}
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				io.WriteString(conn, "ok")
			}
		})
	}
	pieces, whole := server(false), server(true)
	for words, want := range map[string]bool{
		"run -c 4 -n 40 http://" + pieces:                                                              true,
		"run -c 4 -n 40 --engine goroutines http://" + pieces:                                          true,
		"sweep --levels 1 --visits 1 --block 500ms --warmup 0s http://" + pieces:                       true,
		"compare --rounds 1 --pairs 1 --block 500ms --warmup 0s http://" + pieces + " http://" + whole: true,
		"run -c 4 -n 40 http://" + whole:                                                               false,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			testenv.Eventually(t, fmt.Sprintf("delayed_ack said: %v", want), func() bool { // a busy machine adds to the delay
				var out, errs bytes.Buffer
				Main(t.Context(), append(strings.Fields(words), "--full"), Streams{&out, &errs})
				text := strings.Join(strings.Fields(out.String()), " ")
				if !strings.Contains(text, "throughput") {
					t.Fatalf("%s%s", text, &errs)
				}
				return strings.Contains(text, "the median response of 2 bytes took 4") == want && strings.Contains(text, "delayed_ack") == want
			})
		})
	}
}

// A server of old versions of TLS is called that, and one that others have signed is trusted by what
// the environment says of authorities.
func TestOldTLSAndOwnAuthorities(t *testing.T) {
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10, Certificates: []tls.Certificate{wiretest.Certificate()}}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	var out, errs strings.Builder
	code := Main(t.Context(), []string{"run", "-n", "1", "--insecure", old.URL}, Streams{&out, &errs})
	if text := strings.Join(strings.Fields(out.String()), " "); code != exitFailed || !strings.Contains(text, "at most TLS 1.0 or 1.1") || strings.Contains(text, "start the server") {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	own := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	own.EnableHTTP2 = true
	own.TLS = &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}}
	own.Config.ErrorLog = log.New(io.Discard, "", 0)
	own.StartTLS()
	defer own.Close()
	file := testenv.Write(t, filepath.Join(t.TempDir(), "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate().Raw}))
	script := testenv.Write(t, filepath.Join(t.TempDir(), "flow.js"), smallScript)
	for _, args := range [][]string{{"run", "-n", "1", own.URL + "/"}, {"run", "-n", "1", "--http", "2", own.URL + "/"}, {"run", "-n", "1", "--script", script, own.URL}} {
		for set, want := range map[string]bool{"SSL_CERT_FILE=" + file: true, "SSL_CERT_FILE=/nowhere": false} {
			run := exec.CommandContext(t.Context(), "contend", args...) // a process of its own reads its authorities once
			run.Env = append(os.Environ(), set)
			text, _ := run.CombinedOutput()
			if right := slices.Contains(figures, run.ProcessState.ExitCode()) && strings.Contains(string(text), "no errors"); right != want {
				t.Errorf("%s %q: %s", set, args, text)
			}
		}
	}
}
