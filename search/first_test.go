package search

import (
	"testing"
	"time"

	"contend/load"
	"contend/trial"
)

// One caller alone comes to 434/s, or to 10/s. p99 takes 100 answers at least: in an eighth of a minute 13.3/s
// bring these, but that is more than it can be sure to bear.
func TestFirst(t *testing.T) {
	for _, tt := range []struct {
		whole time.Duration
		alone int64
		want  float64
	}{{0, 434, 217}, {time.Minute, 434, 217}, {time.Hour, 434, 217}, {time.Minute, 10, 10}, {time.Hour, 10, 5}} {
		alone := &load.Result{Duration: time.Second}
		alone.Completed = tt.alone
		s := &Result{Alone: &trial.Cell{Result: alone},
			Design: Design{Objectives: []string{"p99 < 20ms"}, Duration: tt.whole, MaxAttempt: time.Minute, MaxRate: 1e6}}
		if got := s.first(); got != tt.want {
			t.Errorf("in %v: %v/s, want %v", tt.whole, got, tt.want)
		}
	}
}
