package http

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

var anyTLS = wire.TLS{Insecure: true}

// secured serves TLS with serve, which closes the connection when it returns.
func secured(serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}})
		if secure.Handshake() == nil {
			serve(secure)
			_ = secure.CloseWrite()
		}
	}
}

// Whatever a server sends, TLS does not change what it comes to.
func TestHostileServersOverTLS(t *testing.T) {
	t.Parallel()
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHostileRuns(t, Config{URL: "https://" + wiretest.Listen(t, secured(test.serve)), TLS: anyTLS}, test.want...)
		})
	}
}

// A mangler does with what TLS writes, once it is told to, what it likes.
type mangler struct {
	net.Conn
	mangle func(conn net.Conn, record []byte) error
	on     bool
}

func (m *mangler) Write(p []byte) (int, error) {
	if !m.on {
		return m.Conn.Write(p)
	}
	return len(p), m.mangle(m.Conn, p)
}

// mangled answers requests and mangles the answers.
func mangled(mangle func(conn net.Conn, record []byte) error) func(net.Conn) {
	return func(conn net.Conn) {
		m := &mangler{Conn: conn, mangle: mangle}
		secure := tls.Server(m, &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}})
		request := make([]byte, 4096)
		for err := error(nil); err == nil; {
			if _, err = secure.Read(request); err != nil {
				return
			}
			m.on = true
			_, err = io.WriteString(secure, ok200+"Content-Length: 100\r\n\r\n"+strings.Repeat("x", 100))
		}
	}
}

func TestBrokenRecords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		mangle func(conn net.Conn, record []byte) error
		want   []errkind.Kind
	}{
		{"one byte is wrong", func(c net.Conn, r []byte) error {
			r = bytes.Clone(r)
			r[len(r)-1] ^= 1
			_, err := c.Write(r)
			hang(c)
			return err
		}, []errkind.Kind{errkind.TLS}},
		{"garbage between records", func(c net.Conn, _ []byte) error {
			_, err := c.Write(bytes.Repeat([]byte("garbage"), 1000))
			hang(c)
			return err
		}, []errkind.Kind{errkind.TLS}},
		{"closes in a record", func(c net.Conn, r []byte) error {
			_, _ = c.Write(r[:len(r)/2])
			return io.ErrClosedPipe
		}, []errkind.Kind{errkind.Closed}},
		{"closes in a record's header", func(c net.Conn, r []byte) error {
			_, _ = c.Write(r[:3])
			return io.ErrClosedPipe
		}, []errkind.Kind{errkind.Closed}},
		{"resets in a record", func(c net.Conn, r []byte) error {
			_, _ = c.Write(r[:len(r)/2])
			time.Sleep(10 * time.Millisecond)
			reset(c)
			return io.ErrClosedPipe
		}, []errkind.Kind{errkind.Reset}},
		{"stops in a record", func(c net.Conn, r []byte) error {
			_, _ = c.Write(r[:len(r)/2])
			hang(c)
			return io.ErrClosedPipe
		}, []errkind.Kind{errkind.Timeout}},
		{"a byte at a time, too slowly", func(c net.Conn, r []byte) error {
			return dribble(c, r, 10*time.Millisecond)
		}, []errkind.Kind{errkind.Timeout}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHostileRuns(t, Config{URL: "https://" + wiretest.Listen(t, mangled(test.mangle)), TLS: anyTLS}, test.want...)
		})
	}
}

func dribble(c net.Conn, p []byte, pause time.Duration) error {
	for i := range p {
		if _, err := c.Write(p[i : i+1]); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return nil
}

// Records come cut at each byte.
func TestRecordsInPieces(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		overBothEngines(t, func(t *testing.T, run runner) {
			url := "https://" + wiretest.Listen(t, mangled(func(c net.Conn, r []byte) error { return dribble(c, r, 50*time.Microsecond) }))
			c := Config{URL: url, TLS: wire.TLS{Insecure: true, MaxVersion: version}}
			r := run(t, c, load.Plan{VUs: 3, Iterations: 3, Timeout: testenv.Patience})
			if r.Completed != 3 || r.BodyIn != 300 {
				t.Errorf("completed %d, %d bytes, errors %v %v", r.Completed, r.BodyIn, r.Errored, r.Examples)
			}
		})
	}
}

