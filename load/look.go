package load

import (
	"math"
	"time"

	"contend/internal/cpu"
)

// lookEvery is how often it is looked at what generator and server used of the CPU: so rarely
// that it costs less than 0.1% of a core, and that short blocks are not looked into at all.
const lookEvery = 250 * time.Millisecond

// A look is what was used up to a moment, an offset from the start of the run.
type look struct{ at, generator, server time.Duration }

// look takes what was used since the last look into the course.
func (r *run) look() {
	now := look{at: r.elapsed()}
	now.generator, _ = cpu.Time()
	if r.plan.ServerCPU != nil {
		now.server = r.plan.ServerCPU()
	}
	if last := r.looked; last != (look{}) {
		opens := r.plan.Warmup
		r.used.spend(last.at-opens, now.at-opens, max(0, now.generator-last.generator), max(0, now.server-last.server))
	}
	r.looked = now
}

// spend spreads CPU time evenly over the intervals from one moment to another.
func (c *Course) spend(from, to, generator, server time.Duration) {
	part := func(all, until time.Duration) time.Duration {
		return time.Duration(math.Round(float64(all) * float64(until-from) / float64(to-from)))
	}
	for at := from; at < to; {
		in := c.At(at)
		next := min(to, c.from+c.Width)
		in.GeneratorCPU += part(generator, next) - part(generator, at)
		in.ServerCPU += part(server, next) - part(server, at)
		at = next
	}
}
