package http

import (
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

var anyTLS = wire.TLS{Insecure: true}

// A mangler changes what TLS writes, once it is switched on.
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
		secure := tls.Server(m, wiretest.TLS())
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
	late := []errkind.Kind{errkind.Timeout}
	for _, test := range []struct {
		name   string
		mangle func(conn net.Conn, record []byte)
		want   []errkind.Kind
	}{
		{"one byte is wrong", func(c net.Conn, r []byte) {
			wiretest.Say(0, string(r[:len(r)-1])+string([]byte{r[len(r)-1] ^ 1}))(c)
		}, []errkind.Kind{errkind.TLS}},
		{"garbage between records", func(c net.Conn, _ []byte) { wiretest.Say(0, strings.Repeat("garbage", 1000))(c) }, []errkind.Kind{errkind.TLS}},
		{"ends in a record", func(c net.Conn, r []byte) { wiretest.Then(string(r[:len(r)/2]), wiretest.HalfClose)(c) }, []errkind.Kind{errkind.Closed}},
		{"ends in a record's header", func(c net.Conn, r []byte) { wiretest.Then(string(r[:3]), wiretest.HalfClose)(c) }, []errkind.Kind{errkind.Closed}},
		{"resets in a record", func(c net.Conn, r []byte) { wiretest.Then(string(r[:len(r)/2]), wiretest.Reset)(c) }, []errkind.Kind{errkind.Reset}},
		{"stops in a record", func(c net.Conn, r []byte) { wiretest.Then(string(r[:len(r)/2]), wiretest.Hang)(c) }, late},
		{"a byte at a time, too slowly", func(c net.Conn, r []byte) {
			wiretest.Say(wiretest.Short/5, strings.Split(string(r), "")...)(c)
		}, late},
	} {
		for _, way := range hostile().Ways {
			t.Run(test.name+"/"+way.Name, func(t *testing.T) {
				t.Parallel()
				address := wiretest.Listen(t, mangled(func(c net.Conn, record []byte) error {
					test.mangle(c, record)
					return io.ErrClosedPipe
				}))
				wiretest.Errs(t, way.Open(t, wiretest.Server{Address: address, Secure: true}), test.want...)
			})
		}
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

// A server that closes after each answer has the handshakes counted as the
// connecting that they are.
func TestHandshakesWithinARun(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Connection", "close")
	}))
	server.TLS = wiretest.TLS()
	server.StartTLS()
	defer server.Close()
	overBothEngines(t, func(t *testing.T, run runner) {
		r := run(t, Config{URL: server.URL, TLS: anyTLS}, load.Plan{VUs: 4, Iterations: 40, Timeout: testenv.Patience})
		// Four were made before, if that did not take too long.
		if n := r.Connect.Count(); r.Completed != 40 || n < 36 || n > 40 {
			t.Errorf("completed %d, connected %d times, errors %v %v", r.Completed, r.Connect.Count(), r.Errored, r.Examples)
		}
	})
}

func TestHTTP2WantsItsProtocolChosen(t *testing.T) {
	t.Parallel()
	for name, protocols := range map[string][]string{"another one": {"http/1.1"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			address := wiretest.Listen(t, func(conn net.Conn) {
				wiretest.Hang(tls.Server(conn, wiretest.TLS(protocols...)))
			})
			r := runLoop(t, Config{URL: "https://" + address, TLS: anyTLS, HTTP2: true}, load.Plan{VUs: 2, Iterations: 6, Timeout: testenv.Patience})
			if r.Errored[errkind.Protocol] != 6 {
				t.Errorf("errors %v %v", r.Errored, r.Examples)
			}
		})
	}
}

// A server of TLS answers in plain words who speaks none.
func TestPlainToATLSPort(t *testing.T) {
	t.Parallel()
	secure := serveTLS(t, nil)
	overBothEngines(t, func(t *testing.T, run runner) {
		c := Config{URL: "http://" + secure.Listener.Addr().String()}
		r := run(t, c, load.Plan{VUs: 2, Iterations: 6, Timeout: testenv.Patience})
		if r.Failed != 6 || r.Statuses[400] != 6 {
			t.Errorf("failed %d, errored %v, statuses %v; want 6 of status 400", r.Failed, r.Errored, r.Statuses)
		}
	})
}
