//go:build !linux

package load

import "time"

// A stallMeter measures nothing on this system.
type stallMeter struct{}

func startStallMeter(int, []int) *stallMeter { return nil }

func (*stallMeter) stop() time.Duration { return 0 }
