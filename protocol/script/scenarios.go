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

	"contend/pace"
	"contend/setting"
)

// A Load is one scenario of a script, or what the other options say about its load. Zero means not set.
type Load struct {
	// Name is the scenario's, and Executor what drives it; "": none is named.
	Name, Executor string
	VUs            int
	Iterations     int64
	// PerVU is how many of these each virtual user does; 0: no limit.
	PerVU int64
	// Duration is until its end, Start included.
	Duration, Start time.Duration
	// Rate is the open model's, as settings have it: constant:100, steps:1-5/10s,….
	Rate string
	// Callers are how many virtual users there are over time, as package pace reads them; "": all of them.
	Callers string
	// Grace is how long iterations in flight may take after the end; 30 s by default.
	Grace time.Duration
	// Exec is the function that is an iteration, "" for default; Env is added to __ENV, and Tags to
	// all that is measured.
	Exec string
	Env  map[string]string
	Tags map[string]string
}

// a stage is a length and what is reached at its end.
type stage struct {
	Duration json.RawMessage `json:"duration"`
	Target   amount          `json:"target"`
}

// a scenarioOptions has the fields of all executors.
type scenarioOptions struct {
	Executor         string            `json:"executor"`
	VUs              amount            `json:"vus"`
	Iterations       amount            `json:"iterations"`
	Duration         json.RawMessage   `json:"duration"`
	MaxDuration      json.RawMessage   `json:"maxDuration"`
	Rate             amount            `json:"rate"`
	StartRate        amount            `json:"startRate"`
	TimeUnit         json.RawMessage   `json:"timeUnit"`
	PreAllocatedVUs  amount            `json:"preAllocatedVUs"`
	MaxVUs           amount            `json:"maxVUs"`
	Stages           []stage           `json:"stages"`
	StartVUs         *amount           `json:"startVUs"` // 1 by default
	GracefulRampDown json.RawMessage   `json:"gracefulRampDown"`
	GracefulStop     json.RawMessage   `json:"gracefulStop"`
	StartTime        json.RawMessage   `json:"startTime"`
	Exec             string            `json:"exec"`
	Env              map[string]string `json:"env"`
	Tags             map[string]any    `json:"tags"`
	Options          json.RawMessage   `json:"options"` // of browsers
}

// executors are those that can be run, with what each does.
var executors = map[string]func(*Load, *scenarioOptions) error{
	"shared-iterations":     (*Load).sharedIterations,
	"per-vu-iterations":     (*Load).perVUIterations,
	"constant-vus":          (*Load).constantVUs,
	"ramping-vus":           (*Load).rampingVUs,
	"constant-arrival-rate": (*Load).constantRate,
	"ramping-arrival-rate":  (*Load).rampingRate,
}

// executorNames returns the names of those that can be run.
func executorNames() []string { return slices.Sorted(maps.Keys(executors)) }

// readStages reads options.stages, which are short for a scenario of ramping-vus. How many virtual
// users there are at the beginning is known when all options are read: see settle.
func (o *Options) readStages(raw json.RawMessage) error {
	if err := decode(raw, &o.stages); err != nil {
		return err
	}
	_, _, err := callersOf(0, o.stages)
	return err
}

// settle is called when all options are read.
func (o *Options) settle() error {
	if !o.Ramps() {
		return nil
	}
	o.plain = o.Load
	return o.RampFrom(max(1, o.VUs))
}

// Ramps reports whether the load is that of options.stages.
func (o *Options) Ramps() bool { return len(o.stages) > 0 && len(o.Scenarios) == 0 }

// RampFrom has the stages begin with so many virtual users.
func (o *Options) RampFrom(vus int) error {
	ramp := Load{Executor: "ramping-vus", Grace: defaultGrace}
	err := ramp.ramp(vus, o.stages)
	o.Load = ramp
	return err
}

// Flatten forgets when virtual users come and go, and how many iterations each of them does.
func (o *Options) Flatten() {
	if o.Ramps() {
		o.Load = o.plain
	}
	o.Callers, o.PerVU = "", 0
}

