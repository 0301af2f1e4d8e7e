package cli

import (
	"errors"
	"fmt"
	"time"

	"contend/load"
	"contend/pace"
	"contend/protocol/script"
	"contend/setting"
)

// runSettings are the settings of a run other than its target.
type runSettings struct {
	load.Plan
	Expect []string `flag:"expect" list:"repeat" words:"exit with code 3 unless this *claim* holds, such as 'p99 < 20ms' or 'errors < 0.1%', about throughput, errors, p50, p95, p99, p99.9, max, mean, server memory or server CPU per op (all: contend explain --full metric); repeatable"`
	Export string   `flag:"summary-export" words:"write the script's summary as JSON, in the form of k6, to this *file*"`
	Strict bool     `flag:"strict" words:"exit with code 4 if the result of a script is INVALID, as runs without a script do"`
	Stages string   `flag:"stages" words:"open model: *stages* in sequence, as in 100/10s,100-500/30s,500/1m"`
	ownServer
	portChoice
	remembered
	outlets
	fleetOptions

	warms  bool           // no warm-up is given, so that a pilot finds out how long one must be
	script *script.Target // nil: none
	unread bool           // there is one, which has a mistake
	alike  setting.Values // what a sweep is given to drive the same
}

// plan returns the plan that is asked for, and every mistake in it.
func (r *runSettings) plan(o *options) (load.Plan, error) {
	unread := o.read()
	errs := []error{unread, r.oneForm(), r.checkExpected(), r.outlets.check(), r.checkPort(o)}
	p := r.Plan
	r.warms = !o.has("warmup")
	if r.script == nil && !r.unread {
		if r.Export != "" {
			errs = append(errs, setting.At(r, &r.Export).Wrong("is %q, but there is no script", r.Export))
		}
		if r.Strict {
			errs = append(errs, setting.At(r, &r.Strict).Wrong("is of scripts; every other run is strict"))
		}
	}
	if r.Stages != "" && o.has("rate") {
		errs = append(errs, errors.New("use either --rate or --stages, not both"))
	} else if r.Stages != "" {
		var err error
		if p.Pacer, err = pace.Parse("steps:" + r.Stages); err != nil {
			errs = append(errs, setting.At(r, &r.Stages).Wrong("is %q: %v", r.Stages, err))
		}
	}
	if unread == nil && o.has("iterations") && p.Iterations == 0 {
		errs = append(errs, setting.At(&p, &p.Iterations).OutOf(p.Iterations, "1 or more; omit it if only the time should end the run"))
	}
	if p.Pacer != nil && !o.has("concurrency") {
		p.VUs = load.AmpleVUs(p.Pacer.Peak())
	}
	if p.Duration == 0 && p.Iterations == 0 && !o.has("duration") {
		var err error
		p.Duration, err = defaultWindow(p)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil && (o.has("duration") || o.has("iterations")) && p.Duration == 0 && p.Iterations == 0 {
		p.Duration = defaultDuration // what cannot be read is no 0
	}
	return p, setting.FlagErrors(errors.Join(append(errs, p.Validate())...))
}

// defaultWindow is the measured window if neither its length nor a number of
// iterations is given: what the stages leave after the warm-up, or 10 s.
func defaultWindow(p load.Plan) (time.Duration, error) {
	switch {
	case p.Pacer == nil || p.Pacer.Length() == 0:
		return defaultDuration, nil
	case p.Pacer.Length() <= p.Warmup:
		return defaultDuration, setting.At(&p, &p.Warmup).OutOf(p.Warmup, fmt.Sprintf("less than the %v of all stages together", p.Pacer.Length()))
	}
	return p.Pacer.Length() - p.Warmup, nil
}
