package search

import (
	"testing"
	"time"

	"contend/load"
	"contend/trial"
)

// One caller alone comes to 434/s. p99 takes 10,000 answers: in an eighth of a minute 1333/s bring these.
func TestFirst(t *testing.T) {
	for whole, want := range map[time.Duration]float64{0: 217, time.Minute: 1333, time.Hour: 217} {
		alone := &load.Result{Duration: time.Second}
		alone.Completed = 434
		s := &Result{Alone: &trial.Cell{Result: alone},
			Design: Design{Objectives: []string{"p99 < 20ms"}, Duration: whole, MaxAttempt: time.Minute, MaxRate: 1e6}}
		if got := s.first(); got != want {
			t.Errorf("in %v: %v/s, want %v", whole, got, want)
		}
	}
}
