package loop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
	"contend/protocol/wire/wiretest"
)

// certificates are the server's and who trusts it.
func certificates() (server, client *tls.Config) {
	own := wiretest.Certificate()
	roots := x509.NewCertPool()
	roots.AddCert(own.Leaf)
	return &tls.Config{Certificates: []tls.Certificate{own}}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

// serveTLS is serve with TLS.
func serveTLS(t *testing.T, network string, handle func(n int, conn net.Conn)) (*server, Config) {
	t.Helper()
	own, peer := certificates()
	s := serve(t, network, func(n int, conn net.Conn) { handle(n, tls.Server(conn, own)) })
	c := s.config(plain)
	c.TLS = peer
	return s, c
}

func TestTLS(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		for _, size := range []int{0, 100_000} {
			s, c := serveTLS(t, network, echo(size))
			late := 0 // iterations that waited for a handshake: a new one, or one begun before the clock that took over a second
			for _, connections := range []int{0, 2} {
				c.Connections = connections
				for _, plan := range []load.Plan{
					{VUs: 5, Iterations: 200, Timeout: testenv.Patience},
					{VUs: 5, Iterations: 200, Pacer: pace.Constant(2000)},
				} {
					r := run(t, c, plan)
					clean(t, r, 200)
					if r.Connect != nil {
						late += int(r.Connect.Count())
					}
				}
			}
			if least := 5 + 5 + 2 + 2; s.count() < least || s.count() > least+late {
				t.Errorf("%d connections, want %d and at most %d more", s.count(), least, late)
			}
		}
	}
}

func TestTLSCloseEach(t *testing.T) {
	t.Parallel()
	s, c := serveTLS(t, "tcp", echo(10))
	c.CloseEach = true
	r := run(t, c, load.Plan{VUs: 5, Iterations: 100, Timeout: testenv.Patience})
	clean(t, r, 100)
	if s.count() != 100 || r.Connect.Count() != 100 {
		t.Errorf("%d connections, %d of them measured, want 100", s.count(), r.Connect.Count())
	}
}

// A conversation can refuse what the handshake came to.
func TestTLSRefusedByTheConversation(t *testing.T) {
	_, c := serveTLS(t, "tcp", echo(10))
	c.New = func([]int) Conversation { return choosy{&lines{}} }
	r := run(t, c, load.Plan{VUs: 2, Iterations: 10, Timeout: testenv.Patience})
	if r.Errored[errkind.Other] != 10 || r.Examples[errkind.Other] != errOwn.Error() {
		t.Errorf("errors %v %v", r.Errored, r.Examples)
	}
}

type choosy struct{ *lines }

func (choosy) Secured(tls.ConnectionState) error { return errOwn }

// A request that does not fit into the socket, and one that the handshake
// keeps waiting.
func TestTLSLongRequests(t *testing.T) {
	long := string(make([]byte, 300_000))
	_, c := serveTLS(t, "tcp", func(_ int, conn net.Conn) {
		for request := make([]byte, len(long)); ; {
			if _, err := io.ReadFull(conn, request); err != nil {
				return
			}
			if _, err := conn.Write([]byte("0 0\n")); err != nil {
				return
			}
		}
	})
	c.New = func([]int) Conversation { return verbose{&lines{}, long} }
	c.SendBuffer = 10_000
	clean(t, run(t, c, load.Plan{VUs: 2, Iterations: 4, Timeout: testenv.Patience}), 4)
}

// A run that ends during handshakes leaves no handshake behind, and the next
// run makes its own.
func TestTLSDriveAfterCancel(t *testing.T) {
	t.Parallel()
	shake := make(chan struct{})
	_, c := serveTLS(t, "tcp", func(n int, conn net.Conn) {
		if n < 8 { // four before the clock, where the first fails, and four in the run
			<-shake
		}
		echo(3)(n, conn)
	})
	session, err := load.Open(t.Context(), "lines", &target{config: c}, 4)
	testenv.Must(t, err)
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := session.Run(ctx, load.Plan{VUs: 4, Iterations: 100, Progress: cancelWith(cancel, 4)})
	if err != nil || r.Unfinished != 4 || r.Stopped != load.Interrupted {
		t.Fatalf("%d unfinished, stopped by %v, %v", r.Unfinished, r.Stopped, err)
	}
	close(shake)
	if r, err = session.Run(t.Context(), load.Plan{VUs: 4, Iterations: 100, Timeout: testenv.Patience}); err != nil {
		t.Fatal(err)
	}
	clean(t, r, 100)
	if r.Connect.Count() != 4 {
		t.Errorf("connected %d times, want 4", r.Connect.Count())
	}
}

func TestHandshakeErrorKinds(t *testing.T) {
	remote := func(alert error) error { return &net.OpError{Op: "remote error", Err: alert} }
	for _, tt := range []struct {
		err  error
		want errkind.Kind
	}{
		{remote(errkind.NoProtocol), errkind.Protocol},
		{remote(tls.AlertError(40)), errkind.TLS},
		{errors.New("anything"), errkind.TLS},
		{context.DeadlineExceeded, errkind.Timeout},
		{net.ErrClosed, errkind.Closed},
	} {
		if got := errkind.Of(HandshakeError(tt.err)); got != tt.want {
			t.Errorf("%v is of kind %v, want %v", tt.err, got, tt.want)
		}
	}
}
