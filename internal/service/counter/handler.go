package counter

import (
	"log/slog"

	"github.com/valyala/fasthttp"
)

// Handler returns the HTTP service's handler without a network around it, and
// a function that ends it.
func Handler() (serve fasthttp.RequestHandler, end func(), err error) {
	h, err := newHandler(&phase{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	h.phase.serve()
	return h.serve, h.end, nil
}

func newHandler(p *phase, log *slog.Logger) (*handler, error) {
	routes, err := newStatusRoutes()
	if err != nil {
		return nil, err
	}
	seen := newRequests(routes)
	return &handler{routes: routes, phase: p, seen: seen, metrics: metricsHandler(log, seen), log: log}, nil
}

func (h *handler) end() {
	for _, r := range h.routes {
		_ = r.tally.Close()
	}
}
