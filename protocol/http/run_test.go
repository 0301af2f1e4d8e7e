package http

import (
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/load"
	"contend/pace"
)

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
			ended := make(chan struct{})
			go func() {
				await(t.Context(), answered)
				server.Listener.Close()
				for { // one that was just accepted is not known to the server yet
					server.CloseClientConnections()
					select {
					case <-ended:
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}()
			r := run(t, Config{URL: server.URL}, plan)
			close(ended)
			server.Close()
			if r.Stopped != load.StoppedByOutage || r.Completed == 0 || !strings.Contains(r.Outage, "refused") {
				t.Errorf("%v: stopped by %s %q after %d answers", pacer, r.Stopped, r.Outage, r.Completed)
			}
		})
	}
}
