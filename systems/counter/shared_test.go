package counter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"contend/guard"
	"contend/internal/testenv"
	"contend/systems/counter/counterpb"
	"contend/systems/counter/redis"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A fakeShared is a counter that fails on demand.
type fakeShared struct {
	mu      sync.Mutex
	value   int64
	ids     map[string]redis.Change
	fault   error // of the next increments
	away    error // of Ready
	entered chan struct{}
	stats   redis.Stats
}

func (f *fakeShared) set(fault, away error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.away = fault, away
}

func (f *fakeShared) Increment(ctx context.Context, n int64, id string) (redis.Change, error) {
	if f.entered != nil {
		f.entered <- struct{}{}
		<-ctx.Done()
		return redis.Change{}, fmt.Errorf("%w: %w", redis.ErrIndeterminate, ctx.Err())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return redis.Change{}, f.fault
	}
	if c, found := f.ids[id]; found {
		return c, nil
	}
	f.value += n
	c := redis.Change{Value: f.value, At: 1_700_000_000} // 2023-11-14T22:13:20Z
	if id != "" {
		if f.ids == nil {
			f.ids = map[string]redis.Change{}
		}
		f.ids[id] = c
	}
	return c, nil
}

func (f *fakeShared) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.away
}

func (f *fakeShared) Stats() redis.Stats { return f.stats }

func sharing2(f Shared) Config {
	return Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Guard: "Redis-Script", Shared: f, Redis: "redis://h:1"}
}

func TestOneSharedCounterIsBehindAllPathsAndBothProtocols(t *testing.T) {
	s := start(t, sharing2(&fakeShared{}))
	client := counterpb.NewIncrementCounterClient(connect(t, s))
	var got []string
	for _, path := range []string{"/status", "/status/redis-script", "/status/REDIS-Script"} {
		_, body := fetch(t, "GET", s.url(path))
		got = append(got, body)
	}
	out, err := client.Increment(timeout(t), &counterpb.IncrementBy{Value: 39})
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, out.GetMessage())
	want := []string{ // 1, 2, 3 and 3+39
		`{"counter":1,"status":true,"lastChanged":"2023-11-14T22:13:20Z"}`,
		`{"counter":2,"status":false,"lastChanged":"2023-11-14T22:13:20Z"}`,
		`{"counter":3,"status":true,"lastChanged":"2023-11-14T22:13:20Z"}`,
		"Incremented value is 42",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, metrics := fetch(t, "GET", s.url("/metrics"))
	for _, line := range []string{`path="/status"} 1`, `path="/status/redis-script"} 2`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

func TestAServerThatSharesHasNoCounterOfItsOwn(t *testing.T) {
	f := &fakeShared{}
	s := start(t, sharing2(f))
	const two = "the paths are /status and /status/redis-script"
	for _, tt := range []struct{ method, path, text string }{
		{"GET", "/statusV2", two}, {"HEAD", "/statusV2", ""}, {"GET", "/status/mutex", two}, {"GET", "/status/striped", two},
		{"GET", "/status/redis-naive", two}, {"GET", "/status/", two}, {"GET", "/status/redis-script/", two},
		{"GET", "/nosuch", "no such path"}, {"POST", "/statusV2", two},
	} {
		resp, body := fetch(t, tt.method, s.url(tt.path))
		if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, tt.text) {
			t.Errorf("%s %s: %s %s", tt.method, tt.path, resp.Status, body)
		}
	}
	if resp, _ := fetch(t, "POST", s.url("/status")); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /status: %s", resp.Status)
	}
	if f.value != 0 {
		t.Errorf("they counted to %d", f.value)
	}
}

