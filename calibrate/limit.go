package calibrate

import (
	"context"
	"errors"
	"time"

	"contend/load"
)

// A limit is measured with so many callers, as many as make a generator busy, and LimitTakes is how long is enough.
const (
	limitCallers = 50
	LimitTakes   = 1500 * time.Millisecond
)

// Limit drives a lean server on this machine, which is another process, and returns how many requests
// a second this process could send with all CPU that it may use. It warms up for a fifth of the time that it takes.
func Limit(ctx context.Context, name string, target load.Target, takes time.Duration) (perSec float64, err error) {
	r, err := load.Run(ctx, name, target, load.Plan{VUs: limitCallers, Warmup: takes / 5, Duration: takes, Grace: load.DefaultGrace})
	if err != nil {
		return 0, err
	}
	if perSec = limitOf(r); perSec == 0 {
		return 0, errors.New("what a request costs is not known")
	}
	return perSec, nil
}

// limitOf is the right answers of a second of CPU time times the cores that the process may use: that
// the server had some of them decides nothing. 0: not known.
func limitOf(r *load.Result) float64 {
	cores := float64(r.GeneratorCores)
	if r.GeneratorCPUs > 0 {
		cores = min(cores, float64(r.GeneratorCPUs))
	}
	if r.GeneratorCPULimit > 0 {
		cores = min(cores, r.GeneratorCPULimit)
	}
	if r.GeneratorCPUSec <= 0 {
		return 0
	}
	return float64(r.Completed) / r.GeneratorCPUSec * cores
}
