package counter

import (
	"log/slog"
	"testing"

	"github.com/valyala/fasthttp"
)

func newTestHandler(tb testing.TB) *handler {
	tb.Helper()
	routes, err := newStatusRoutes()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, r := range routes {
			_ = r.tally.Close()
		}
	})
	log := slog.New(slog.DiscardHandler)
	seen := newRequests(routes)
	h := &handler{routes: routes, phase: &phase{}, seen: seen, metrics: metricsHandler(log, seen), log: log}
	h.phase.serve()
	return h
}

func newGet(path string) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.SetRequestURI(path)
	return ctx
}

// BenchmarkHandler is the published handler benchmark for every counting path.
// The response is reset per iteration, as the server does; the published one
// appends to a body that grows for the whole benchmark.
func BenchmarkHandler(b *testing.B) {
	h := newTestHandler(b)
	for _, path := range append([]string{pathAtomic, pathMutex}, designPaths()...) {
		b.Run("path="+path[1:]+"/serial", func(b *testing.B) {
			ctx := newGet(path)
			b.ReportAllocs()
			for b.Loop() {
				ctx.Response.Reset()
				h.serve(ctx)
			}
		})
		b.Run("path="+path[1:]+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				ctx := newGet(path)
				for pb.Next() {
					ctx.Response.Reset()
					h.serve(ctx)
				}
			})
		})
	}
}

func designPaths() []string {
	var paths []string
	for _, name := range designNames() {
		paths = append(paths, pathDesigns+name)
	}
	return paths
}
