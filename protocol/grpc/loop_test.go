package grpc

import (
	"context"
	"fmt"
	goreflect "reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// An account is what a run counted.
type account struct {
	wiretest.Account
	Answers load.Answers
	Faults  []load.Fault
}

func accountOf(r *load.Result) account {
	a := account{Account: wiretest.AccountOf(r), Faults: r.Faults}
	if r.Answers != nil {
		a.Answers = *r.Answers
	}
	return a
}

// overBoth runs a plan over either engine and requires that they count the same.
func overBoth(t *testing.T, cfg Config, plan load.Plan) account {
	t.Helper()
	var accounts []account
	for _, engine := range []load.Engine{load.Goroutines, load.EventLoop} {
		accounts = append(accounts, accountOf(runOver(t, cfg, engine, plan)))
	}
	if a, b := fmt.Sprintf("%+v", accounts[0]), fmt.Sprintf("%+v", accounts[1]); a != b {
		t.Errorf("grpc-go: %s\nloop:    %s", a, b)
	}
	return accounts[1]
}

func runOver(t *testing.T, cfg Config, engine load.Engine, plan load.Plan) *load.Result {
	t.Helper()
	if engine == load.EventLoop {
		wiretest.Needs(t, loop.Supported)
	}
	return wiretest.Over(t, engine, open(t, cfg), plan)
}

// A plan of so many iterations, long enough for all of them.
func iterations(vus int, n int64) load.Plan {
	return load.Plan{VUs: vus, Iterations: n, Duration: testenv.Patience, Timeout: testenv.Patience}
}

// Every call is counted by the server, in each mode and over both engines.
func TestLoopModes(t *testing.T) {
	t.Parallel()
	for _, connections := range []wire.Connections{{Sharing: wire.Shared, N: 1}, {Sharing: wire.Shared, N: 3}, {}, {Sharing: wire.PerIteration}} {
		t.Run(connections.String(), func(t *testing.T) {
			server := newCounterServer(t)
			address, _ := server.start(t, "127.0.0.1:0", noReflection)
			cfg := config(address, connections.Sharing)
			cfg.Connections = connections
			cfg.Data = []byte(`{"value": 0}`) // then all answers have the same size
			cfg.Metadata = map[string][]string{"tenant": {"a", "b"}, "trace-bin": {"\x00\xff"}}
			got := overBoth(t, cfg, iterations(7, 50))
			// "Incremented value is 0" in field 1 has 2 + 22 bytes; a 0 is not sent.
			if got.Completed != 50 || got.BytesIn != 50*24 || got.BytesOut != 0 {
				t.Errorf("counted %+v", got)
			}
			if want := answers(codes.OK, 50, 24); !goreflect.DeepEqual(got.Answers, want) {
				t.Errorf("answers %+v, want %+v", got.Answers, want)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if len(server.seen) != 100 {
				t.Fatalf("the server saw %d calls", len(server.seen))
			}
			for i, sent := range server.seen {
				if fmt.Sprint(sent["tenant"]) != "[a b]" || sent["trace-bin"][0] != "\x00\xff" || sent[":authority"][0] != address {
					t.Fatalf("call %d carried %v", i, sent)
				}
			}
		})
	}
}

// answers are n right ones of this status, with messages of a size.
func answers(code codes.Code, n, size int64) load.Answers {
	return load.Answers{Kinds: []load.AnswerKind{{Status: int(code), StatusName: code.String(), Count: n}},
		Bodies: []load.Bodies{{Count: n, Bytes: n * size}}}
}

// Each status is the same answer over both engines.
func TestLoopCodes(t *testing.T) {
	t.Parallel()
	server := newCounterServer(t)
	var now atomic.Uint32 // the code
	server.hook = func(context.Context) error { return status.Error(codes.Code(now.Load()), "50% of ä\n") }
	address, _ := server.start(t, "127.0.0.1:0", noReflection)
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		for _, expect := range []codes.Code{codes.OK, code} {
			now.Store(uint32(code))
			cfg := config(address, wire.PerVU)
			cfg.Data, cfg.ExpectCode = []byte(`{"value": 0}`), int(expect)
			got := overBoth(t, cfg, iterations(2, 6))
			want := account{}
			if code == expect {
				want.Completed = 6
				want.Answers = answers(code, 6, 0)
				if code == codes.OK {
					want.Answers = answers(code, 6, 24)
				}
			} else {
				want.Failed = 6
			}
			if code == codes.DeadlineExceeded { // that of the call's own deadline
				want = account{Account: wiretest.Account{Errored: map[errkind.Kind]int64{errkind.Timeout: 6}}}
			}
			if got.Completed != want.Completed || got.Failed != want.Failed || got.Errored[errkind.Timeout] != want.Errored[errkind.Timeout] ||
				!goreflect.DeepEqual(got.Answers, want.Answers) {
				t.Errorf("%v where %v is right: %+v", code, expect, got)
			}
			for _, f := range got.Faults {
				if f.Expected != "" { // OK is, if nothing else is asked for
					t.Errorf("%v where %v is right: %+v", code, expect, f)
				}
			}
		}
	}
}

// The example of a failed answer is its message, decoded and bounded.
func TestLoopDetail(t *testing.T) {
	for _, test := range []struct{ give, want string }{
		{"plain", "plain"}, {"50% of ä\n", "50% of ä\n"}, {strings.Repeat("x", 2*maxDetail), strings.Repeat("x", maxDetail)},
	} {
		address := counterAt(t, func(context.Context) error { return status.Error(codes.Aborted, test.give) })
		var mu sync.Mutex
		var details []string
		plan := iterations(3, 9)
		plan.Sample = func(s load.Sample) {
			mu.Lock()
			defer mu.Unlock()
			details = append(details, string(s.Outcome.Detail))
		}
		runOver(t, config(address, wire.Shared), load.EventLoop, plan)
		if len(details) != 9 {
			t.Errorf("%d samples", len(details))
		}
		for _, detail := range details {
			if detail != test.want {
				t.Errorf("detail %q, want %q", detail, test.want)
			}
		}
	}
}

func TestAppendMessage(t *testing.T) {
	for give, want := range map[string]string{
		"": "", "a%20b": "a b", "%": "%", "%2": "%2", "%zz": "%zz", "100%25": "100%", "%e2%82%ac": "€", "a%41": "aA",
	} {
		if got := appendMessage(nil, []byte(give), maxDetail); string(got) != want {
			t.Errorf("%q is %q, want %q", give, got, want)
		}
	}
}

func TestEncodeTimeout(t *testing.T) {
	for give, want := range map[time.Duration]string{
		1: "1n", 99_999_999: "99999999n", 100_000_000: "100000u", 100_000_001: "100001u",
		5 * time.Second: "5000000u", 100 * time.Second: "100000m", time.Hour: "3600000m",
		100_000_000 * time.Millisecond: "100000S", 1 << 62: "76861434M",
	} {
		if got := encodeTimeout(give); got != want {
			t.Errorf("%v is %s, want %s", give, got, want)
		}
	}
}

// Calls that run into the timeout are given up alone: their connection serves
// the next ones. The server knows the deadline.
func TestLoopTimeout(t *testing.T) {
	server := newCounterServer(t)
	var mu sync.Mutex
	told, slow, timeout := 0, true, 100*time.Millisecond
	server.hook = func(ctx context.Context) error {
		mu.Lock()
		wait := slow
		slow = !slow
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= timeout {
			told++
		}
		mu.Unlock()
		if wait {
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond) // no status before the caller gives up
		}
		return nil
	}
	address, _ := server.start(t, "127.0.0.1:0", noReflection)
	cfg := config(address, wire.Shared)
	cfg.Data = []byte(`{"value": 0}`)
	half := func(a account) bool { return a.Completed == 5 && a.Errored[errkind.Timeout] == 5 }
	for { // until a call that is served at once is also right
		plan := load.Plan{VUs: 1, Iterations: 10, Timeout: timeout}
		calls, got := accountOf(runOver(t, cfg, load.Goroutines, plan)), accountOf(runOver(t, cfg, load.EventLoop, plan))
		mu.Lock()
		n := told
		told, slow, timeout = 0, true, 2*timeout
		mu.Unlock()
		if a, b := fmt.Sprintf("%+v", calls), fmt.Sprintf("%+v", got); half(calls) && half(got) && n == 20 && a == b {
			return
		} else if plan.Timeout > testenv.Patience/16 { // each try takes ten of them
			t.Fatalf("grpc-go: %s\nloop:    %s\nthe server was told %d times", a, b, n)
		}
	}
}