func TestFailuresSayWhetherTheIncrementHappened(t *testing.T) {
	f := &fakeShared{}
	s := start(t, sharing2(f))
	client := counterpb.NewIncrementCounterClient(connect(t, s))
	wrap := func(err, cause error) error { return fmt.Errorf("%w: %w", err, cause) }
	tests := []struct {
		name       string
		fault      error
		http       int
		body       string
		retryAfter string
		grpc       codes.Code
	}{
		{"Redis is away", wrap(redis.ErrUnavailable, errors.New("refused")), 503,
			`{"error":"redis: unavailable, nothing was changed: refused"}`, "1", codes.Unavailable},
		{"no answer", wrap(redis.ErrIndeterminate, context.DeadlineExceeded), 504,
			`{"error":"redis: no answer, the change may or may not have happened: context deadline exceeded","indeterminate":true}`, "", codes.DeadlineExceeded},
		{"closed", guard.ErrClosed, 503, `{"error":"guard: closed"}`, "1", codes.Unavailable},
		{"not sent when the caller's time was over", context.DeadlineExceeded, 503,
			`{"error":"context deadline exceeded"}`, "1", codes.DeadlineExceeded},
		{"not for now or ever", errors.New("redis: refused: overflow"), 500, `{"error":"redis: refused: overflow"}`, "", codes.Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.set(tt.fault, nil)
			resp, body := fetch(t, "GET", s.url("/status"))
			if resp.StatusCode != tt.http || body != tt.body || resp.Header.Get("Retry-After") != tt.retryAfter {
				t.Errorf("%s %v %s, want %d %s", resp.Status, resp.Header, body, tt.http, tt.body)
			}
			_, err := client.Increment(timeout(t), &counterpb.IncrementBy{Value: 1})
			if status.Code(err) != tt.grpc || status.Convert(err).Message() != tt.fault.Error() {
				t.Errorf("%v, want %v", err, tt.grpc)
			}
		})
	}
}

func TestIdempotencyKeys(t *testing.T) {
	f := &fakeShared{}
	s := start(t, sharing2(f))
	client := counterpb.NewIncrementCounterClient(connect(t, s))
	tests := []struct {
		name  string
		keys  []string
		http  int
		value int64 // of the counter afterwards
		grpc  codes.Code
	}{
		{"none", nil, 200, 1, codes.OK},
		{"one", []string{"a b~!"}, 200, 2, codes.OK},
		{"the same again", []string{"a b~!"}, 200, 2, codes.OK},
		{"the longest", []string{strings.Repeat("x", 128)}, 200, 3, codes.OK},
		{"too long", []string{strings.Repeat("x", 129)}, 400, 3, codes.InvalidArgument},
		{"an empty one", []string{""}, 400, 3, codes.InvalidArgument},
		{"two", []string{"a", "b"}, 400, 3, codes.InvalidArgument},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequest("GET", s.url("/status"), nil)
			for _, key := range tt.keys {
				req.Header.Add("Idempotency-Key", key)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != tt.http || f.value != tt.value {
				t.Errorf("%s and the counter is at %d, want %d and %d", resp.Status, f.value, tt.http, tt.value)
			}
			ctx := timeout(t)
			for _, key := range tt.keys {
				ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", key)
			}
			if _, err := client.Increment(ctx, &counterpb.IncrementBy{}); status.Code(err) != tt.grpc { // adds 0
				t.Errorf("%v, want %v", err, tt.grpc)
			}
		})
	}
	for text, want := range map[string]bool{"a": true, " ": true, "~": true, "": false, "\x7f": false, "ä": false, "\t": false, "\x00": false} {
		if got := validID(text); got != want {
			t.Errorf("validID(%q) = %v", text, got)
		}
	}
}

func TestReadinessFollowsRedis(t *testing.T) {
	f := &fakeShared{away: errors.New("gone fishing")}
	s := start(t, sharing2(f))
	health := grpc_health_v1.NewHealthClient(connect(t, s))
	healthy := func() bool {
		answer, err := health.Check(timeout(t), &grpc_health_v1.HealthCheckRequest{Service: "counter.incrementCounter"})
		return err == nil && answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
	}
	for _, away := range []error{errors.New("gone fishing"), nil, errors.New("gone fishing"), nil} {
		f.set(nil, away)
		testenv.Eventually(t, "the health service follows", func() bool { return healthy() == (away == nil) })
		resp, body := fetch(t, "GET", s.url("/ready"))
		for body == `{"error":"not ready"}` { // nobody has looked yet
			resp, body = fetch(t, "GET", s.url("/ready"))
		}
		if away == nil && resp.StatusCode != 200 {
			t.Errorf("ready: %s %s", resp.Status, body)
		}
		if away != nil && (resp.StatusCode != 503 || body != `{"error":"not ready: gone fishing"}` || resp.Header.Get("Retry-After") != "1") {
			t.Errorf("not ready: %s %s", resp.Status, body)
		}
		if resp, _ := fetch(t, "GET", s.url("/health")); resp.StatusCode != 200 {
			t.Errorf("health: %s", resp.Status)
		}
		if err := Healthy(timeout(t), s.grpcAddr().String()); (err == nil) != (away == nil) {
			t.Errorf("away: %v, Healthy: %v", away, err)
		}
	}
}

