package grpc

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// greeted waits for the client's preface and goes on.
func greeted(next func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
		next(conn)
	}
}

// closes ends the connection and reads on: a close with unread data would be
// a reset.
func closes(conn net.Conn) {
	conn.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, conn)
}

func reset(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) }

func garbage(conn net.Conn) {
	io.WriteString(conn, "no frame of any kind, and long")
	io.Copy(io.Discard, conn)
}

func silence(conn net.Conn) { io.Copy(io.Discard, conn) }

// Who asks the server for the method is told why there is no connection; who
// has the .proto file counts it.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	authority, certificate := certificate(t)
	secured, _ := newCounterServer(t).start(t, "127.0.0.1:0", noReflection, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	plain, _ := newCounterServer(t).start(t, "127.0.0.1:0", noReflection)
	secure := wire.TLS{CA: authority}
	for _, test := range []struct {
		name    string
		address string
		tls     wire.TLS
		want    errkind.Kind
	}{
		{"refused", testenv.HeldAddress(t), wire.TLS{}, errkind.Refused},
		{"refused, TLS", testenv.HeldAddress(t), secure, errkind.Refused},
		{"unknown name", "no-such-host.invalid:1", wire.TLS{}, errkind.DNS},
		{"closes", wiretest.Listen(t, closes), wire.TLS{}, errkind.Closed},
		{"closes after the preface", wiretest.Listen(t, greeted(closes)), wire.TLS{}, errkind.Closed},
		{"resets", wiretest.Listen(t, greeted(reset)), wire.TLS{}, errkind.Reset},
		{"garbage", wiretest.Listen(t, greeted(garbage)), wire.TLS{}, errkind.Protocol},
		{"garbage, TLS", wiretest.Listen(t, greeted(garbage)), secure, errkind.TLS},
		{"HTTP/1.1", httpServer(t, false), wire.TLS{}, errkind.Protocol},
		{"silence", wiretest.Listen(t, silence), wire.TLS{}, errkind.Timeout},
		{"silence, TLS", wiretest.Listen(t, silence), secure, errkind.Timeout},
		{"TLS to a plain port", plain, secure, errkind.TLS},
		{"plain to a TLS port", secured, wire.TLS{}, errkind.Closed},
	} {
		for _, mode := range modes() {
			t.Run(test.name+"/"+wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
				t.Parallel()
				cfg := config(test.address, mode)
				if cfg.TLS = test.tls; test.tls.Refuse("is set") != nil {
					cfg.URL = "grpcs://" + test.address + methodPath
				}
				patience := untilTimeout(test.want)
				if test.want != errkind.Timeout || mode == wire.PerIteration { // others wait connectWait
					vu := newVU(t, open(t, cfg), 0)
					vu.(load.TimeoutSetter).SetTimeout(patience)
					_, err := vu.Do(t.Context())
					checkUnreachable(t, err, test.want)
				}
				cfg.ProtoFiles = nil
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := New(ctx, cfg)
				checkUnreachable(t, err, test.want)
				if !strings.Contains(err.Error(), test.address) || !strings.Contains(err.Error(), ".proto") {
					t.Errorf("%v: no address or no advice", err)
				}
			})
		}
	}
}

// untilTimeout is the timeout where an error is to be of a kind: short only where it
// is to be a timeout.
func untilTimeout(want errkind.Kind) time.Duration {
	if want == errkind.Timeout {
		return 100 * time.Millisecond
	}
	return testenv.Patience
}

// checkUnreachable is checkKind; a server that closes with something unread in
// its buffer resets, or not, as the kernel has it.
func checkUnreachable(t *testing.T, err error, want errkind.Kind) {
	t.Helper()
	if want == errkind.Closed && errkind.Of(err) == errkind.Reset {
		want = errkind.Reset
	}
	checkKind(t, err, want)
}

// A silent server costs New at most 2 s with reflection, and the run's VUs
// together no multiple of that without.
func TestSilentAtStart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		protos []string
		want   errkind.Kind
	}{
		{nil, errkind.Timeout},
		{[]string{"testdata/counter.proto"}, ""},
	} {
		t.Run(strings.Join(test.protos, ""), func(t *testing.T) {
			t.Parallel()
			cfg := config(wiretest.Listen(t, silence), wire.PerVU)
			cfg.ProtoFiles = test.protos
			start := time.Now()
			target, err := New(t.Context(), cfg)
			if test.want != "" {
				checkKind(t, err, test.want)
			} else {
				defer target.Close()
				plan := load.Plan{VUs: 1280, Duration: 50 * time.Millisecond, Grace: load.DefaultGrace, Timeout: 20 * time.Millisecond}
				result, err := load.Run(t.Context(), "silent", byCalls{target}, plan)
				if err != nil || result.Errored[errkind.Timeout] == 0 {
					t.Errorf("got %+v, %v; want timeouts", result, err)
				}
			}
			// 64 VUs are made at a time, and only the first wait: 2 s, not 20 times that.
			if took := time.Since(start); took > 10*max(reflectionTimeout, connectWait) {
				t.Errorf("took %v", took)
			}
		})
	}
}

