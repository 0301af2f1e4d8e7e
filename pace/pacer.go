// Package pace schedules iterations and waits for them to become due.
package pace

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Pacer plans the arrivals of an open model: a rate that is constant or
// linear in time over each of its stages, with arrivals evenly spaced or
// random (Poisson). It is immutable; its text form is used by flags, files and
// documents alike:
//
//	constant:5000             5000 arrivals per second
//	ramp:0-5000/30s           rising for 30 s, then 5000
//	steps:100/10s,200/10s     stages one after another; a stage is RATE[/DURATION] or FROM-TO/DURATION
//	poisson:2000              random arrivals; takes the same stages as steps
//
// The last stage's final rate holds for ever.
type Pacer struct {
	poisson bool
	stages  []stage
}

type stage struct {
	from, to float64       // arrivals per second at its start and end
	length   time.Duration // 0: for ever (last stage only)
}

// Constant paces perSec arrivals per second, evenly spaced; perSec must be
// positive and finite.
func Constant(perSec float64) *Pacer {
	return &Pacer{stages: []stage{{from: perSec, to: perSec}}}
}

// Parse reads the text form; a bare number is a constant rate.
func Parse(text string) (*Pacer, error) {
	kind, list, found := strings.Cut(text, ":")
	if !found {
		kind, list = "constant", text
	}
	p := &Pacer{poisson: kind == "poisson"}
	var errs []error
	for field := range strings.SplitSeq(list, ",") {
		s, err := parseStage(strings.TrimSpace(field), list)
		errs = append(errs, err)
		p.stages = append(p.stages, s)
	}
	if errors.Join(errs...) == nil {
		errs = append(errs, p.check(kind))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// parseStage reads one of the stages of a list.
func parseStage(text, list string) (stage, error) {
	rates, length, timed := strings.Cut(text, "/")
	if unit, rest, longer := strings.Cut(length, "/"); unit == "s" { // a rate as pages print it: 500/s
		length, timed = rest, longer
	}
	if strings.HasPrefix(rates, "-") {
		return stage{}, wrongRate(rates, list)
	}
	from, to, ramp := strings.Cut(rates, "-")
	if !ramp {
		to = from
	}
	var s stage
	var err1, err2, err3 error
	s.from, err1 = parseRate(from, list)
	if ramp {
		s.to, err2 = parseRate(to, list)
	} else {
		s.to = s.from
	}
	if timed {
		s.length, err3 = time.ParseDuration(length)
		if err3 != nil || s.length <= 0 {
			err3 = fmt.Errorf("stage %q: duration is %q; expected more than 0, as in 30s", text, length)
		}
	} else if ramp {
		err3 = fmt.Errorf("stage %q: a ramp needs a duration, as in %s/30s", text, rates)
	}
	return s, errors.Join(err1, err2, err3)
}

func parseRate(text, list string) (float64, error) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || r < 0 || r > 1e9 || math.IsNaN(r) {
		return 0, wrongRate(text, list)
	}
	return r, nil
}

// wrongRate names the rate unless it is all of the list, which whoever reads it names.
// A rate among others may be 0.
func wrongRate(text, list string) error {
	if text == list {
		return errors.New("expected arrivals per second, more than 0 and at most 1e9, as in 500")
	}
	return fmt.Errorf("the rate is %q; expected 0 to 1e9 arrivals per second", text)
}

func (p *Pacer) check(kind string) error {
	last := p.stages[len(p.stages)-1]
	single := len(p.stages) == 1
	switch kind {
	case "constant":
		if !single || last.from != last.to {
			return errors.New("constant takes one rate")
		}
	case "ramp":
		if !single || last.length == 0 {
			return errors.New("ramp takes one stage FROM-TO/DURATION")
		}
	case "steps", "poisson":
	default:
		return fmt.Errorf("the kind of pacer is %q; expected constant, ramp, steps, poisson", kind)
	}
	for i, s := range p.stages {
		if s.length == 0 && i < len(p.stages)-1 {
			return fmt.Errorf("stage %d needs a duration, since another follows", i+1)
		}
	}
	if p.Peak() == 0 {
		return errors.New("no iteration would ever start; expected a rate above 0, up to 1e9 arrivals per second")
	}
	return nil
}

// Peak returns the highest rate, in arrivals per second.
func (p *Pacer) Peak() float64 {
	var highest float64
	for _, s := range p.stages {
		highest = max(highest, s.from, s.to)
	}
	return highest
}

// Flat reports whether the rate is the same all the time; a nil Pacer plans none.
func (p *Pacer) Flat() bool {
	return p == nil || !slices.ContainsFunc(p.stages, func(s stage) bool { return s.from != s.to || s.from != p.stages[0].from })
}

// String returns the text form that Parse reads.
func (p *Pacer) String() string {
	fields := make([]string, len(p.stages))
	for i, s := range p.stages {
		fields[i] = s.String()
	}
	first := p.stages[0]
	kind := "steps"
	switch {
	case p.poisson:
		kind = "poisson"
	case len(fields) == 1 && first.from == first.to:
		kind = "constant"
	case len(fields) == 1:
		kind = "ramp"
	}
	return kind + ":" + strings.Join(fields, ",")
}

func (s stage) String() string {
	text := formatRate(s.from)
	if s.to != s.from {
		text += "-" + formatRate(s.to)
	}
	if s.length > 0 {
		text += "/" + s.length.String()
	}
	return text
}

func formatRate(r float64) string { return strconv.FormatFloat(r, 'f', -1, 64) }

// MarshalText returns the text form.
func (p *Pacer) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text form.
func (p *Pacer) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*p = *parsed
	}
	return err
}

