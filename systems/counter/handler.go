package counter

import (
	"log/slog"

	"github.com/valyala/fasthttp"
)

// Handler returns the HTTP service's handler without a network around it, and
// a function that ends it.
func Handler() (serve fasthttp.RequestHandler, end func(), err error) {
	h, err := newHandler(&phase{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	h.phase.serve()
	return h.serve, h.end, nil
}

// newHandler returns a handler with counters of its own, or with the shared one
// if there is one.
func newHandler(p *phase, s *sharing, log *slog.Logger) (*handler, error) {
	if s != nil {
		routes := s.routes()
		seen := newRequests(routes)
		return &handler{routes: routes, shared: s, phase: p, seen: seen, metrics: metricsHandler(log, seen, redisStats{s}), log: log}, nil
	}
	routes, err := newStatusRoutes()
	if err != nil {
		return nil, err
	}
	seen := newRequests(routes)
	return &handler{routes: routes, phase: p, seen: seen, metrics: metricsHandler(log, seen), log: log}, nil
}

func (h *handler) end() {
	if h.shared != nil {
		h.shared.end()
		return
	}
	for _, r := range h.routes {
		_ = r.own.Close()
	}
}
