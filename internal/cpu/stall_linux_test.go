package cpu

import (
	"testing"
	"time"
)

// The result of a stretch of the stall meter, in milliseconds: a sleep of 10 ms
// (or 1 ms) and what was seen after it.
func TestLost(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name           string
		sleep          int
		gap, cpu       int
		waited, loop   int
		parallel, want float64
	}{
		{"on time", 10, 10, 3, 0, 0, 1, 0},
		{"a late timer", 10, 11, 0, 0, 0, 1, 0},
		{"waited for a core", 10, 40, 20, 30, 5, 1, 0},                               // 40 − 10 − 30 = 0 is missing
		{"stopped while idle", 10, 110, 0, 0, 0, 1, 105},                             // 100 late + half of the sleep
		{"stopped while busy", 10, 110, 8, 0, 1, 1, 101},                             // 110 − 8 run − 1 waited
		{"often stopped", 1, 5, 1, 0, 0, 1, 4},                                       // min(4 + 0.5, 5 − 1)
		{"two threads ran, the meter's had no turn of Go's", 10, 30, 60, 0, 0, 2, 0}, // 30 − 60 ÷ 2
		{"stopped, and waited before and after", 10, 60, 10, 20, 5, 1, 45},           // 30 missing; 60 − 10 − 5
	}
	for _, tt := range tests {
		m := &StallMeter{parallel: tt.parallel}
		seen := mark{gap: time.Duration(tt.gap) * ms, cpu: time.Duration(tt.cpu) * ms,
			waited: time.Duration(tt.waited) * ms, loop: time.Duration(tt.loop) * ms}
		if got := m.lost(time.Duration(tt.sleep)*ms, seen); got != time.Duration(tt.want*float64(ms)) {
			t.Errorf("%s: lost %v, want %v ms", tt.name, got, tt.want)
		}
	}
}

func TestStallMeterInRealTime(t *testing.T) {
	m := StartStallMeter(1, nil)
	if m == nil {
		t.Fatal("no meter on Linux")
	}
	begun := time.Now()
	time.Sleep(20 * time.Millisecond)
	if got := m.Stop(); got < 0 || got > time.Since(begun) {
		t.Errorf("stalled %v of %v", got, time.Since(begun))
	}
}