func TestSharedMetricsAndLog(t *testing.T) {
	var log bytes.Buffer
	cfg := sharing2(&fakeShared{stats: redis.Stats{Increments: 8, RoundTrips: 2, Commands: 3, Conflicts: 4,
		Replayed: 5, Indeterminate: 6, Refused: 7}})
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := start(t, cfg)
	_, metrics := fetch(t, "GET", s.url("/metrics"))
	for name, n := range map[string]int{"increments": 8, "round_trips": 2, "commands": 3, "conflicts": 4, "replayed": 5, "indeterminate": 6, "refused": 7} {
		if line := fmt.Sprintf("\ncontend_counter_redis_%s_total %d\n", name, n); !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	s.stop()
	if err := s.wait(t); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`msg=serving http=\S+ grpc=\S+ guard=redis-script redis=redis://h:1\n`,
		`msg=totals increments=8 round_trips=2 commands=3 conflicts=4 replayed=5 indeterminate=6 refused=7 round_trips_per_increment=0.25\n`,
	} {
		if n := len(regexp.MustCompile(want).FindAllString(log.String(), -1)); n != 1 {
			t.Errorf("%d lines like %q in\n%s", n, want, log.String())
		}
	}
}

func TestStopLetsGoOfCallersThatWaitForRedis(t *testing.T) {
	f := &fakeShared{entered: make(chan struct{}, 2)}
	cfg := sharing2(f)
	cfg.DrainTimeout = 1
	s := start(t, cfg)
	answered := make(chan struct{}, 2)
	go func() {
		resp, err := http.Get(s.url("/status"))
		if err == nil {
			_ = resp.Body.Close()
		}
		answered <- struct{}{}
	}()
	client := counterpb.NewIncrementCounterClient(connect(t, s))
	go func() {
		_, _ = client.Increment(timeout(t), &counterpb.IncrementBy{Value: 1})
		answered <- struct{}{}
	}()
	for range 2 {
		<-f.entered
	}
	s.stop()
	_ = s.wait(t) // some may be cut off
	for range 2 {
		<-answered
	}
}

func TestListenRefusesABadSharedGuard(t *testing.T) {
	for _, guard := range []string{"", "mutex", "redis-nosuch"} {
		cfg := sharing2(&fakeShared{})
		cfg.Guard = guard
		if _, err := Listen(cfg); err == nil || !strings.Contains(err.Error(), "redis-combining") {
			t.Errorf("%q: %v", guard, err)
		}
	}
}

func TestServesOnAGivenListener(t *testing.T) {
	ln, err := listen("HTTP", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	s := start(t, Config{HTTP: ln, Serving: func() { close(served) }})
	<-served
	if s.httpAddr() != ln.Addr() {
		t.Errorf("it is served at %v, not %v", s.httpAddr(), ln.Addr())
	}
	if resp, _ := fetch(t, "GET", s.url("/ready")); resp.StatusCode != 200 {
		t.Errorf("ready: %s", resp.Status)
	}
}

func TestSharedAnswersDoNotAllocate(t *testing.T) {
	h, ctx := newSharingHandler(t, newSharing(&fakeShared{}, "redis-script")), newGet("/status")
	if n := testing.AllocsPerRun(100, func() {
		ctx.Response.Reset()
		h.serve(ctx)
	}); n != 0 {
		t.Errorf("%v allocations for each answer, beside those of Redis", n)
	}
}
