package grpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestMain(m *testing.M) { testenv.Main(m, 24) }

func config(address string, mode wire.Sharing) Config {
	return Config{
		URL:         "grpc://" + address + methodPath,
		Data:        []byte(`{"value": 1}`),
		ProtoFiles:  []string{"testdata/counter.proto"},
		Connections: wire.Connections{Sharing: mode},
	}
}

func open(t testing.TB, cfg Config) *Target {
	t.Helper()
	cfg.Slower = 30 // a busy machine, too, has time to describe methods
	target, err := New(t.Context(), cfg)
	testenv.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

func newVU(t testing.TB, target *Target, id int) load.VU {
	t.Helper()
	return wiretest.VU[load.VU](t, target, id)
}

func modes() []wire.Sharing { return []wire.Sharing{wire.Shared, wire.PerVU, wire.PerIteration} }

// Every call of every VU is counted by the server, and every answer has its
// size: "Incremented value is N" in field 1 is 2 + 22 + len(N) - 1 bytes.
func TestModes(t *testing.T) {
	t.Parallel()
	const vus, calls = 5, 20
	for _, mode := range modes() {
		t.Run(wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
			server := newCounterServer(t)
			address, _ := server.start(t, "127.0.0.1:0", noReflection)
			target := open(t, config(address, mode))
			var group sync.WaitGroup
			for id := range vus {
				vu := newVU(t, target, id)
				group.Go(func() {
					for range calls {
						outcome, err := vu.Do(t.Context())
						checkOutcome(t, outcome, err, mode)
					}
				})
			}
			group.Wait()
			if server.total != vus*calls {
				t.Errorf("the server counted %d calls, want %d", server.total, vus*calls)
			}
		})
	}
}

func checkOutcome(t *testing.T, got load.Outcome, err error, mode wire.Sharing) {
	t.Helper()
	if err != nil || got.Failed || got.Status != 0 {
		t.Errorf("got %+v, %v; want a right answer", got, err)
		return
	}
	// The request is field 1, varint 1: 2 bytes. The answer's text is 21 characters
	// and the count's 1 to 3 digits, after 2 bytes of header.
	if got.BytesOut != 2 || got.BytesIn < 2+21+1 || got.BytesIn > 2+21+3 {
		t.Errorf("bytes out %d, in %d", got.BytesOut, got.BytesIn)
	}
	phased := got.Phases.Connect > 0 && got.Phases.Exchange >= got.Phases.FirstByte
	if phased != (mode == wire.PerIteration) || got.Phases.FirstByte <= 0 {
		t.Errorf("phases %+v in mode %v", got.Phases, wire.Connections{Sharing: mode})
	}
}

func TestReflection(t *testing.T) {
	for _, test := range []struct {
		name string
		kind reflectionKind
		url  string
		want string // part of the error; none if empty
	}{
		{"v1", v1Reflection, methodPath, ""},
		{"only v1alpha", alphaReflection, methodPath, ""},
		{"dotted method", v1Reflection, "/counter.incrementCounter.increment", ""},
		{"no reflection", noReflection, methodPath, "proto is missing, and the server has no reflection service"},
		{"unknown method", v1Reflection, "/counter.incrementCounter/decrement", "increment, watch"},
		{"unknown service", v1Reflection, "/counter.Counter/increment", "counter.incrementCounter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address, _ := newCounterServer(t).start(t, "127.0.0.1:0", test.kind)
			target, err := New(t.Context(), Config{URL: "grpc://" + address + test.url, Data: []byte(`{"value":1}`)})
			if test.want != "" {
				testenv.Says(t, err, test.want)
				return
			}
			testenv.Must(t, err)
			defer target.Close()
			if target.Method() != methodPath {
				t.Errorf("method %s", target.Method())
			}
			outcome, err := newVU(t, target, 0).Do(t.Context())
			checkOutcome(t, outcome, err, wire.Shared)
		})
	}
}

