package fleet

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
)

// A coordinator that listens beyond its machine is known by the token, and by nothing else; peers with another token,
// or without TLS, are refused, and so is a server in between.
func TestTokenIsTheCertificate(t *testing.T) {
	t.Parallel()
	e, at, err := Serve("0.0.0.0:0", token, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if !strings.HasPrefix(at.URL, "tls://127.0.0.1:") {
		t.Fatalf("it listens at %s", at.URL)
	}
	server := serve(t)
	work(t, at, Host{Name: "a"})
	f, workers := gather(t, at, 1)
	session := open(t, f, workers, protocol.At(server.URL), 1)
	if r, err := session.Run(t.Context(), load.Plan{VUs: 1, Iterations: 3, Grace: testenv.Patience}); err != nil || r.Completed != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	other, plain := at, at
	other.Token = "another one, which is long, too"
	plain.URL = strings.Replace(at.URL, "tls:", "nats:", 1)
	for _, tt := range []struct {
		at   Address
		want string
	}{{other, "the server is not the fleet's"}, {plain, "the server wants TLS"}} {
		if err := (Host{Version: "v1"}).Work(ctx, tt.at); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("a worker: %v, want %q", err, tt.want)
		}
		if _, err := Gather(ctx, tt.at, "v1", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("a coordinator: %v, want %q", err, tt.want)
		}
	}
	between := engine(t) // it knows the token, too, and speaks in plain text
	between.URL = strings.Replace(between.URL, "nats:", "tls:", 1)
	if err := (Host{Version: "v1"}).Work(ctx, between); err == nil || !strings.Contains(err.Error(), "the server has no TLS") {
		t.Errorf("of a server without TLS: %v", err)
	}
	if _, _, err := Serve("0.0.0.0:0", "short", false); err == nil || !strings.Contains(err.Error(), "can be guessed") {
		t.Errorf("with a short token: %v", err)
	}
}

// A NATS server of somebody's has a certificate that a file vouches for, for the host that was asked for, and may know
// users by nkeys.
func TestServerOfSomebody(t *testing.T) {
	t.Parallel()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	seedFile := testenv.Write(t, filepath.Join(t.TempDir(), "user.nk"), seed)
	for host, want := range map[string]string{"127.0.0.1": "", "example.com": "the server is not the fleet's"} {
		own := testenv.NewCertificate(host)
		ca, _ := own.Write(t)
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, TLSTimeout: handshake.Seconds(), AuthTimeout: handshake.Seconds(),
			Nkeys: []*server.NkeyUser{{Nkey: public}}, TLSConfig: &tls.Config{Certificates: []tls.Certificate{own.Certificate}, MinVersion: tls.VersionTLS13}})
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		t.Cleanup(s.Shutdown)
		if !s.ReadyForConnections(testenv.Patience) {
			t.Fatal("the server does not start")
		}
		at := Address{URL: "tls://" + s.Addr().String(), Credentials: seedFile, CA: ca}
		conn, err := at.connect(t.Context(), "x", nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a certificate for %s: %v, want %q", host, err, want)
		}
		if conn != nil {
			conn.Close()
		}
		at.CA = ""
		if _, err := at.connect(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "the server is not the fleet's") {
			t.Errorf("nobody vouches: %v", err)
		}
		at.CA = seedFile
		if _, err := at.connect(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "has no certificate in PEM") {
			t.Errorf("a seed vouches: %v", err)
		}
	}
}

// Nothing of a fleet goes over a network in plain text unasked.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[Address]string{
		{URL: "nats://127.0.0.1:4222", Token: "t"}:                "",
		{URL: "nats://localhost:4222", Token: "t"}:                "",
		{URL: "nats://[::1]:4222", Token: "t"}:                    "",
		{URL: "tls://10.0.0.7:4222", Token: "t"}:                  "",
		{URL: "tls://user:password@10.0.0.7:4222"}:                "",
		{URL: "nats://10.0.0.7:4222", Token: "t", Insecure: true}: "",
		{URL: "nats://127.0.0.1:4222"}:                            "set the same CONTEND_FLEET_TOKEN",
		{URL: "nats://10.0.0.7:4222", Token: "t"}:                 "--insecure-fleet",
		{URL: "nats://localhost.example.com:4222", Token: "t"}:    "--insecure-fleet",
		{URL: "nats://u:secret@example.com:4222"}:                 "xxxxx",
		{URL: "http://u:secret@localhost:4222"}:                   "http://u:xxxxx@localhost",
		{URL: "tls://u:secret@:4222"}:                             "is no address of a fleet",
		{URL: "tls://u:secret@a:b"}:                               "is no address of a fleet",
		{URL: "tls://10.0.0.7:4222", Credentials: "a file"}:       "",
		{URL: "http://localhost:4222", Token: "t"}:                "expected nats://host:port, tls://host:port",
		{URL: "localhost:4222", Token: "t"}:                       "expected nats://host:port, tls://host:port",
		{URL: "nats://:4222", Token: "t"}:                         "expected nats://host:port, tls://host:port",
		{Token: "t"}:                                              "expected nats://host:port, tls://host:port",
		{URL: "nats://127.0.0.1:4222\x00", Token: "t"}:            "expected nats://host:port, tls://host:port",
	} {
		err := address.Validate()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v, want %q", address, err, want)
		}
	}
	if _, _, err := Serve("nowhere", "", false); err == nil {
		t.Error("listens at an address without a port")
	}
	if _, err := (Address{URL: "nats://" + testenv.HeldAddress(t), Token: "t"}).connect(t.Context(), "x", nil); err == nil || errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("connects to nobody: %v", err)
	}
}

// Without a fleet the error says why, and what to do; a worker goes on waiting.
func TestNoFleet(t *testing.T) {
	t.Parallel()
	says := func(text string) Address {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					_, _ = io.WriteString(conn, text)
					for lines := bufio.NewScanner(conn); text != "" && lines.Scan(); {
						if lines.Text() == "PING" {
							_, _ = io.WriteString(conn, "PONG\r\n")
						}
					}
				}()
			}
		}()
		return Address{URL: "nats://" + ln.Addr().String(), Token: token}
	}
	for name, tt := range map[string]struct {
		at   Address
		want string
	}{
		"nobody listens":      {Address{URL: "nats://" + testenv.HeldAddress(t), Token: token}, "nothing listens there, or it cannot be reached: start the coordinator"},
		"a firewall or typo":  {Address{URL: "nats://nowhere.invalid:4222", Token: token, Insecure: true}, "see how the name is spelt"},
		"it hangs up":         {says(""), "what listens there is no NATS server"},
		"it speaks otherwise": {says("220 mail.example.org ESMTP\r\n"), "what listens there is no NATS server"},
		"it is of 2019":       {says("INFO {\"server_id\":\"x\",\"version\":\"2.1.0\",\"proto\":1,\"max_payload\":1048576}\r\n"), "NATS server 2.1.0 is too old"},
	} {
		if _, err := tt.at.connect(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	var said string
	h := Host{Version: "v1", Say: func(line string) {
		said = line
		cancel()
	}}
	if err := h.Work(ctx, Address{URL: "nats://" + testenv.HeldAddress(t), Token: token}); !errors.Is(err, context.Canceled) || !strings.Contains(said, "it is tried again and again") {
		t.Errorf("a worker says %q, %v", said, err)
	}
}