// The end of the run and timeouts cut handshakes off.
func TestHandshakesWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"silent": hang,
		"dribbles": func(c net.Conn) {
			_ = dribble(c, []byte(strings.Repeat("\x16\x03\x03\x40\x00", 100)), 20*time.Millisecond)
		},
	} {
		for _, timeout := range []time.Duration{0, 50 * time.Millisecond} {
			t.Run(name+timeout.String(), func(t *testing.T) {
				t.Parallel()
				overBothEngines(t, func(t *testing.T, run runner) {
					start := time.Now()
					plan := load.Plan{VUs: 4, Timeout: timeout, Iterations: 8, Grace: testenv.Patience}
					if timeout == 0 { // only the end of the run ends them
						plan.Duration, plan.Grace, plan.Iterations = 200*time.Millisecond, 50*time.Millisecond, 0
					}
					r := run(t, Config{URL: "https://" + wiretest.Listen(t, serve), TLS: anyTLS}, plan)
					took := time.Since(start)
					if r.Completed > 0 || r.Planned < 4 || r.Unfinished+r.Errored[errkind.Timeout] != r.Planned || r.Errored[errkind.Timeout] != plan.Iterations {
						t.Errorf("completed %d, planned %d, unfinished %d, errors %v", r.Completed, r.Planned, r.Unfinished, r.Errored)
					}
					if took > testenv.Patience {
						t.Errorf("took %v", took)
					}
				})
			})
		}
	}
}

// A server that closes after each answer has the handshakes counted as the
// connecting that they are.
func TestHandshakesWithinARun(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Connection", "close")
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}}
	server.StartTLS()
	defer server.Close()
	overBothEngines(t, func(t *testing.T, run runner) {
		r := run(t, Config{URL: server.URL, TLS: anyTLS}, load.Plan{VUs: 4, Iterations: 40, Timeout: 20 * time.Second})
		// Four were made before, if that did not take too long.
		if n := r.Connect.Count(); r.Completed != 40 || n < 36 || n > 40 {
			t.Errorf("completed %d, connected %d times, errors %v %v", r.Completed, r.Connect.Count(), r.Errored, r.Examples)
		}
	})
}

func TestHTTP2WantsItsProtocolChosen(t *testing.T) {
	t.Parallel()
	if ok, why := loop.Supported(); !ok {
		t.Skip(why)
	}
	for name, protocols := range map[string][]string{"another one": {"http/1.1"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			address := wiretest.Listen(t, func(conn net.Conn) {
				hang(tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}, NextProtos: protocols}))
			})
			r := runLoop(t, Config{URL: "https://" + address, TLS: anyTLS, HTTP2: true}, load.Plan{VUs: 2, Iterations: 6, Timeout: 10 * time.Second})
			if r.Errored[errkind.Protocol] != 6 {
				t.Errorf("errors %v %v", r.Errored, r.Examples)
			}
		})
	}
}

func TestTLSErrors(t *testing.T) {
	t.Parallel()
	start := func(handler nethttp.HandlerFunc, start func(*httptest.Server)) *httptest.Server {
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		start(s)
		t.Cleanup(s.Close)
		return s
	}
	secure := start(echoMethod, (*httptest.Server).StartTLS)
	plain := start(echoMethod, (*httptest.Server).Start)
	_, plainPort, _ := net.SplitHostPort(plain.Listener.Addr().String())
	t.Run("TLS to a plain port", func(t *testing.T) {
		checkHostileRuns(t, Config{URL: "https://127.0.0.1:" + plainPort, TLS: anyTLS}, errkind.TLS)
	})
	t.Run("unknown authority", func(t *testing.T) { checkHostileRuns(t, Config{URL: secure.URL}, errkind.TLS) })
	t.Run("wrong name", func(t *testing.T) {
		checkHostileRuns(t, Config{URL: secure.URL, TLS: wire.TLS{CA: pemOf(secure), ServerName: "other.invalid"}}, errkind.TLS)
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		checkHostileRuns(t, Config{URL: "https://" + wiretest.Listen(t, hang), TLS: anyTLS}, errkind.Timeout)
	})
	t.Run("closes", func(t *testing.T) {
		checkHostileRuns(t, Config{URL: "https://" + wiretest.Listen(t, afterRequest(func(net.Conn) {})), TLS: anyTLS}, errkind.Closed)
	})
	t.Run("garbage", func(t *testing.T) {
		checkHostileRuns(t, Config{URL: "https://" + wiretest.Listen(t, say(0, "garbage\r\n\r\n")), TLS: anyTLS}, errkind.TLS)
	})
	t.Run("plain to a TLS port", func(t *testing.T) {
		overBothEngines(t, func(t *testing.T, run runner) {
			c := Config{URL: "http://" + secure.Listener.Addr().String()}
			r := run(t, c, load.Plan{VUs: 2, Iterations: 6, Timeout: 10 * time.Second})
			if r.Failed != 6 || r.Statuses[400] != 6 {
				t.Errorf("failed %d, errored %v, statuses %v; want 6 of status 400", r.Failed, r.Errored, r.Statuses)
			}
		})
	})
}
