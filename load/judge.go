package load

import (
	"fmt"
	"time"

	"contend/hist"
	"contend/stat"
)

// The shares of the planned iterations beyond which a result carries a warning,
// and a comparison no verdict. They are conventions of this project;
// docs/measuring.md argues each.
const (
	MaxErrorShare = 0.001 // failed and errored
	MinRateShare  = 0.99  // right answers, open model
)

// The other thresholds beyond which a figure must not be believed unread.
const (
	maxGeneratorShare  = 0.10 // of a VU's cycle, closed model
	maxCPUShare        = 0.85 // of the cores that the generator may use
	maxLagShare        = 0.10 // p99 of start lag ÷ p99 of response time
	minLag             = time.Millisecond
	minSamplesBeyond   = 100 // for a percentile
	minSamplesForTails = 1000
)

// judge says what is doubtful about a result by itself; what can only be seen
// beside the server is judged by package trial.
func (r *Result) judge() []stat.Warning {
	warnings := []stat.Warning{}
	warn := func(code, format string, args ...any) {
		warnings = append(warnings, stat.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if r.Stopped == Interrupted {
		warn("interrupted", "the run was interrupted after %v of its measured window", r.Duration.Round(time.Millisecond))
	}
	if r.Completed == 0 {
		warn("nothing_succeeded", "no right answer arrived: planned %d, failed %d, errored %d, dropped %d, unfinished %d",
			r.Planned, r.Failed, r.ErroredTotal(), r.Dropped, r.Unfinished)
		return warnings
	}
	wrong := r.Failed + r.ErroredTotal()
	if share := float64(wrong) / float64(r.Planned); share > MaxErrorShare {
		warn("errors", "%.2f %% of the planned iterations failed or errored, more than %.1f %%", 100*share, 100*MaxErrorShare)
	}
	if r.Model == OpenModel && r.Stopped != Interrupted {
		if share := float64(r.Completed) / float64(r.Planned); share < MinRateShare {
			warn("rate_missed", "%.2f %% of the planned arrivals got a right answer, less than %.0f %%", 100*share, 100*MinRateShare)
		}
	}
	if cut := r.Unfinished + r.Dropped; cut > 0 && float64(cut) > MaxErrorShare*float64(r.Planned) {
		warn("censored", "%d iterations were dropped or unfinished: the slowest are missing, so high percentiles are lower bounds", cut)
	}
	if r.GeneratorShare != nil && *r.GeneratorShare > maxGeneratorShare {
		warn("generator_share", "%.0f %% of each cycle was spent in the generator, not waiting for the target (Little's law)", 100**r.GeneratorShare)
	}
	if used := r.cpuShare(); used >= maxCPUShare && !r.Local {
		warn("generator_busy", "the generator used %.0f %% of the %d cores that it can use: its own limit may be what was measured", 100*used, r.usableCores())
	}
	if lag, bound := r.StartLag.Quantile(0.99), lagBound(r.Response); lag > bound && !r.Local {
		warn("start_lag", "p99 of the start lag is %v: iterations started late, which the response time includes", threeDigits(lag))
	}
	if n := r.Completed; n < minSamplesForTails && !r.Local {
		warn("few_samples", "%d completed iterations: fewer than %d lie beyond p90, so read high percentiles as single events", n, minSamplesBeyond)
	}
	return warnings
}

// threeDigits rounds a duration to three significant digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func lagBound(response *hist.Histogram) time.Duration {
	return max(minLag, time.Duration(maxLagShare*float64(response.Quantile(0.99))))
}

// usableCores returns how many cores the generator can use: an event loop uses
// one.
func (r *Result) usableCores() int {
	if r.Engine == EventLoop {
		return min(r.Loops, r.GeneratorCores)
	}
	return r.GeneratorCores
}

// cpuShare returns the share of the cores it can use that the generator used.
func (r *Result) cpuShare() float64 {
	if r.Duration <= 0 || r.GeneratorCores == 0 {
		return 0
	}
	return r.GeneratorCPUSec / r.Duration.Seconds() / float64(r.usableCores())
}
