package counter

import (
	"log/slog"
	"testing"

	"github.com/valyala/fasthttp"

	"contend/guard"
)

func newTestHandler(tb testing.TB) *handler { tb.Helper(); return newSharingHandler(tb, nil) }

// newSharingHandler is one that shares its counter, unless that is nil.
func newSharingHandler(tb testing.TB, shared *sharing) *handler {
	tb.Helper()
	h, err := newHandler(&phase{}, shared, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.end)
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
	for _, name := range guard.Names(true) {
		paths = append(paths, pathDesigns+name)
	}
	return paths
}