func TestLoopOddities(t *testing.T) {
	t.Parallel()
	ok := []string{"grpc-status", "0"}
	for _, test := range []struct {
		name   string
		answer func(p peer)
		want   string // error kind or code
	}{
		{"trailers without status", func(p peer) { p.begin(); p.Headers(true, "a", "b") }, "2"},
		{"header with a status only", func(p peer) {
			p.Headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "5")
		}, "5"},
		{"unknown code", func(p peer) {
			p.Headers(true, ":status", "200", "content-type", "application/grpc+x", "grpc-status", "77")
		}, "77"},
		{"two messages", func(p peer) { p.begin(); p.message(0, 1, "a"); p.message(0, 1, "b"); p.Headers(true, ok...) }, "protocol"},
		{"message in pieces", func(p peer) {
			p.begin()
			for _, b := range []byte("\x00\x00\x00\x00\x02ab") {
				p.WriteData(p.ID, false, []byte{b})
			}
			p.Headers(true, ok...)
		}, "0"},
		{"empty message", func(p peer) { p.begin(); p.message(0, 0, ""); p.Headers(true, ok...) }, "0"},
		{"message and another code", func(p peer) { p.begin(); p.message(0, 1, "a"); p.Headers(true, "grpc-status", "3") }, "3"},
		{"OK without a message", func(p peer) { p.begin(); p.Headers(true, ok...) }, "protocol"},
		{"half a message and OK", func(p peer) { p.begin(); p.message(0, 2, "a"); p.Headers(true, ok...) }, "protocol"},
		{"half a prefix and OK", func(p peer) { p.begin(); p.WriteData(p.ID, false, []byte{0, 0}); p.Headers(true, ok...) }, "protocol"},
		{"1xx first", func(p peer) {
			p.Headers(false, ":status", "103")
			p.begin()
			p.message(0, 0, "")
			p.Headers(true, ok...)
		}, "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := overBoth(t, config(hostile(t, test.answer), wire.PerVU), iterations(1, 3))
			if text := fmt.Sprintf("%v %v 0:%d", got.Statuses, got.Errored, got.Completed); !strings.Contains(text, test.want+":3") {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}

// Connections that the server ends in good order cost no call.
func TestLoopGracefulEnd(t *testing.T) {
	t.Parallel()
	server := newCounterServer(t)
	address, _ := server.start(t, "127.0.0.1:0", noReflection, grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionAge: 20 * time.Millisecond, MaxConnectionAgeGrace: 5 * time.Second,
	}))
	for _, mode := range modes() {
		cfg := config(address, mode)
		plan := load.Plan{VUs: 8, Duration: 200 * time.Millisecond, Grace: load.DefaultGrace, Timeout: 5 * time.Second}
		result := runOver(t, cfg, load.EventLoop, plan)
		if result.Completed == 0 || result.ErroredTotal() > 0 {
			t.Errorf("%v: completed %d, errored %v", mode, result.Completed, result.Errored)
		}
	}
}

func TestLoops(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	for _, test := range []struct {
		name  string
		alter func(c *Config)
		vus   int
		want  int
		why   string
	}{
		{"one shared connection", func(c *Config) {}, 50, 1, ""},
		{"one VU", func(c *Config) { c.Connections.Sharing = wire.PerVU }, 1, 1, ""},
		{"TLS", secure, 50, 0, "TLS"},
		{"streams", func(c *Config) {
			c.URL, c.ProtoFiles = "grpc://127.0.0.1:1/chat.Room/Talk", []string{"testdata/chat.proto"}
		}, 50, 0, "streams"},
		{"deadline", func(c *Config) { c.Deadline = time.Second }, 50, 0, "a deadline other than the timeout"},
	} {
		cfg := config("127.0.0.1:1", wire.Shared)
		test.alter(&cfg)
		target := open(t, cfg)
		if got, why := target.Loops(test.vus); got != test.want || why != test.why {
			t.Errorf("%s: %d, %q", test.name, got, why)
		}
	}
}
