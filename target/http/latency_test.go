package http

import (
	"math/rand/v2"
	nethttp "net/http"
	"sync"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
)

// floor is what a time over a real socket may be off by besides 1 %: the way of
// request and answer through the kernel, and the wait for a core on a machine
// that has other work.
const floor = 10 * time.Millisecond

func closeTo(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if off := (got - want).Abs(); off > want/100+floor {
		t.Errorf("%s is %v, want %v ± 1 %% ± %v", what, got, want, floor)
	}
}

// The server takes as long as a distribution says and records how long it took;
// what the client measures must have the same percentiles.
func TestBothEnginesMeasureWhatTheServerTook(t *testing.T) {
	t.Parallel()
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
				var mu sync.Mutex
				served := hist.New()
				url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(nethttp.ResponseWriter, *nethttp.Request) {
					began := time.Now()
					time.Sleep(took())
					mu.Lock()
					served.Record(time.Since(began))
					mu.Unlock()
				})
				r := run(t, Config{URL: url}, load.Plan{VUs: 20, Duration: 1500 * time.Millisecond, Timeout: 10 * time.Second})
				if r.Completed != r.Planned || r.Completed != served.Count() {
					t.Fatalf("planned %d, completed %d, served %d", r.Planned, r.Completed, served.Count())
				}
				for _, q := range []float64{0.1, 0.5, 0.8, 0.99} {
					closeTo(t, "response time", r.Response.Quantile(q), served.Quantile(q))
				}
				closeTo(t, "mean", r.Response.Mean(), served.Mean())
				if share := *r.GeneratorShare; share > 0.02 {
					t.Errorf("1 − X·S/N is %.3f, want at most 0.02", share)
				}
			})
		})
	}
}

// A server that stands still for 0.6 s of 3 s at 500/s: a fifth of the arrivals
// wait, from 0.6 s down to nothing, so the mean is ½ · 0.6 s ÷ 5 = 60 ms and p99 is
// 0.6 s · (1 − 5 · 1 %) = 570 ms, whatever the number of VUs.
func TestBothEnginesShowAFrozenServer(t *testing.T) {
	t.Parallel()
	overBothEngines(t, func(t *testing.T, run runner) {
		t.Parallel()
		began := sync.OnceValue(time.Now)
		url := "http://" + serveOn(t, "tcp", "127.0.0.1:0", func(nethttp.ResponseWriter, *nethttp.Request) {
			if at := time.Since(began()); at >= time.Second && at < 1600*time.Millisecond {
				time.Sleep(1600*time.Millisecond - at)
			}
		})
		r := run(t, Config{URL: url}, load.Plan{VUs: 20, Pacer: load.ConstantRate(500), Duration: 3 * time.Second, Timeout: 10 * time.Second})
		if r.Completed != 1500 {
			t.Errorf("completed %d of 1500, dropped %d", r.Completed, r.Dropped)
		}
		for what, is := range map[string][2]time.Duration{
			"mean": {r.Response.Mean(), 60 * time.Millisecond},
			"p90":  {r.Response.Quantile(0.90), 300 * time.Millisecond},
			"p99":  {r.Response.Quantile(0.99), 570 * time.Millisecond},
		} {
			if off := (is[0] - is[1]).Abs(); off > is[1]/10+2*floor {
				t.Errorf("%s is %v, want %v", what, is[0], is[1])
			}
		}
		if served := r.Service.Quantile(0.95); served > 100*time.Millisecond {
			t.Errorf("p95 of the service time is %v: it does not know of arrivals that waited", served)
		}
	})
}
