package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Load is what a script's options say about the load. What is zero is not said.
type Load struct {
	VUs        int
	Iterations int64
	Duration   time.Duration
	// Rate is the open model's, as settings have it: constant:100, steps:1-5/10s,….
	Rate string
	// Grace is how long iterations in flight may take after the end; 30 s by default.
	Grace time.Duration
	// Exec is the function that is an iteration, "" for default; Env is added to __ENV.
	Exec string
	Env  map[string]string
	// Scenario is the scenario's name and Executor what drives it; "": none is named.
	Scenario, Executor string
}

// a stage is a length and what is reached at its end.
type stage struct {
	Duration json.RawMessage `json:"duration"`
	Target   float64         `json:"target"`
}

// a scenarioOptions has the fields of all executors.
type scenarioOptions struct {
	Executor        string            `json:"executor"`
	VUs             int               `json:"vus"`
	Iterations      int64             `json:"iterations"`
	Duration        json.RawMessage   `json:"duration"`
	MaxDuration     json.RawMessage   `json:"maxDuration"`
	Rate            float64           `json:"rate"`
	StartRate       float64           `json:"startRate"`
	TimeUnit        json.RawMessage   `json:"timeUnit"`
	PreAllocatedVUs int               `json:"preAllocatedVUs"`
	MaxVUs          int               `json:"maxVUs"`
	Stages          []stage           `json:"stages"`
	GracefulStop    json.RawMessage   `json:"gracefulStop"`
	StartTime       json.RawMessage   `json:"startTime"`
	Exec            string            `json:"exec"`
	Env             map[string]string `json:"env"`
	Tags            map[string]string `json:"tags"`
}

// Executors are those that can be run, with what each does.
var executors = map[string]func(*Load, *scenarioOptions) error{
	"shared-iterations":     (*Load).sharedIterations,
	"constant-vus":          (*Load).constantVUs,
	"constant-arrival-rate": (*Load).constantRate,
	"ramping-arrival-rate":  (*Load).rampingRate,
}

// Executors returns the names of those that can be run.
func Executors() []string { return slices.Sorted(maps.Keys(executors)) }

// instead says what to do about executors that cannot be run.
var instead = map[string]string{
	"ramping-vus":           "contend sweep finds how many callers are best, and ramping-arrival-rate ramps",
	"per-vu-iterations":     "shared-iterations with vus × iterations drives as many",
	"externally-controlled": "the load is planned before it begins",
}

func (o *Options) readStages(raw json.RawMessage) error {
	var stages []stage
	if err := decode(raw, &stages); err != nil || len(stages) == 0 {
		return err
	}
	return errors.New("ramps callers, which is not possible: " + instead["ramping-vus"])
}

func (o *Options) readScenarios(raw json.RawMessage) error {
	var all map[string]json.RawMessage
	if err := decode(raw, &all); err != nil || len(all) == 0 {
		return err
	}
	if len(all) > 1 {
		return fmt.Errorf("has %s; one can be driven at a time: put the others into scripts of their own", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	for name, raw := range all {
		var s scenarioOptions
		if err := decode(raw, &s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		run, ok := executors[s.Executor]
		if !ok {
			hint := "; allowed: " + strings.Join(Executors(), ", ")
			if instead[s.Executor] != "" {
				hint = ", which is not possible: " + instead[s.Executor]
			}
			return fmt.Errorf("%s: executor is %q%s", name, s.Executor, hint)
		}
		o.Scenario, o.Executor, o.Exec, o.Env = name, s.Executor, s.Exec, s.Env
		if err := errors.Join(run(&o.Load, &s), o.common(&s)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// common reads what all executors have.
func (l *Load) common(s *scenarioOptions) (err error) {
	if start, err := optional(s.StartTime, 0); err != nil || start != 0 {
		return errors.Join(err, fmt.Errorf("startTime is %s, but there is nothing before it: leave it out", s.StartTime))
	}
	l.Grace, err = optional(s.GracefulStop, defaultGrace)
	return err
}

// defaultGrace is how long iterations may take after the end of a scenario.
const defaultGrace = 30 * time.Second

func optional(raw json.RawMessage, otherwise time.Duration) (time.Duration, error) {
	if len(raw) == 0 {
		return otherwise, nil
	}
	return readDuration(raw)
}

func (l *Load) sharedIterations(s *scenarioOptions) (err error) {
	l.VUs, l.Iterations = max(1, s.VUs), max(1, s.Iterations)
	l.Duration, err = optional(s.MaxDuration, 10*time.Minute)
	return err
}

func (l *Load) constantVUs(s *scenarioOptions) (err error) {
	l.VUs = max(1, s.VUs)
	if len(s.Duration) == 0 {
		return errors.New("duration is missing")
	}
	l.Duration, err = readDuration(s.Duration)
	return err
}

func (l *Load) constantRate(s *scenarioOptions) error {
	unit, unitErr := optional(s.TimeUnit, time.Second)
	if s.Rate <= 0 || len(s.Duration) == 0 || s.PreAllocatedVUs <= 0 {
		return errors.New("rate, duration and preAllocatedVUs must be given")
	}
	var err error
	l.Duration, err = readDuration(s.Duration)
	l.VUs = max(s.PreAllocatedVUs, s.MaxVUs)
	l.Rate = "constant:" + perSecond(s.Rate, unit)
	return errors.Join(unitErr, err)
}

// rampingRate makes a stage of no length a jump.
func (l *Load) rampingRate(s *scenarioOptions) error {
	unit, err := optional(s.TimeUnit, time.Second)
	if err != nil || len(s.Stages) == 0 || s.PreAllocatedVUs <= 0 {
		return errors.Join(err, errors.New("stages and preAllocatedVUs must be given"))
	}
	var steps []string
	rate := s.StartRate
	for _, stage := range s.Stages {
		d, err := readDuration(stage.Duration)
		if err != nil {
			return fmt.Errorf("stages: duration %w", err)
		}
		if d > 0 {
			steps = append(steps, fmt.Sprintf("%s-%s/%v", perSecond(rate, unit), perSecond(stage.Target, unit), d))
			l.Duration += d
		}
		rate = stage.Target
	}
	l.VUs = max(s.PreAllocatedVUs, s.MaxVUs)
	l.Rate = "steps:" + strings.Join(steps, ",")
	return nil
}

// perSecond is a rate per unit as one per second.
func perSecond(rate float64, unit time.Duration) string {
	return strconv.FormatFloat(rate/unit.Seconds(), 'g', 6, 64)
}
