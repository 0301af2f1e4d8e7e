//go:build !race

package counter

import "testing"

// The race detector makes sync.Pool forget at random, so this runs without it.
func TestStatusDoesNotAllocate(t *testing.T) {
	h := newTestHandler(t)
	for _, path := range append([]string{pathAtomic, pathMutex}, designPaths()...) {
		if path == pathDesigns+"inputq" {
			continue // the published design allocates a reply channel per call
		}
		t.Run(path, func(t *testing.T) {
			ctx := newGet(path)
			got := testing.AllocsPerRun(1000, func() {
				ctx.Response.Reset()
				h.serve(ctx)
			})
			if got != 0 {
				t.Errorf("%v allocations per request, want 0", got)
			}
		})
	}
}