// httpServer serves 503 over HTTP/1.1 or, if cleartext HTTP/2 is asked for,
// over both.
func httpServer(t *testing.T, h2c bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(h2c)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// An HTTP/2 server that is not a gRPC server gives no status: no valid answer.
func TestNotGRPC(t *testing.T) {
	address := httpServer(t, true)
	_, err := newVU(t, open(t, config(address, wire.Shared)), 0).Do(t.Context())
	checkKind(t, err, errkind.Protocol)
}

// frames is a server that shakes hands and then does with each request what
// answer says.
func frames(t *testing.T, answer func(framer *http2.Framer, conn net.Conn, stream uint32)) string {
	t.Helper()
	return wiretest.Listen(t, wiretest.Streams(answer))
}

// What happens to a call in flight is told apart by kind.
func TestFaultsInCall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer func(framer *http2.Framer, conn net.Conn, stream uint32)
		want   errkind.Kind
	}{
		{"connection closed", func(_ *http2.Framer, conn net.Conn, _ uint32) { conn.(*net.TCPConn).CloseWrite() }, errkind.Closed},
		{"connection reset", func(_ *http2.Framer, conn net.Conn, _ uint32) { reset(conn); conn.Close() }, errkind.Reset},
		{"garbage", func(_ *http2.Framer, conn net.Conn, _ uint32) { io.WriteString(conn, "no frame of any kind, and long") }, errkind.Protocol},
		{"stream reset", func(f *http2.Framer, _ net.Conn, stream uint32) { f.WriteRSTStream(stream, http2.ErrCodeInternal) }, errkind.Reset},
		{"goaway, then closed", func(f *http2.Framer, conn net.Conn, stream uint32) {
			f.WriteGoAway(stream, http2.ErrCodeNo, nil)
			conn.(*net.TCPConn).CloseWrite()
		}, errkind.Closed},
		{"data without status", func(f *http2.Framer, _ net.Conn, stream uint32) { f.WriteData(stream, true, nil) }, errkind.Protocol},
		{"silence", func(*http2.Framer, net.Conn, uint32) {}, errkind.Timeout},
	} {
		for _, mode := range modes() {
			t.Run(test.name+"/"+wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
				t.Parallel()
				vu := newVU(t, open(t, config(frames(t, test.answer), mode)), 0)
				vu.(load.TimeoutSetter).SetTimeout(untilTimeout(test.want))
				for range 3 { // the VU stays ready for the next iteration
					_, err := vu.Do(t.Context())
					checkKind(t, err, test.want)
				}
			})
		}
	}
}

// A server that dies is refused while it is away, each refusal after an attempt
// to connect, and found again when it is back.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, mode := range modes() {
		t.Run(wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
			t.Parallel()
			server := newCounterServer(t)
			address, running := server.start(t, testenv.HeldAddress(t), noReflection)
			vu := newVU(t, open(t, config(address, mode)), 0)
			vu.(load.TimeoutSetter).SetTimeout(testenv.Patience)
			if outcome, err := vu.Do(t.Context()); err != nil || outcome.Failed {
				t.Fatalf("before: %+v, %v", outcome, err)
			}
			running.Stop()
			var refused int
			start := time.Now()
			for refused == 0 || time.Since(start) < 3*reconnectPause {
				_, err := vu.Do(t.Context())
				switch errkind.Of(err) {
				case errkind.Refused:
					refused++
				case errkind.Closed, errkind.Reset: // the first, if the loss was not noticed before
				default:
					t.Errorf("while away: %v", err)
				}
			}
			// One attempt at once and one per pause, and 2 to spare.
			if took := time.Since(start); mode != wire.PerIteration && refused > 3+int(took/reconnectPause) {
				t.Errorf("%d refusals in %v", refused, took)
			}
			server.start(t, address, noReflection)
			deadline := time.Now().Add(testenv.Patience)
			for {
				outcome, err := vu.Do(t.Context())
				if err == nil && !outcome.Failed {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("not recovered: %v", err)
				}
			}
		})
	}
}

// With its timeout set, an iteration that finds the server away does not last
// longer; and its end is prompt when the run is cancelled.
func TestAwayAndPatient(t *testing.T) {
	address, running := newCounterServer(t).start(t, testenv.HeldAddress(t), noReflection)
	vu := newVU(t, open(t, config(address, wire.Shared)), 0)
	running.Stop()
	for range 2 {
		vu.Do(t.Context()) // closed or refused; the channel is down from now on
	}
	vu.(load.TimeoutSetter).SetTimeout(time.Millisecond)
	_, err := vu.Do(t.Context())
	if kind := errkind.Of(err); kind != errkind.Timeout && kind != errkind.Refused {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = vu.Do(ctx)
	checkKind(t, err, errkind.Cancelled)
}
