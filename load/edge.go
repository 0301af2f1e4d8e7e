package load

import (
	"sync"
	"sync/atomic"
	"time"

	"contend/internal/cpu"
)

// edge observes an end of the measured window, once: the driver that gets there
// first does, since on a busy machine the watching goroutine may be late.
func (r *run) edge(e Edge) cpu.Spent {
	at := &r.edges[e-WindowOpens]
	at.once.Do(func() {
		if r.plan.AtEdge != nil {
			r.plan.AtEdge(e)
		}
		at.spent = cpu.Read(r.threads)
		at.passed.Store(true)
	})
	return at.spent
}

// An observedEdge is what was spent when the measured window opened or closed.
type observedEdge struct {
	once   sync.Once
	spent  cpu.Spent
	passed atomic.Bool
}

// pass observes the opening of the window when its time has come.
func (r *run) pass(now time.Duration) {
	if now >= r.plan.Warmup && !r.edges[0].passed.Load() {
		r.edge(WindowOpens)
	}
}