// readScenarios reads all of them, and reports every mistake.
func (o *Options) readScenarios(raw json.RawMessage) error {
	var all map[string]json.RawMessage
	if err := decode(raw, &all); err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l, err := readScenario(all[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		l.Name = name
		o.Scenarios = append(o.Scenarios, l)
	}
	return errors.Join(errs...)
}

func readScenario(raw json.RawMessage) (Load, error) {
	var s scenarioOptions
	if err := decode(raw, &s); err != nil {
		return Load{}, err
	}
	run, ok := executors[s.Executor]
	switch {
	case s.Executor == "externally-controlled":
		return Load{}, errors.New("executor is externally-controlled, which is not possible: the load is planned before it begins")
	case !ok:
		return Load{}, fmt.Errorf("executor is %q; expected %s", s.Executor, setting.Or(executorNames()))
	}
	l := Load{Executor: s.Executor, Exec: s.Exec, Env: s.Env}
	var graceErr, tagsErr, startErr error
	l.Grace, graceErr = optional(s.GracefulStop, defaultGrace)
	l.Tags, tagsErr = tagsOf(s.Tags)
	_, downErr := optional(s.GracefulRampDown, defaultGrace)
	start, startErr := optional(s.StartTime, 0)
	err := errors.Join(run(&l, &s), graceErr, tagsErr, startErr, downErr)
	if start > 0 && err == nil {
		l.delay(start)
	}
	return l, err
}

// delay has a load begin so much later: until then there are no callers, or arrivals.
func (l *Load) delay(start time.Duration) {
	if l.Rate != "" {
		_, stages, _ := strings.Cut(l.Rate, ":")
		if !strings.Contains(stages, "/") {
			stages += "/" + l.Duration.String()
		}
		l.Rate = fmt.Sprintf("steps:0/%v,%s", start, stages)
	} else {
		if l.Callers == "" {
			l.Callers = fmt.Sprintf("%d/%v", l.VUs, l.Duration)
		}
		l.Callers = fmt.Sprintf("0/%v,%s", start, l.Callers)
	}
	l.Start = start
	l.Duration += start
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
	l.VUs, l.Iterations = max(1, int(s.VUs)), max(1, int64(s.Iterations))
	l.Duration, err = optional(s.MaxDuration, 10*time.Minute)
	return err
}

func (l *Load) perVUIterations(s *scenarioOptions) (err error) {
	l.VUs, l.PerVU = max(1, int(s.VUs)), max(1, int64(s.Iterations))
	l.Iterations = int64(l.VUs) * l.PerVU
	l.Duration, err = optional(s.MaxDuration, 10*time.Minute)
	return err
}

func (l *Load) rampingVUs(s *scenarioOptions) error {
	if len(s.Stages) == 0 {
		return errors.New("stages must be given")
	}
	from := 1
	if s.StartVUs != nil {
		from = int(*s.StartVUs)
	}
	return l.ramp(from, s.Stages)
}

func (l *Load) ramp(from int, stages []stage) error {
	text, length, err := callersOf(from, stages)
	if err != nil {
		return err
	}
	callers, err := pace.ParseCallers(text)
	if err != nil {
		return fmt.Errorf("stages: %w", err)
	}
	l.VUs, l.Callers, l.Duration = callers.Peak(), text, length
	return nil
}

// callersOf is what stages of virtual users come to, in the words of package pace.
func callersOf(from int, stages []stage) (text string, length time.Duration, err error) {
	return stepsOf(float64(from), stages, func(n float64) string { return strconv.Itoa(int(n)) })
}

// stepsOf is what stages come to. A stage of no length is a jump.
func stepsOf(from float64, stages []stage, shown func(float64) string) (text string, length time.Duration, err error) {
	var steps []string
	for _, stage := range stages {
		d, err := readDuration(stage.Duration)
		if err != nil {
			return "", 0, fmt.Errorf("stages: duration %w", err)
		}
		if d > 0 {
			steps = append(steps, fmt.Sprintf("%s-%s/%v", shown(from), shown(float64(stage.Target)), d))
			length += d
		}
		from = float64(stage.Target)
	}
	return strings.Join(steps, ","), length, nil
}

func (l *Load) constantVUs(s *scenarioOptions) (err error) {
	l.VUs = max(1, int(s.VUs))
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
	l.VUs = int(max(s.PreAllocatedVUs, s.MaxVUs))
	l.Rate = "constant:" + perSecond(float64(s.Rate), unit)
	return errors.Join(unitErr, err)
}

func (l *Load) rampingRate(s *scenarioOptions) error {
	unit, err := optional(s.TimeUnit, time.Second)
	if err != nil || len(s.Stages) == 0 || s.PreAllocatedVUs <= 0 {
		return errors.Join(err, errors.New("stages and preAllocatedVUs must be given"))
	}
	text, length, err := stepsOf(float64(s.StartRate), s.Stages, func(rate float64) string { return perSecond(rate, unit) })
	l.VUs, l.Duration, l.Rate = int(max(s.PreAllocatedVUs, s.MaxVUs)), length, "steps:"+text
	return err
}

// perSecond is a rate per unit as one per second.
func perSecond(rate float64, unit time.Duration) string {
	return strconv.FormatFloat(rate/unit.Seconds(), 'g', 6, 64)
}
