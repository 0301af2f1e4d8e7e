package http

import (
	"math/rand/v2"
	nethttp "net/http"
	"sync"
	"testing"
	"time"

	"contend/hist"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

// Tests that measure do not run in parallel, as others would disturb them.

// floor is what a time over a real socket may be off by on an idle machine: the
// way of request and answer through the kernel and the wait for a core.
const floor = 5 * time.Millisecond

// slack watches the machine until the test calls it: it returns what a time may be
// off by there through no fault of the code under test. That is floor and, four
// times, how late a sleeper woke at the worst: a request waits for a core to be
// sent, read, answered, and its answer to be read.
func slack() func() time.Duration {
	done, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for {
			began := time.Now()
			select {
			case <-done:
				worst <- most
				return
			case <-time.After(time.Millisecond):
				most = max(most, time.Since(began)-time.Millisecond)
			}
		}
	}()
	return func() time.Duration { close(done); return floor + 4*<-worst }
}

func closeTo(t *testing.T, what string, got, want, tolerance time.Duration) {
	t.Helper()
	if off := (got - want).Abs(); off > tolerance {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, tolerance)
	}
}

// The server takes as long as a distribution says and records how long it took;
// what the client measures must have the same percentiles.
func TestBothEnginesMeasureWhatTheServerTook(t *testing.T) {
	for name, took := range map[string]func() time.Duration{
		"constant":    func() time.Duration { return 60 * time.Millisecond },
		"exponential": func() time.Duration { return time.Duration(rand.ExpFloat64() * float64(60*time.Millisecond)) },
		"bimodal": func() time.Duration { // one in ten stalls
			if rand.IntN(10) == 0 {
				return 250 * time.Millisecond
			}
			return 30 * time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overBothEngines(t, func(t *testing.T, run runner) {
				t.Parallel()
				var mu sync.Mutex
				served := hist.New()
				url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(nethttp.ResponseWriter, *nethttp.Request) {
					began := time.Now()
					time.Sleep(took())
					mu.Lock()
					served.Record(time.Since(began))
					mu.Unlock()
				})
				off := slack()
				r := run(t, Config{URL: url}, load.Plan{VUs: 8, Duration: 800 * time.Millisecond, Grace: load.DefaultGrace, Timeout: testenv.Patience})
				allowed := off()
				mu.Lock()
				defer mu.Unlock()
				if r.Completed != r.Planned || r.Completed != served.Count() {
					t.Fatalf("planned %d, completed %d, served %d", r.Planned, r.Completed, served.Count())
				}
				for _, q := range []float64{0.1, 0.5, 0.8, 0.99} {
					closeTo(t, "response time", r.Response.Quantile(q), served.Quantile(q), served.Quantile(q)/100+allowed)
				}
				closeTo(t, "mean", r.Response.Mean(), served.Mean(), served.Mean()/100+allowed)
				if share := *r.GeneratorShare; share > 0.02+float64(allowed)/float64(r.Duration) {
					t.Errorf("1 − X·S/N is %.3f, want at most 0.02 (the machine was up to %v late)", share, allowed)
				}
			})
		})
	}
}

// A server that stops for 0.3 s of 1.5 s at 100/s: a fifth of the arrivals wait, from
// 0.3 s down to nothing, so the mean is ½ · 0.3 s ÷ 5 = 30 ms and p99 is 0.3 s ·
// (1 − 5 · 1%) = 285 ms, whatever the number of VUs.
func TestBothEnginesShowAFrozenServer(t *testing.T) {
	overBothEngines(t, func(t *testing.T, run runner) {
		t.Parallel() // each waits most of the time
		began := sync.OnceValue(time.Now)
		url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(nethttp.ResponseWriter, *nethttp.Request) {
			if at := time.Since(began()); at >= 500*time.Millisecond && at < 800*time.Millisecond {
				time.Sleep(800*time.Millisecond - at)
			}
		})
		off := slack()
		r := run(t, Config{URL: url}, load.Plan{VUs: 5, Pacer: pace.Constant(100), Duration: 1500 * time.Millisecond, Grace: load.DefaultGrace, Timeout: testenv.Patience})
		allowed := off()
		if lost := 150 - r.Completed; lost > int64(100*allowed.Seconds()) {
			t.Errorf("completed %d of 150, dropped %d", r.Completed, r.Dropped)
		}
		for what, is := range map[string][2]time.Duration{
			"mean": {r.Response.Mean(), 30 * time.Millisecond},
			"p90":  {r.Response.Quantile(0.90), 150 * time.Millisecond},
			"p99":  {r.Response.Quantile(0.99), 285 * time.Millisecond},
		} {
			closeTo(t, what, is[0], is[1], is[1]/10+allowed)
		}
		if served := r.Service.Quantile(0.95); served > 50*time.Millisecond+allowed {
			t.Errorf("p95 of the service time is %v: it does not know of arrivals that waited", served)
		}
	})
}
