package script

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"contend/load"
)

// A guard ends a run whose virtual users take more memory than they may together. An interpreter's
// memory cannot be told from the others': what is looked at is the heap of the process.
type guard struct {
	perVU int64
	base  int64 // of the process without virtual users

	mu  sync.Mutex
	vus map[*vu]bool
	end chan struct{} // nil: nobody looks
	all sync.WaitGroup
}

const (
	// memoryEvery is how often is looked: what is taken meanwhile is beyond the limit.
	memoryEvery = 100 * time.Millisecond
	// memoryApart is what the process may take for itself, in bytes.
	memoryApart = 64 << 20
)

// heap returns the bytes of objects in the heap, those included that nobody can reach any more.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// enter adds a virtual user; with the first one it begins to look.
func (g *guard) enter(v *vu) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.perVU == 0 {
		return
	}
	if g.vus == nil {
		g.vus = map[*vu]bool{}
	}
	g.vus[v] = true
	if g.end == nil {
		g.end = make(chan struct{})
		end := g.end
		g.all.Go(func() { g.look(end) })
	}
}

// leave takes a virtual user away; with the last one it ends looking.
func (g *guard) leave(v *vu) {
	g.mu.Lock()
	delete(g.vus, v)
	end := g.end
	if len(g.vus) > 0 || end == nil {
		g.mu.Unlock()
		return
	}
	g.end = nil
	g.mu.Unlock()
	close(end)
	g.all.Wait()
}

// look looks until the end.
func (g *guard) look(end <-chan struct{}) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var seen int64 // at the last collection of garbage; the next one is due at twice as much
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		limit := g.limit()
		if now := heap(); now <= max(limit, 2*seen) {
			continue
		}
		runtime.GC()
		if seen = heap(); seen > limit {
			g.interrupt(&load.Abort{Reason: fmt.Sprintf("the script takes %d MB of memory, more than --vu-memory allows its callers: %d MB together", seen>>20, limit>>20)})
			return
		}
	}
}

func (g *guard) limit() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.base + memoryApart + g.perVU*int64(len(g.vus))
}

// interrupt ends what all virtual users are at.
func (g *guard) interrupt(why *load.Abort) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for v := range g.vus {
		v.rt.Interrupt(why)
	}
}
