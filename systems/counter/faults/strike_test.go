package faults_test

import (
	"sync/atomic"
	"time"

	"contend/internal/testenv"
)

// A fault is something that happens to a fleet, and passes.
type fault struct {
	name       string
	begin, end func(*fleet)
	// bites reports whether it has had an effect, given what had been counted when
	// it began; nil: it needs none.
	bites func(f *fleet, c *crowd, since counts) bool
	// How long it lasts after that: hold, and so many timeouts of an operation.
	hold     time.Duration
	timeouts float64
}

// counts are what a fault may have changed.
type counts struct{ refused, lost, delayed, swallowed, cut, waited int64 }

func (f *fleet) counts(c *crowd) counts {
	now := counts{refused: c.refused.Load(), lost: c.lost.Load()}
	if f.proxy != nil {
		load := func(n *atomic.Int64) int64 { return n.Load() }
		p := f.proxy
		now.delayed, now.swallowed, now.cut, now.waited = load(&p.Delayed), load(&p.Swallowed), load(&p.Cut), load(&p.Waited)
	}
	return now
}

// strike has the fault happen and pass, and waits until every replica is ready
// and callers are acknowledged again.
func (f *fleet) strike(x fault, c *crowd) {
	f.t.Helper()
	since := f.counts(c)
	x.begin(f)
	if x.bites != nil {
		bitten := func() bool { return c.running.Load() == 0 || x.bites(f, c, since) }
		testenv.Eventually(f.t, x.name+" has an effect", bitten)
	}
	time.Sleep(x.hold + time.Duration(x.timeouts*float64(f.timeout)))
	x.end(f)
	f.allReady()
	due := c.acknowledged.Load() + int64(len(f.replicas))
	c.progress("the service has recovered from: "+x.name, func() bool {
		return c.running.Load() == 0 || c.acknowledged.Load() >= due
	})
}

func nothing(*fleet) {}

var calm = fault{name: "nothing", begin: nothing, end: nothing}
