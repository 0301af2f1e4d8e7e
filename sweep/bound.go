package sweep

import (
	"cmp"

	"contend/finding"
	"contend/trial"
)

// A Bound is what a sweep shows of a server that takes less than the generator needs to
// ask: Best and Enough are then of the two together on these cores.
type Bound struct {
	// Reason says by what the generator was seen to be the limit, at the best of the
	// levels where it was.
	Reason finding.Warning `json:"reason"`
	// ServerCPUPerOp is the least CPU time, in nanoseconds, that the server took for an
	// operation at any level. AlonePerSec is how many operations per second it could do if
	// its CPUs did nothing else: CPUs ÷ ServerCPUPerOp. 0: the server's CPU time is not
	// known.
	ServerCPUPerOp float64 `json:"server_cpu_ns_per_op,omitempty"`
	CPUs           int     `json:"cpus,omitempty"`
	AlonePerSec    float64 `json:"alone_per_s,omitempty"`
}

// bound returns a lower bound if no peak was measured and levels are INVALID only
// because the generator was the bottleneck; else nil.
func (c *Curve) bound() *Bound {
	if c.Enough == nil || c.Fit != nil && c.Fit.Peak != nil {
		return nil
	}
	var limited *trial.Cell
	for i, level := range c.Results {
		switch reason := level.Doubt(); {
		case reason == nil:
		case !reason.Is(finding.GeneratorSaturated):
			return nil
		case limited == nil || level.ThroughputPerSec > limited.ThroughputPerSec:
			limited = &c.Results[i]
		}
	}
	if limited == nil {
		return nil
	}
	b := &Bound{Reason: *limited.Doubt()}
	for _, level := range c.Results {
		if level.Server == nil || level.Server.CPUSec == 0 || level.Ops == 0 {
			continue
		}
		if perOp := level.Server.CPUSec / float64(level.Ops) * 1e9; b.ServerCPUPerOp == 0 || perOp < b.ServerCPUPerOp {
			b.ServerCPUPerOp = perOp
			b.CPUs = cmp.Or(level.Server.CPUs, level.GeneratorCPUs, level.GeneratorCores)
			b.AlonePerSec = float64(b.CPUs) / perOp * 1e9
		}
	}
	return b
}
