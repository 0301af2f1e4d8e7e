package roundtrip

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

const hostileTimeout = 100 * time.Millisecond

// checkHostile does some iterations and wants an error of one of the kinds
// from each, in time.
func checkHostile(t *testing.T, c Config, kinds ...errkind.Kind) {
	t.Helper()
	wiretest.Hostile(t, newTestVU(t, c), hostileTimeout, kinds...)
}

// Handlers that behave badly over each way to speak.
var badHandlers = []struct {
	name   string
	handle http.HandlerFunc
	want   []errkind.Kind
}{
	{"never answers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []errkind.Kind{errkind.Timeout}},
	{"resets without an answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, []errkind.Kind{errkind.Reset}},
	{"resets in the body", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "abc")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(10 * time.Millisecond)
		panic(http.ErrAbortHandler)
	}, []errkind.Kind{errkind.Reset}},
	{"endless body", func(w http.ResponseWriter, _ *http.Request) {
		for more := bytes.Repeat([]byte("x"), 5000); ; {
			if _, err := w.Write(more); err != nil {
				return
			}
		}
	}, []errkind.Kind{errkind.Timeout}},
	{"dribbles its body", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}, []errkind.Kind{errkind.Timeout}},
	{"long header", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Add("X", strings.Repeat("y", 1000)+string(rune('a'+i%26)))
		}
	}, []errkind.Kind{errkind.Protocol}},
}

func TestBadHandlersAreErrorsOfTheirKindInTime(t *testing.T) {
	t.Parallel()
	for _, test := range badHandlers {
		onEvery(t, func(t *testing.T, w way, connections wire.Connections) {
			if connections.N > 0 || connections.Sharing == wire.PerIteration {
				return // like the others
			}
			t.Parallel()
			c := w.config(t, test.handle)
			c.Sharing = connections
			t.Run(test.name, func(t *testing.T) { checkHostile(t, c, test.want...) })
		})
	}
}

func TestNobodyIsAnErrorOfItsKind(t *testing.T) {
	t.Parallel()
	address := testenv.HeldAddress(t)
	for _, w := range ways {
		scheme := "https://"
		if w.name == "h2c" {
			scheme = "http://"
		}
		t.Run(w.name, func(t *testing.T) {
			checkHostile(t, Config{URL: scheme + address, Version: w.version, TLS: w.trust()}, errkind.Refused)
			checkHostile(t, Config{URL: scheme + "name.invalid", Version: w.version, TLS: w.trust()}, errkind.DNS, errkind.Timeout)
		})
	}
}

// say sends parts when the client's request has come, with pauses between them.
func say(pause time.Duration, parts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			return
		}
		for _, part := range parts {
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
			time.Sleep(pause)
		}
		hang(conn)
	}
}

// frames answers the first request by what is written.
func frames(write func(f *http2.Framer, headers func(fields ...string) []byte)) func(net.Conn) {
	return wiretest.Streams(func(f *http2.Framer, conn net.Conn, _ uint32) {
		write(f, func(fields ...string) []byte {
			var block bytes.Buffer
			e := hpack.NewEncoder(&block)
			for i := 0; i < len(fields); i += 2 {
				_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
			}
			return block.Bytes()
		})
		hang(conn)
	})
}