// A status that the server sends is an answer in every mode, whatever its code
// and text: also those that grpc-go itself uses without an answer. The server may
// have sent headers.
func TestWrongAnswers(t *testing.T) {
	for _, code := range []codes.Code{codes.InvalidArgument, codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Internal, codes.Unknown} {
		for _, mode := range modes() {
			for _, headers := range []bool{false, true} {
				t.Run(fmt.Sprint(code, wire.Connections{Sharing: mode}, headers), func(t *testing.T) {
					address := counterAt(t, func(ctx context.Context) error {
						if !headers {
							return status.Error(code, "error reading from server: EOF")
						}
						_ = grpc.SendHeader(ctx, metadata.Pairs("a", "b"))
						return status.Error(code, "full")
					})
					outcome, err := newVU(t, open(t, config(address, mode)), 0).Do(t.Context())
					if err != nil || !outcome.Failed || outcome.Status != int(code) {
						t.Errorf("got %+v, %v; want a wrong answer with status %d", outcome, err, code)
					}
				})
			}
		}
	}
}

func TestExpectCode(t *testing.T) {
	address := counterAt(t, nil)
	cfg := config(address, wire.Shared)
	cfg.Data, cfg.ExpectCode = []byte(`{"value": 0}`), int(codes.InvalidArgument)
	got := overBoth(t, cfg, iterations(2, 6))
	if len(got.Faults) != 1 || got.Faults[0].Cause() != "status 0, where 3 was expected" || got.Faults[0].Count != 6 {
		t.Errorf("got %+v", got.Faults)
	}
}

func TestTLS(t *testing.T) {
	authority, certificate := wiretest.Authority(), wiretest.Certificate()
	secured := grpc.Creds(credentials.NewServerTLSFromCert(&certificate))
	address, _ := newCounterServer(t).start(t, "127.0.0.1:0", v1Reflection, secured)
	for _, test := range []struct {
		name string
		tls  wire.TLS
		want errkind.Kind
	}{
		{"own authority", wire.TLS{CA: authority}, ""},
		{"insecure", wire.TLS{Insecure: true}, ""},
		{"unknown authority", wire.TLS{}, errkind.TLS},
		{"other name", wire.TLS{CA: authority, ServerName: "elsewhere"}, errkind.TLS},
	} {
		for _, mode := range modes() {
			t.Run(test.name+"/"+wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
				target, err := New(t.Context(), Config{
					URL: "grpcs://" + address + methodPath, Data: []byte(`{"value":1}`),
					TLS: test.tls, Connections: wire.Connections{Sharing: mode},
				})
				if test.want != "" {
					checkKind(t, err, test.want)
					return
				}
				testenv.Must(t, err)
				defer target.Close()
				outcome, err := newVU(t, target, 0).Do(t.Context())
				if err != nil || outcome.Failed {
					t.Errorf("got %+v, %v", outcome, err)
				}
			})
		}
	}
}

func checkKind(t *testing.T, err error, want errkind.Kind) {
	t.Helper()
	var own *errkind.Error
	if !errors.As(err, &own) || own.Kind != want {
		t.Errorf("error %v of kind %q, want %q", err, errkind.Of(err), want)
	}
}

func TestTimeout(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for _, mode := range modes() {
		t.Run(wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
			var mu sync.Mutex
			slow := true
			address := counterAt(t, func(ctx context.Context) error {
				mu.Lock()
				wait := slow
				mu.Unlock()
				if wait { // the server's clock of the deadline may be ahead of ours
					<-ctx.Done()
					return status.FromContextError(ctx.Err()).Err()
				}
				return nil
			})
			vu := newVU(t, open(t, config(address, mode)), 0)
			vu.(load.TimeoutSetter).SetTimeout(timeout)
			start := time.Now()
			_, err := vu.Do(t.Context())
			checkKind(t, err, errkind.Timeout)
			if took := time.Since(start); took < timeout || took > testenv.Patience {
				t.Errorf("returned after %v", took)
			}
			mu.Lock()
			slow = false
			mu.Unlock()
			vu.(load.TimeoutSetter).SetTimeout(10 * time.Second)
			if outcome, err := vu.Do(t.Context()); err != nil || outcome.Failed {
				t.Errorf("after the timeout: %+v, %v", outcome, err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for _, mode := range modes() {
		t.Run(wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
			address := counterAt(t, func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			})
			vu := newVU(t, open(t, config(address, mode)), 0)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err := vu.Do(ctx)
			checkKind(t, err, errkind.Cancelled)
		})
	}
}
