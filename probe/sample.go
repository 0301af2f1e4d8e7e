// Package probe measures the machine itself: the current cost of an exchange between
// two cores, a wake-up and plain arithmetic. On virtual machines these change by factors
// from one minute to the next, and nothing else shows it.
package probe

import (
	"fmt"
	"math"
	"strings"
	"time"

	"contend/internal/unit"
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

// Two samples differ by more than these factors only when the machine has changed. They are above the noise
// of 1,900 looks, in five series, on a virtual machine with two CPUs that others used at the same time (load
// averages of 2 to 22). The round trip was 47 to 75 ns or 310 to 390 ns, on other days 75 to 145 and 450 ns, and
// never between; the state changed 1 to 5 times in 400 looks. The wake-up was 12 to 18 µs in the median; 2 to 4% of
// neighbouring looks differed by a factor of more than 4, because another program had the core. The loop was
// 21.7 µs; neighbours differed by 3% at the 95th percentile and 9 to 13% at the 99th (once a third).
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
			changes = append(changes, fmt.Sprintf("%s %s → %s", f.name, unit.Duration(float64(f.before)), unit.Duration(float64(f.now))))
		}
	}
	return strings.Join(changes, ", ")
}

// apart returns the factor between two figures, at least 1; 1 where one is
// missing.
func apart(a, b time.Duration) float64 {
	if a <= 0 || b <= 0 {
		return 1
	}
	return math.Max(float64(a)/float64(b), float64(b)/float64(a))
}