func TestHostileServersOfHTTP2(t *testing.T) {
	t.Parallel()
	endless := func(conn net.Conn) {
		_, err := io.WriteString(conn, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		for err == nil {
			_, err = io.WriteString(conn, strings.Repeat("\x00\x00\x08\x06\x01\x00\x00\x00\x0012345678", 100))
		}
	}
	for _, test := range []struct {
		name  string
		serve func(net.Conn)
		want  []errkind.Kind
	}{
		{"closes at once", func(net.Conn) {}, []errkind.Kind{errkind.Closed, errkind.Reset}},
		{"closes without an answer", func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }, []errkind.Kind{errkind.Closed, errkind.Reset}},
		{"resets", func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_ = c.(*net.TCPConn).SetLinger(0)
		}, []errkind.Kind{errkind.Reset, errkind.Closed}},
		{"never answers", hang, []errkind.Kind{errkind.Timeout}},
		{"garbage", say(0, strings.Repeat("\xaa", 5000)), []errkind.Kind{errkind.Protocol, errkind.Closed}},
		{"promises a frame", say(0, "\x00\x01\x02 garbage"), []errkind.Kind{errkind.Timeout}},
		{"speaks HTTP/1.1", say(0, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), []errkind.Kind{errkind.Protocol, errkind.Closed}},
		{"endless pings", endless, []errkind.Kind{errkind.Timeout, errkind.Protocol, errkind.Closed}},
		{"dribbles", say(20*time.Millisecond, strings.Split("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88", "")...), []errkind.Kind{errkind.Timeout}},
		{"goes away", frames(func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) }), []errkind.Kind{errkind.Closed}},
		{"goes away in anger", frames(func(f *http2.Framer, _ func(...string) []byte) {
			_ = f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, nil)
		}), []errkind.Kind{errkind.Closed, errkind.Timeout}},
		{"resets the stream", frames(func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream) }), []errkind.Kind{errkind.Reset}},
		{"no status", frames(func(f *http2.Framer, h func(...string) []byte) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h("x", "y"), EndHeaders: true, EndStream: true})
		}), []errkind.Kind{errkind.Protocol}},
		{"data before its header", frames(func(f *http2.Framer, _ func(...string) []byte) { _ = f.WriteData(1, true, []byte("x")) }), []errkind.Kind{errkind.Protocol}},
		{"less than announced", frames(func(f *http2.Framer, h func(...string) []byte) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h(":status", "200", "content-length", "5"), EndHeaders: true})
			_ = f.WriteData(1, true, []byte("abc"))
		}), []errkind.Kind{errkind.Closed, errkind.Protocol}},
		{"more than announced", frames(func(f *http2.Framer, h func(...string) []byte) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h(":status", "200", "content-length", "2"), EndHeaders: true})
			_ = f.WriteData(1, true, []byte("abc"))
		}), []errkind.Kind{errkind.Protocol}},
		{"endless interim answers", frames(func(f *http2.Framer, h func(...string) []byte) {
			for f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h(":status", "103"), EndHeaders: true}) == nil {
			}
		}), []errkind.Kind{errkind.Protocol, errkind.Timeout}},
		{"endless continuations", frames(func(f *http2.Framer, h func(...string) []byte) {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h(":status", "200")})
			for err == nil {
				err = f.WriteContinuation(1, false, h("x", strings.Repeat("y", 10000)))
			}
		}), []errkind.Kind{errkind.Protocol, errkind.Closed}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkHostile(t, Config{URL: "http://" + wiretest.Listen(t, test.serve), Version: "2"}, test.want...)
		})
	}
}

func TestHostileServersOfQUIC(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]byte{"silent": nil, "garbage": bytes.Repeat([]byte("\xaa"), 1200), "short": {0x40}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for buf := make([]byte, 2048); ; {
					_, from, err := conn.ReadFrom(buf)
					if err != nil {
						return
					}
					if answer != nil {
						_, _ = conn.WriteTo(answer, from)
					}
				}
			}()
			checkHostile(t, Config{URL: "https://" + conn.LocalAddr().String(), Version: "3", TLS: wire.TLS{Insecure: true}}, errkind.Timeout)
			conn.Close()
			<-done
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	ca := pemOf()
	for _, w := range ways[1:] {
		c := w.config(t, ok)
		for name, trust := range map[string]wire.TLS{"authority": {CA: ca}, "other name": {CA: ca, ServerName: "example.com"}} {
			c.TLS = trust
			if out, err := newTestVU(t, c).Do(context.Background()); err != nil || out.Failed {
				t.Errorf("%s, %s: got %+v, %v", w.name, name, out, err)
			}
		}
		c.TLS = wire.TLS{}
		checkHostile(t, c, errkind.TLS)
		c.TLS = wire.TLS{CA: ca, ServerName: "other.invalid"}
		checkHostile(t, c, errkind.TLS)
	}
	anyTLS := wire.TLS{Insecure: true}
	t.Run("TLS to a plain port", func(t *testing.T) {
		s := newServer(http.HandlerFunc(ok))
		s.Start()
		defer s.Close()
		checkHostile(t, Config{URL: strings.Replace(s.URL, "http", "https", 1), Version: "2", TLS: anyTLS}, errkind.TLS)
	})
	t.Run("plain to a TLS port", func(t *testing.T) {
		c := ways[1].config(t, ok)
		checkHostile(t, Config{URL: strings.Replace(c.URL, "https", "http", 1), Version: "2"}, errkind.Protocol, errkind.Closed, errkind.Reset)
	})
	t.Run("silent", func(t *testing.T) {
		checkHostile(t, Config{URL: "https://" + wiretest.Listen(t, hang), Version: "2", TLS: anyTLS}, errkind.Timeout)
	})
	t.Run("HTTP/1.1 only", func(t *testing.T) {
		s := newServer(http.HandlerFunc(ok))
		s.StartTLS()
		defer s.Close()
		checkHostile(t, Config{URL: s.URL, Version: "2", TLS: anyTLS}, errkind.TLS, errkind.Protocol)
	})
}
