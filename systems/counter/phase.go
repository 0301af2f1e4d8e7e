package counter

import "sync/atomic"

// A phase is where a server is in its life. The zero value is starting.
type phase struct{ at atomic.Int32 }

const (
	phaseServing = iota + 1
	phaseDraining
)

func (p *phase) serve()         { p.at.Store(phaseServing) }
func (p *phase) drain()         { p.at.Store(phaseDraining) }
func (p *phase) serving() bool  { return p.at.Load() == phaseServing }
func (p *phase) draining() bool { return p.at.Load() == phaseDraining }
