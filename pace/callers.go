package pace

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// Callers plan how many callers drive a load over time, in stages one after another: in each their
// number is constant, or changes linearly. It is immutable; its text form is
//
//	0-10/30s,10/1m     from none to ten callers in 30 s, then ten for a minute
//
// After the last stage no caller is left.
type Callers struct{ stages []stage }

// ParseCallers reads the text form.
func ParseCallers(text string) (*Callers, error) {
	c := &Callers{}
	for field := range strings.SplitSeq(text, ",") {
		s, err := parseStage(strings.TrimSpace(field), text)
		if err != nil {
			return nil, err
		}
		if s.length == 0 || s.from != math.Trunc(s.from) || s.to != math.Trunc(s.to) || max(s.from, s.to) > MostCallers {
			return nil, fmt.Errorf("stage %q; expected numbers of callers up to %d and a duration, as in 0-10/30s", field, MostCallers)
		}
		c.stages = append(c.stages, s)
	}
	if c.Peak() == 0 {
		return nil, fmt.Errorf("%q has no callers at all", text)
	}
	return c, nil
}

// MostCallers bounds how many callers there can be. Tags of settings have to repeat it; a test of package cli holds
// them to it.
const MostCallers = 1_000_000

// String returns the text form that ParseCallers reads.
func (c *Callers) String() string {
	fields := make([]string, len(c.stages))
	for i, s := range c.stages {
		fields[i] = s.String()
	}
	return strings.Join(fields, ",")
}

// MarshalText returns the text form.
func (c *Callers) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the text form.
func (c *Callers) UnmarshalText(text []byte) error {
	parsed, err := ParseCallers(string(text))
	if err == nil {
		*c = *parsed
	}
	return err
}

// Peak returns the largest number of callers.
func (c *Callers) Peak() int {
	most := 0.0
	for _, s := range c.stages {
		most = max(most, s.from, s.to)
	}
	return int(most)
}

// Length returns the sum of the stages' durations.
func (c *Callers) Length() (sum time.Duration) {
	for _, s := range c.stages {
		sum += s.length
	}
	return sum
}

// Next returns when caller number i, from 0, may begin next: the first moment at or after t at which it is
// one of the callers that are planned, or Never. While their number rises a further one comes when it has
// risen by a whole one, and while it falls one goes when it has fallen by a whole one.
func (c *Callers) Next(i int, t time.Duration) time.Duration {
	begin := time.Duration(0)
	for _, s := range c.stages {
		from, to := s.active(float64(i))
		if at := max(t, begin+from); at < begin+to {
			return at
		}
		begin += s.length
	}
	return Never
}

// At returns how many callers are planned at a time.
func (c *Callers) At(t time.Duration) int {
	return sort.Search(c.Peak(), func(i int) bool { return c.Next(i, t) != t })
}

// active returns when caller i begins and ceases to be one of a stage's, after its beginning.
func (s stage) active(i float64) (from, to time.Duration) {
	at := func(n float64) time.Duration { // when there are so many
		return time.Duration((n - s.from) / (s.to - s.from) * float64(s.length))
	}
	switch {
	case i < min(s.from, s.to): // all the time: there is one more than i
		return 0, s.length
	case i >= max(s.from, s.to):
		return 0, 0
	case s.from < s.to:
		return at(i + 1), s.length
	}
	return 0, at(i)
}