// Length returns the sum of the stages' durations, 0 if the last is unbounded.
func (p *Pacer) Length() time.Duration {
	if p.stages[len(p.stages)-1].length == 0 {
		return 0
	}
	return p.bounded()
}

// Planned returns how many arrivals of the given seed are due in [from, to), up
// to a limit; 0: none.
func (p *Pacer) Planned(seed uint64, from, to time.Duration, limit int64) (n int64) {
	for s := p.Schedule(seed); limit == 0 || n < limit; {
		due := s.Next()
		if due >= to {
			return n
		}
		if due >= from {
			n++
		}
	}
	return limit
}

// Schedule starts the sequence of due times of a seed. Evenly spaced arrivals
// do not depend on the seed.
func (p *Pacer) Schedule(seed uint64) *Schedule {
	s := &Schedule{stages: p.stages}
	if p.poisson {
		s.random = rand.New(rand.NewPCG(seed, 0))
		s.count = s.random.ExpFloat64()
	}
	return s
}

// A Schedule is the non-decreasing sequence of due times of a Pacer. It is not
// safe for concurrent use.
//
// Arrival i is due when the integral of the rate reaches i (evenly spaced), or
// the sum of i exponential variates of mean 1 (Poisson; time rescaling, see
// Çınlar, Introduction to Stochastic Processes, 1975, section 4.7). The due
// time is computed from that count, never by adding rounded periods.
type Schedule struct {
	stages []stage
	random *rand.Rand    // nil: evenly spaced
	count  float64       // the integral of the rate at the next arrival
	before float64       // the integral over the stages already left
	start  time.Duration // of the current stage

	share  Share
	number int64 // of the next arrival
}

// Only leaves out later arrivals that are not in the share, and returns the schedule.
func (s *Schedule) Only(share Share) *Schedule {
	s.share = share
	return s
}

// Never is when an arrival is due that will not come.
const Never = time.Duration(math.MaxInt64)

// Next returns the next due time, as an offset from the start of the run, or
// Never after the last.
func (s *Schedule) Next() time.Duration {
	for {
		due := s.next()
		s.number++
		if due == Never || s.share.Has(s.number-1) {
			return due
		}
	}
}

// next is Next of all arrivals.
func (s *Schedule) next() time.Duration {
	for {
		due, ok := s.inStage()
		if ok {
			s.advance()
			return due
		}
		current := s.stages[0]
		s.before += current.arrivals()
		s.start += current.length
		if len(s.stages) > 1 {
			s.stages = s.stages[1:]
		} else {
			s.stages = []stage{{from: current.to, to: current.to}}
		}
	}
}

func (s *Schedule) advance() {
	if s.random != nil {
		s.count += s.random.ExpFloat64()
	} else {
		s.count++
	}
}

// inStage returns when the next arrival is due, or false if that is not in the current stage.
func (s *Schedule) inStage() (time.Duration, bool) {
	current := s.stages[0]
	y := s.count - s.before
	switch {
	case current.length > 0 && y >= current.arrivals():
		return 0, false
	case current.length == 0 && current.from == 0:
		return Never, true
	}
	return current.due(s.start, y), true
}
