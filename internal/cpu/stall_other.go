//go:build !linux

package cpu

import "time"

// A StallMeter measures nothing on this system.
type StallMeter struct{}

// StartStallMeter returns nil: there is nothing to measure with.
func StartStallMeter(int, []int) *StallMeter { return nil }

// Stop returns 0.
func (*StallMeter) Stop() time.Duration { return 0 }
