package grpc

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// An error of a look-up of the method, or of dialling, says why connecting failed.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	authority, certificate := wiretest.Authority(), wiretest.Certificate()
	secured, _ := newCounterServer(t).start(t, "127.0.0.1:0", noReflection, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	plain, _ := newCounterServer(t).start(t, "127.0.0.1:0", noReflection)
	secure := wire.TLS{CA: authority}
	garbage := wiretest.Listen(t, wiretest.AfterRead(wiretest.Say(0, "no frame of any kind, and long")))
	silence := wiretest.Listen(t, wiretest.Hang)
	for _, test := range []struct {
		name    string
		address string
		tls     wire.TLS
		want    errkind.Kind
	}{
		{"refused", testenv.HeldAddress(t), wire.TLS{}, errkind.Refused},
		{"refused, TLS", testenv.HeldAddress(t), secure, errkind.Refused},
		{"unknown name", "no-such-host.invalid:1", wire.TLS{}, errkind.DNS},
		{"closes", wiretest.Listen(t, wiretest.HalfClose), wire.TLS{}, errkind.Closed},
		{"resets", wiretest.Listen(t, wiretest.AfterRead(wiretest.Reset)), wire.TLS{}, errkind.Reset},
		{"garbage", garbage, wire.TLS{}, errkind.Protocol},
		{"garbage, TLS", garbage, secure, errkind.TLS},
		{"HTTP/1.1", httpServer(t), wire.TLS{}, errkind.Protocol},
		{"silence", silence, wire.TLS{}, errkind.Timeout},
		{"silence, TLS", silence, secure, errkind.Timeout},
		{"TLS to a plain port", plain, secure, errkind.TLS},
		{"plain to a TLS port", secured, wire.TLS{}, errkind.Closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			timeout := testenv.Patience
			if test.want == errkind.Timeout {
				timeout = wiretest.Short
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			cfg := Config{URL: "grpc://" + test.address + methodPath, TLS: test.tls, Slower: 30} // a busy machine, too, says why
			if test.tls.Refuse("is set") != nil {
				cfg.URL = "grpcs://" + test.address + methodPath
			} else if _, err := Dial(ctx, test.address, Options{}); true {
				checkUnreachable(t, err, test.want, test.address)
			}
			ctx, cancel = context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := New(ctx, cfg)
			checkUnreachable(t, err, test.want, test.address)
			if !strings.Contains(err.Error(), ".proto") {
				t.Errorf("%v: no advice", err)
			}
		})
	}
	_, err := Dial(t.Context(), "127.0.0.1", Options{}) // no port
	checkKind(t, err, errkind.Dial)
}

// checkUnreachable is checkKind; a server that closes with something unread in
// its buffer resets, or not, as the kernel has it.
func checkUnreachable(t *testing.T, err error, want errkind.Kind, address string) {
	t.Helper()
	if want == errkind.Closed && errkind.Of(err) == errkind.Reset {
		want = errkind.Reset
	}
	checkKind(t, err, want)
	if !strings.Contains(fmt.Sprint(err), address) {
		t.Errorf("%v: no address", err)
	}
}

// A silent server costs New at most 5 s with reflection, and the run's VUs
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
			cfg := config(wiretest.Listen(t, wiretest.Hang), wire.PerVU)
			cfg.ProtoFiles = test.protos
			start := time.Now()
			target, err := New(t.Context(), cfg)
			if test.want != "" {
				checkKind(t, err, test.want)
			} else {
				defer target.Close()
				plan := load.Plan{VUs: 1280, Duration: 50 * time.Millisecond, Grace: load.DefaultGrace, Timeout: 20 * time.Millisecond}
				if r := wiretest.Run(t, wiretest.Calls{Target: target}, plan); r.Errored[errkind.Timeout] == 0 {
					t.Errorf("got %+v; want timeouts", r)
				}
			}
			// 64 VUs are made at a time, and only the first wait: 2 or 5 s, not 20 times that. The rest is work, which a busy machine does slowly.
			if took := time.Since(start); took > 20*max(reflectionTimeout, connectWait) {
				t.Errorf("took %v", took)
			}
		})
	}
}

// A server that is slower, as under a simulator, is not given up after 5 s.
func TestReflectionWaitsForASlowServer(t *testing.T) {
	t.Parallel()
	cfg := config(wiretest.Listen(t, wiretest.Hang), wire.PerVU)
	cfg.Slower, cfg.ProtoFiles = 50, nil
	ctx, cancel := context.WithTimeout(t.Context(), reflectionTimeout+500*time.Millisecond)
	defer cancel()
	if _, err := New(ctx, cfg); err == nil || ctx.Err() == nil {
		t.Errorf("given up before the time was over: %v", err)
	}
}

// httpServer serves HTTP/1.1.
func httpServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// While a server is away each refusal follows an attempt to connect, and there is one attempt per pause.
func TestRefusalsWait(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Sharing{wire.Shared, wire.PerVU} {
		vu := newVU(t, open(t, config(testenv.HeldAddress(t), mode)), 0)
		vu.(load.TimeoutSetter).SetTimeout(testenv.Patience)
		refused := 0
		start := time.Now()
		for ; time.Since(start) < 3*reconnectPause; refused++ {
			_, err := vu.Do(t.Context())
			checkKind(t, err, errkind.Refused)
		}
		// One attempt at once and one per pause, and 2 to spare.
		if took := time.Since(start); refused > 3+int(took/reconnectPause) {
			t.Errorf("%d refusals in %v", refused, took)
		}
	}
}

// With its timeout set, an iteration that finds the server away does not last
// longer; and its end is prompt when the run is cancelled.
func TestAwayAndPatient(t *testing.T) {
	address, running := newCounterServer(t).start(t, testenv.HeldAddress(t), noReflection)
	vu := newVU(t, open(t, config(address, wire.Shared)), 0)
	running.Stop()
	for range 2 {
		vu.Do(t.Context()) // closed or refused; now the channel is down
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
