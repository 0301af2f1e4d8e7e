package report

import (
	"fmt"

	"contend/internal/unit"
	"contend/load"
	"contend/trial"
)

// aboutCounting says once how counted events may be read, and what counting cost.
func (d *Document) aboutCounting(v *view) {
	var counted, timed float64
	shown := false
	for _, r := range d.Results {
		if r.Counted == nil {
			continue
		}
		shown = true
		if r.ThroughputPerSec > 0 {
			counted, timed = counted+r.Counted.Throughput(), timed+r.ThroughputPerSec
		}
	}
	if !shown {
		return
	}
	slower := ""
	if timed > counted {
		slower = fmt.Sprintf(", in which the throughput was %.0f%% lower", 100*(1-counted/timed))
	}
	v.say("Events were counted in blocks of their own%s; each from before its first request until after its last answer. "+
		"Instructions are not time: waiting, caches and spinning are in the times only.", slower)
}

// oneCaller says what a response time at one caller is made of, where nothing
// happens at the same time and the parts add up.
func oneCaller(v *view, cells []trial.Cell) {
	for _, c := range cells {
		if c.Server == nil || c.Model != load.ClosedModel || c.Concurrency != 1 || c.Completed == 0 || c.Plan.Think > 0 {
			continue
		}
		part := func(seconds float64) float64 { return seconds / float64(c.Completed) * 1e9 }
		mean := float64(c.Service.Mean())
		server, waited, generator := part(c.Server.CPUSec), part(c.Server.WaitedSec), part(c.GeneratorCPUSec)
		rest := mean - server - waited - generator
		if rest < 0 {
			continue
		}
		about := ""
		if c.Arm != "" {
			about = c.Arm + ": "
		}
		v.say("%sa service time at one caller, %s on average, is %s in which the server ran, %s in which it waited for a core, %s of the generator, and %s off the CPU, waking up and on the way.",
			about, unit.Duration(mean), unit.Duration(server), unit.Duration(waited), unit.Duration(generator), unit.Duration(rest))
	}
}
