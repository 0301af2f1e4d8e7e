package load

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/pace"
)

// A knownLatency is a distribution of service times with its quantile function.
type knownLatency struct {
	name     string
	quantile func(q float64) time.Duration
	mean     time.Duration
}

const ms = float64(time.Millisecond)

var knownLatencies = []knownLatency{
	{"constant", func(float64) time.Duration { return 10 * time.Millisecond }, 10 * time.Millisecond},
	// F(t) = 1 − e^(−t/m), so Q(q) = −m·ln(1−q)
	{"exponential", func(q float64) time.Duration { return time.Duration(-10 * ms * math.Log(1-q)) }, 10 * time.Millisecond},
	{"bimodal", func(q float64) time.Duration { // 9 in 10 take 5 ms, the others 50: 9.5 ms on average
		if q < 0.9 {
			return 5 * time.Millisecond
		}
		return 50 * time.Millisecond
	}, 9500 * time.Microsecond},
}

// target takes the quantiles at (i+½)/n in random order: n iterations have the
// distribution itself, not a sample of it.
func (k knownLatency) target(n int) Func {
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	var i atomic.Int64
	return func(context.Context) (Outcome, error) {
		time.Sleep(k.quantile((float64(order[int(i.Add(1)-1)%n]) + 0.5) / float64(n)))
		return Outcome{}, nil
	}
}

func TestKnownLatenciesInTheClosedModel(t *testing.T) {
	const n = 10_000
	for _, k := range knownLatencies {
		r := inBubble(t, k.target(n), Plan{VUs: 1, Iterations: n})
		within(t, k.name+" mean", r.Response.Mean(), k.mean, 0.01)
		for _, q := range []float64{0.1, 0.5, 0.75, 0.95, 0.99, 0.999} {
			within(t, k.name, r.Response.Quantile(q), k.quantile(q), 0.01)
			within(t, k.name, r.Service.Quantile(q), k.quantile(q), 0.01)
		}
	}
}

// With a VU for every arrival nothing waits, so the response time is the
// service time.
func TestKnownLatenciesInTheOpenModel(t *testing.T) {
	const n = 10_000
	for _, k := range knownLatencies {
		r := inBubble(t, k.target(n), Plan{VUs: 1000, Pacer: pace.Constant(1000), Duration: n * time.Millisecond, Grace: DefaultGrace})
		if r.Completed != n {
			t.Fatalf("%s: completed %d of %d", k.name, r.Completed, n)
		}
		within(t, k.name+" mean", r.Response.Mean(), k.mean, 0.01)
		for _, q := range []float64{0.5, 0.95, 0.99} {
			within(t, k.name, r.Response.Quantile(q), k.quantile(q), 0.01)
		}
	}
}

// A server that stops from 2 s to 3 s of a run of 5 s at 5000/s: 5000 of 25 000 arrivals
// wait, from 1 s down to nothing, so the mean is ½ s ÷ 5 = 100 ms more and 1 − q of
// all wait longer than 1 s · (1 − 5(1−q)): 950 ms at p99, 500 ms at p90. The engine
// may have as few VUs as it likes: an arrival without a free VU waits, and the wait
// counts.
func TestAFrozenServerShows(t *testing.T) {
	for _, vus := range []int{50, 6000} {
		began := sync.OnceValue(time.Now)
		frozen := Func(func(context.Context) (Outcome, error) {
			if now := time.Since(began()); now >= 2*time.Second && now < 3*time.Second {
				time.Sleep(3*time.Second - now)
			}
			time.Sleep(100 * time.Microsecond)
			return Outcome{}, nil
		})
		r := inBubble(t, frozen, Plan{VUs: vus, Pacer: pace.Constant(5000), Duration: 5 * time.Second, Grace: DefaultGrace})
		if r.Completed != 25_000 {
			t.Errorf("%d VUs: completed %d of 25000", vus, r.Completed)
		}
		within(t, "mean", r.Response.Mean(), 100*time.Millisecond, 0.02)
		within(t, "p90", r.Response.Quantile(0.90), 500*time.Millisecond, 0.02)
		within(t, "p99", r.Response.Quantile(0.99), 950*time.Millisecond, 0.01)
	}
}
