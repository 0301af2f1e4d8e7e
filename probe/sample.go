// Package probe measures the machine itself: the current cost of an exchange between
// two cores, a wake-up and plain arithmetic. On virtual machines these change by factors
// from one minute to the next, and nothing else shows it.
package probe

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// A Sample is what the machine cost at one moment. Each figure is a median of
// many repetitions; 0 means that it could not be measured.
type Sample struct {
	// RoundTrip of a cache line between two threads, there and back.
	RoundTrip time.Duration `json:"round_trip_ns"`
	// Wakeup is the time from a signal until a sleeping thread runs.
	Wakeup time.Duration `json:"wakeup_ns"`
	// Loop is the time of a fixed piece of arithmetic.
	Loop time.Duration `json:"loop_ns"`
}

// Two samples differ by more than these factors only when the machine has
// changed: docs/measuring.md has the noise that they were chosen by.
const (
	roundTripFactor = 1.8
	wakeupFactor    = 4
	loopFactor      = 1.15
)

// Like reports whether two samples show the same state of the machine. A figure
// that one of them lacks is left out.
func (s Sample) Like(o Sample) bool { return s.change(o) == "" }

// change says what differs from s to o, as in "core-to-core round trip 98 ns →
// 447 ns", or returns "" where nothing does that is beyond the noise.
func (s Sample) change(o Sample) string {
	var changes []string
	for _, f := range []struct {
		name        string
		before, now time.Duration
		beyond      float64
	}{
		{"core-to-core round trip", s.RoundTrip, o.RoundTrip, roundTripFactor},
		{"wake-up", s.Wakeup, o.Wakeup, wakeupFactor},
		{"plain arithmetic", s.Loop, o.Loop, loopFactor},
	} {
		if apart(f.before, f.now) > f.beyond {
			changes = append(changes, fmt.Sprintf("%s %s → %s", f.name, short(f.before), short(f.now)))
		}
	}
	return strings.Join(changes, ", ")
}

// short writes a time with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", d.Seconds()*1e6)
	}
	return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
}

// apart returns the factor between two figures, at least 1; 1 where one is
// missing.
func apart(a, b time.Duration) float64 {
	if a <= 0 || b <= 0 {
		return 1
	}
	return math.Max(float64(a)/float64(b), float64(b)/float64(a))
}
