package report

import (
	"fmt"

	"contend/internal/unit"
	"contend/sweep"
)

// bound says what the levels of such a sweep are about.
func bound(v *view, c sweep.Curve) {
	b := c.Bound
	if b == nil {
		return
	}
	v.say("The load generator was the bottleneck (%s: %s), so these levels describe this server and this load generator on these cores. With another load generator, or a second machine for it, the server may do more.",
		b.Reason.Code, b.Reason.Text)
	if b.AlonePerSec > 0 {
		v.say("Alone, the server could do at most %s: %s ÷ %s of CPU time per op, the least of all levels.",
			unit.Rate(b.AlonePerSec), plural(b.CPUs, "CPU"), unit.Duration(b.ServerCPUPerOp))
	}
}

// boundTrust says in a line what such an answer is worth.
func boundTrust(b sweep.Bound) string {
	text := fmt.Sprintf("Lower bound: the load generator was the bottleneck (%s); the server can do more", b.Reason.Code)
	if b.AlonePerSec > 0 {
		text += fmt.Sprintf(", at most %s at its %s of CPU per op", unit.Rate(b.AlonePerSec), unit.Duration(b.ServerCPUPerOp))
	}
	return text
}
