// Package probe looks at the machine itself: what an exchange between two
// cores, a wake-up and plain arithmetic cost at this moment. On virtual machines
// these change by factors from one minute to the next, and nothing else shows it.
package probe

import "time"

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
