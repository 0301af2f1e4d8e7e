package http

import (
	"context"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

func run(t *testing.T, url string, plan load.Plan) *load.Result {
	t.Helper()
	target, err := New(Config{URL: url})
	testenv.Must(t, err)
	start := time.Now()
	result, err := load.Run(context.Background(), url, target, plan)
	testenv.Must(t, err)
	if took := time.Since(start); took > plan.Duration+plan.Grace+testenv.Patience && plan.Duration > 0 {
		t.Errorf("a run of %v took %v", plan.Duration, took)
	}
	return result
}

func TestRunCountsWhatTheServerCounted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		if asked.Add(1)%4 == 0 {
			w.WriteHeader(503)
		}
	}))
	defer server.Close()
	r := run(t, server.URL, load.Plan{VUs: 8, Iterations: 400, Timeout: 10 * time.Second})
	if asked.Load() != 400 || r.Completed != 300 || r.Failed != 100 || len(r.Errored) != 0 {
		t.Errorf("server: %d; completed %d, failed %d, errored %v; want 400; 300, 100, none",
			asked.Load(), r.Completed, r.Failed, r.Errored)
	}
}

// A server that dies and stays away ends the run, whichever engine drives it and whenever
// iterations begin: what it answered counts.
func TestBothEnginesGiveUpWhereTheServerStaysAway(t *testing.T) {
	t.Parallel()
	for _, pacer := range []*pace.Pacer{nil, pace.Constant(1000)} {
		overBothEngines(t, func(t *testing.T, run runner) {
			t.Parallel() // each waits until the outage has lasted long enough
			answered := make(chan struct{})
			var once sync.Once
			server := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
			plan := load.Plan{VUs: 4, Pacer: pacer, Duration: time.Hour, Timeout: time.Second,
				Sample: func(s load.Sample) {
					if s.Err == nil {
						once.Do(func() { close(answered) })
					}
				}}
			away := make(chan struct{})
			go func() {
				defer close(away)
				await(t.Context(), answered)
				server.Listener.Close()
				server.CloseClientConnections()
			}()
			r := run(t, Config{URL: server.URL}, plan)
			<-away
			server.Close()
			if r.Stopped != load.StoppedByOutage || r.Completed == 0 || !strings.Contains(r.Outage, "refused") {
				t.Errorf("%v: stopped by %s %q after %d answers", pacer, r.Stopped, r.Outage, r.Completed)
			}
		})
	}
}
