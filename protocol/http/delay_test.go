package http

import (
	"io"
	nethttp "net/http"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
)

// atLeast wants n durations of at least d, within the histogram's resolution.
func atLeast(t *testing.T, what string, h *hist.Histogram, n int64, d time.Duration) {
	t.Helper()
	if h == nil {
		t.Errorf("%s: none", what)
	} else if h.Count() != n || h.Min() < d-d/100 {
		t.Errorf("%s: %d, the least %v; want %d of at least %v", what, h.Count(), h.Min(), n, d)
	}
}

func TestBothEnginesMeasureAKnownDelay(t *testing.T) {
	const (
		before = 20 * time.Millisecond // the first byte
		within = 60 * time.Millisecond // the body, for the slow request
	)
	overBothEngines(t, func(t *testing.T, run runner) {
		t.Parallel()
		url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(w nethttp.ResponseWriter, r *nethttp.Request) {
			time.Sleep(before)
			_, _ = io.WriteString(w, "o")
			_ = nethttp.NewResponseController(w).Flush()
			if r.URL.Path == "/slow" {
				time.Sleep(within)
			}
			_, _ = io.WriteString(w, "k")
		})
		for _, disable := range []bool{false, true} {
			off := slack()
			r := run(t, Config{
				URL: url, DisableKeepAlive: disable, Checks: []string{"body == ok", "size == 2"},
				Requests: []Request{{Name: "slow", Path: "/slow"}, {Name: "fast"}},
			}, load.Plan{VUs: 3, Iterations: 12, Timeout: 10 * time.Second})
			allowed := off()
			if r.Completed != 12 || r.BodyIn != 24 {
				t.Fatalf("completed %d, errored %v, faults %+v, body in %d", r.Completed, r.Errored, r.Faults, r.BodyIn)
			}
			atLeast(t, "first byte", r.FirstByte, 12, before)
			atLeast(t, "service", r.Service, 12, before)
			atLeast(t, "slow", r.Requests["slow"].Service, 6, before+within)
			atLeast(t, "fast", r.Requests["fast"].Service, 6, before)
			if first, whole := r.FirstByte.Max(), r.Service.Max(); first > whole {
				t.Errorf("first byte up to %v, service up to %v", first, whole)
			}
			// Half of the bodies take that long; whoever reads late sees both ends at once.
			if body := r.Service.Mean() - r.FirstByte.Mean(); body < within/2-allowed {
				t.Errorf("from the first byte to the last: %v in the mean, want %v less at most %v", body, within/2, allowed)
			}
			if disable {
				atLeast(t, "exchange", r.Exchange, 12, before)
			}
		}
	})
}

func TestBothEnginesKnowTheFirstAnswer(t *testing.T) {
	url := "http://" + serveRaw(t, []byte("HTTP/1.1 200 OK\r\nServer: test/1\r\nContent-Length: 2\r\n\r\nok"))
	overBothEngines(t, func(t *testing.T, _ runner) {
		target := targetOf(t, Config{URL: url})
		var driven load.Target = target
		if t.Name() == "TestBothEnginesKnowTheFirstAnswer/goroutines" {
			driven = portable{target}
		}
		_, err := load.Run(t.Context(), "test", driven, load.Plan{VUs: 2, Iterations: 4})
		got, ok := target.First()
		if want := (Answer{Status: 200, Server: "test/1", BodyLength: 2}); err != nil || !ok || got != want {
			t.Errorf("got %+v, %t, %v; want %+v", got, ok, err, want)
		}
	})
}
