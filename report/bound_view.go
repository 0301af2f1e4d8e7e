package report

import (
	"fmt"

	"contend/metric"
	"contend/sweep"
)

// bounded is the answer of a sweep whose limit was the generator.
func bounded(c sweep.Curve) string {
	at := perSec(c.Enough.Throughput)
	if c.Enough.N.Value < c.Best.N.Value {
		at += fmt.Sprintf(", within %g %% of the %s at %s", 100*sweep.WithinBest, perSec(c.Best.Throughput), metric.Number(c.Best.N.Value))
	}
	text := fmt.Sprintf("best at concurrency %s for this server and this generator on these cores (%s): a bound, as the generator is the limit",
		metric.Number(c.Enough.N.Value), at)
	if b := c.Bound; b.AlonePerSec > 0 {
		text += fmt.Sprintf("; from its %s of CPU time per operation the server alone could do at most %s", metric.Duration(b.ServerCPUPerOp), perSec(b.AlonePerSec))
	}
	return text
}

// bound says what the levels of such a sweep are about.
func bound(v *view, c sweep.Curve) {
	b := c.Bound
	if b == nil {
		return
	}
	v.say("The generator was the limit (%s: %s), so these levels are those of this server and this generator on these cores. Another generator, or a second machine for it, may bring the server further.",
		b.Reason.Code, b.Reason.Text)
	if b.AlonePerSec > 0 {
		v.say("At most the server alone could do %s: %s ÷ %s of CPU time per operation, the least of all levels.",
			perSec(b.AlonePerSec), plural(b.CPUs, "CPU"), metric.Duration(b.ServerCPUPerOp))
	}
}

// boundTrust says in a line what such an answer is worth.
func boundTrust(b sweep.Bound) string {
	text := fmt.Sprintf("Believe it as a bound: the generator was the limit (%s), and the server may do more", b.Reason.Code)
	if b.AlonePerSec > 0 {
		text += fmt.Sprintf(": up to %s at its %s of CPU an operation", inThree(b.AlonePerSec), metric.Duration(b.ServerCPUPerOp))
	}
	return text
}
