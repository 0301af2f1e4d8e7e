package telemetry

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Page shows Prometheus what a load has come to so far, at /metrics, as text or OpenMetrics. It
// is safe for concurrent use.
type Page struct {
	server http.Server
	ended  chan struct{}

	mu    sync.Mutex
	shown []Reading
}

// scrapeLimit bounds how long a connection may take for its request, and for the answer.
const scrapeLimit = 10 * time.Second

// Serve serves the page on a listener until Close.
func Serve(listener net.Listener) *Page {
	p := &Page{ended: make(chan struct{})}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 2}))
	p.server = http.Server{Handler: mux, ReadTimeout: scrapeLimit, WriteTimeout: scrapeLimit}
	go func() {
		defer close(p.ended)
		_ = p.server.Serve(listener) // until it is closed
	}()
	return p
}

// Show has the page show other readings.
func (p *Page) Show(readings []Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = readings
}

// Close ends the page.
func (p *Page) Close() {
	_ = p.server.Close()
	<-p.ended
}

// Describe describes nothing: what there is depends on what was measured.
func (p *Page) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures of all readings.
func (p *Page) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	readings := p.shown
	p.mu.Unlock()
	for i := range readings {
		r := &readings[i]
		labels := prometheus.Labels{}
		for _, a := range r.attributes() {
			labels[a.key] = a.text
		}
		for _, f := range figures() {
			f.collect(ch, r, labels)
		}
		for _, d := range distributions() {
			h, buckets := d.of(r), map[float64]uint64{}
			for i, n := range h.CountsUpTo(limits()...) {
				buckets[limits()[i].Seconds()] = uint64(n)
			}
			ch <- prometheus.MustNewConstHistogram(prometheus.NewDesc(d.prometheus, d.words, nil, labels),
				uint64(h.Count()), h.Mean().Seconds()*float64(h.Count()), buckets)
		}
	}
}

func (f *figure) collect(ch chan<- prometheus.Metric, r *Reading, labels prometheus.Labels) {
	kind := prometheus.GaugeValue
	if f.counter {
		kind = prometheus.CounterValue
	}
	for _, v := range f.values(r) {
		var keys, texts []string
		for _, a := range v.attributes {
			keys, texts = append(keys, a.key), append(texts, a.text)
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.prometheus, f.words, keys, labels), kind, v.n, texts...)
	}
}

// limits are those of the buckets of Prometheus: six for each power of ten, from 10 µs to 10 s.
func limits() (list []time.Duration) {
	for power := 10 * time.Microsecond; power < 10*time.Second; power *= 10 {
		for _, tenths := range []time.Duration{10, 15, 20, 30, 50, 70} {
			list = append(list, power*tenths/10)
		}
	}
	return append(list, 10*time.Second)
}
