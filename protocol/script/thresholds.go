package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/load"
)

// A Threshold is a claim of a script about what it measures.
type Threshold struct {
	// Metric and Expression are the script's, and Claim is both together.
	Metric, Expression, Claim string
	// Abort ends the run as soon as the claim does not hold, but not before Delay.
	Abort bool
	Delay time.Duration

	parsed load.Threshold
}

// thresholdOptions is a threshold that is an object.
type thresholdOptions struct {
	Threshold string          `json:"threshold"`
	Abort     bool            `json:"abortOnFail"`
	Delay     json.RawMessage `json:"delayAbortEval"`
}

// readThresholds reads options.thresholds: lists of expressions by metric. The metrics are those that
// the outermost part of the script has made by then.
func (t *Target) readThresholds(raw json.RawMessage) (all []Threshold, err error) {
	var given map[string]json.RawMessage
	if err := decode(raw, &given); err != nil {
		return nil, err
	}
	var errs []error
	for _, metric := range slices.Sorted(maps.Keys(given)) {
		list, err := t.thresholdsOf(metric, given[metric])
		if err != nil {
			errs = append(errs, fmt.Errorf("of %s: %w", metric, err))
		}
		all = append(all, list...)
	}
	return all, errors.Join(errs...)
}

func (t *Target) thresholdsOf(metric string, raw json.RawMessage) (all []Threshold, err error) {
	m, err := t.meters.part(metric)
	if err != nil {
		return nil, err
	}
	t.meters.asked = append(t.meters.asked, m)
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		read, err := readThreshold(one)
		if err != nil {
			return nil, err
		}
		if err := read.claim(m); err != nil {
			return nil, err
		}
		all = append(all, read)
	}
	return all, nil
}

// readThreshold takes an expression, or an object with one.
func readThreshold(raw json.RawMessage) (t Threshold, err error) {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return t, decode(raw, &t.Expression)
	}
	var o thresholdOptions
	if err := decode(raw, &o); err != nil {
		return t, err
	}
	t.Expression, t.Abort = o.Threshold, o.Abort
	if t.Delay, err = optional(o.Delay, 0); err != nil {
		return t, fmt.Errorf("delayAbortEval %w", err)
	}
	return t, nil
}

// claim puts the threshold of a meter into words.
func (t *Threshold) claim(m *load.Meter) error {
	t.Metric, t.Claim = m.Name, m.Name+" "+strings.TrimSpace(t.Expression)
	parsed, ok := load.ParseThreshold(t.Claim)
	stats := strings.Join(load.MeterStats(m.Kind), ", ")
	switch {
	case !ok:
		return fmt.Errorf("%q is not a threshold; expected one of %s, one of < <= > >= == != and a number, as in p(95)<500", t.Expression, stats)
	case !load.HasMeterStat(m.Kind, parsed.Stat):
		return fmt.Errorf("%q asks a %s for %s; it has %s", t.Expression, m.Kind, parsed.Stat, stats)
	}
	t.parsed = parsed
	return nil
}

// Until returns what ends a run as thresholds ask for it (load.Plan.Until); nil: none does.
func (t *Target) Until() func(load.Progress) bool {
	ending := slices.DeleteFunc(slices.Clone(t.Options.Thresholds), func(t Threshold) bool { return !t.Abort })
	if len(ending) == 0 {
		return nil
	}
	return func(now load.Progress) bool {
		var result *load.Result
		return slices.ContainsFunc(ending, func(claim Threshold) bool {
			if now.Elapsed < claim.Delay {
				return false
			}
			if result == nil {
				result = &load.Result{Counts: *now.Counts(), Duration: now.Measured, Whole: now.Measured + t.apart.passed()}
			}
			held, _ := claim.parsed.Check(result)
			return result.Meter(claim.Metric) != nil && !held
		})
	}
}
