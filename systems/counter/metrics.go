package counter

import (
	"log/slog"
	"strconv"
	"sync"

	"contend/systems/counter/redis"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// otherPath is the label of every path that is not in the contract, so that
// callers cannot make new series.
const otherPath = "other"

// requests counts HTTP requests by path and code. A counting path with a counter
// of its own adds one per answer, so that is the number of its answers: a scrape
// reads it, and the hot path pays nothing and shares no cache line between designs.
type requests struct {
	desc   *prometheus.Desc
	routes map[string]*statusRoute

	mu   sync.Mutex
	rest map[pathCode]uint64 // every answer that is not a status
}

type pathCode struct {
	path string
	code int
}

func newRequests(routes map[string]*statusRoute) *requests {
	return &requests{
		desc: prometheus.NewDesc("contend_counter_http_requests_total",
			"HTTP requests answered, by path and status code.", []string{"path", "code"}, nil),
		routes: routes,
		rest:   make(map[pathCode]uint64),
	}
}

// count counts one answer that is not a status.
func (r *requests) count(path string, code int) {
	switch path {
	case pathHealth, pathReady, pathMetrics, pathOpenAPI, pathProto:
	default:
		if r.routes[path] == nil {
			path = otherPath
		}
	}
	r.mu.Lock()
	r.rest[pathCode{path, code}]++
	r.mu.Unlock()
}

func (r *requests) Describe(ch chan<- *prometheus.Desc) { ch <- r.desc }

func (r *requests) Collect(ch chan<- prometheus.Metric) {
	for path, route := range r.routes {
		n, err := route.answers()
		if err != nil {
			ch <- prometheus.NewInvalidMetric(r.desc, err)
			continue
		}
		ch <- r.metric(float64(n), pathCode{path, fasthttp.StatusOK})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, n := range r.rest {
		ch <- r.metric(float64(n), k)
	}
}

func (r *requests) metric(n float64, k pathCode) prometheus.Metric {
	return prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue, n, k.path, strconv.Itoa(k.code))
}

// redisStats tells what the shared counter has cost.
type redisStats struct{ shared Shared }

// redisTotals are the counters of redisStats: their names between
// contend_counter_redis_ and _total, and what they count.
func redisTotals(s redis.Stats) []struct {
	name, help string
	n          uint64
} {
	return []struct {
		name, help string
		n          uint64
	}{
		{"increments", "Increments that Redis confirmed.", s.Increments},
		{"round_trips", "Writes to the connections to Redis.", s.RoundTrips},
		{"commands", "Commands sent to Redis.", s.Commands},
		{"conflicts", "Attempts given up because somebody else changed the counter meanwhile.", s.Conflicts},
		{"replayed", "Increments answered again, by their idempotency key.", s.Replayed},
		{"indeterminate", "Increments that may or may not have happened.", s.Indeterminate},
		{"refused", "Increments that did not happen, because Redis could not be reached or refused.", s.Refused},
	}
}

func (r redisStats) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, ch) }

func (r redisStats) Collect(ch chan<- prometheus.Metric) {
	for _, total := range redisTotals(r.shared.Stats()) {
		desc := prometheus.NewDesc("contend_counter_redis_"+total.name+"_total", total.help, nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(total.n))
	}
}

// metricsHandler serves the collectors given, the process and the runtime.
func metricsHandler(log *slog.Logger, own ...prometheus.Collector) fasthttp.RequestHandler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own...)
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	}))
}
