package stat

import (
	"fmt"
	"math"
	"time"

	"contend/finding"
	"contend/internal/unit"
)

// Occupancy is what Little's law derives from the figures of a closed-model run.
type Occupancy struct {
	// CallsInFlight is the mean number of calls that the target held at a time.
	CallsInFlight float64 `json:"calls_in_flight"`
	// ShareOutside is the part of a virtual user's cycle outside the call, in [0, 1]:
	// generator work, and think time where the plan has any.
	ShareOutside float64 `json:"share_outside"`
	// Residual is 1 − X·T/N, how far throughput and iteration time miss each other;
	// 0 when no iteration time was given. Positive: VUs were idle between iterations.
	Residual float64           `json:"residual,omitzero"`
	Warnings []finding.Warning `json:"warnings,omitempty"`
}

// Little applies Little's law, in flight = rate × time (Little 1961, "A proof for the
// queuing formula L = λW", Operations Research 9), to N virtual users without think
// time that completed X iterations per second:
//
//	calls in flight = X·S              S = mean service time (start → completion)
//	share outside   = 1 − S/T          T = mean iteration time, if given (not 0)
//	                = 1 − X·S/N        otherwise
//	residual        = 1 − X·T/N
//
// S must be the service time; with response times the law would be an identity.
// Warnings: generator_share when more than 10% of the cycle is outside the call,
// generator_saturated instead when more than 30% is, little_mismatch when the figures
// miss the law by more than 5% and so cannot all be means of the same run. An error
// means a figure that is not positive (iterationMean may be 0) or not finite.
func Little(vus, throughput float64, serviceMean, iterationMean time.Duration) (Occupancy, error) {
	if !(vus > 0) || math.IsInf(vus, 0) {
		return Occupancy{}, fmt.Errorf("stat: concurrency is %g; expected above 0", vus)
	}
	if !(throughput > 0) || math.IsInf(throughput, 0) {
		return Occupancy{}, fmt.Errorf("stat: throughput is %g per second; expected above 0", throughput)
	}
	if serviceMean <= 0 {
		return Occupancy{}, fmt.Errorf("stat: mean service time is %v; expected above 0", serviceMean)
	}
	if iterationMean < 0 {
		return Occupancy{}, fmt.Errorf("stat: mean iteration time is %v; expected above 0, or 0 for unknown", iterationMean)
	}
	o := Occupancy{CallsInFlight: throughput * serviceMean.Seconds()}
	busy := o.CallsInFlight / vus
	mismatch := max(0, busy-1)
	if iterationMean > 0 {
		busy = serviceMean.Seconds() / iterationMean.Seconds()
		o.Residual = 1 - throughput*iterationMean.Seconds()/vus
		mismatch = max(mismatch, busy-1, math.Abs(o.Residual))
	}
	o.ShareOutside = max(0, 1-busy)
	o.Warnings = o.warnings(vus, mismatch)
	return o, nil
}

func (o Occupancy) warnings(vus, mismatch float64) []finding.Warning {
	var ws []finding.Warning
	switch {
	case o.ShareOutside > finding.GeneratorShare.Refuses:
		ws = append(ws, finding.GeneratorSaturated.Warning("%.0f%% of each cycle was spent outside the call: the server had %s calls of %s callers, "+
			"so these numbers describe the load generator", 100*o.ShareOutside, unit.Digits(o.CallsInFlight), unit.Number(vus)))
	case o.ShareOutside > finding.GeneratorShare.Warns:
		ws = append(ws, finding.GeneratorShare.Warning("%.0f%% of each cycle was spent outside the call: the server had %s calls of %s callers",
			100*o.ShareOutside, unit.Digits(o.CallsInFlight), unit.Number(vus)))
	}
	if mismatch > finding.LittleMismatch.Warns {
		ws = append(ws, finding.LittleMismatch.Warning("throughput, mean times and concurrency miss Little's law by %.0f%%: "+
			"they are not all means over the same window", 100*mismatch))
	}
	return ws
}
