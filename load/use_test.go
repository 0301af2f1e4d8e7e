package load

import (
	"math"
	"testing"
	"time"
)

// Two seconds on two cores; the comments say what the generator could get.
func TestGeneratorUse(t *testing.T) {
	loop := func(r Result) Result { r.Engine, r.Loops = EventLoop, 1; return r }
	tests := []struct {
		name  string
		give  Result
		taken float64
		want  float64
	}{
		{"nothing known", Result{}, 0, 0},
		{"goroutines", Result{Cost: Cost{GeneratorCPUSec: 1}}, 0, 0.25},                                                    // 2 · 2
		{"beside a server", Result{Cost: Cost{GeneratorCPUSec: 1}}, 2, 0.5},                                                // 4 − 2
		{"one loop", loop(Result{Cost: Cost{GeneratorCPUSec: 1}}), 1, 0.5},                                                 // 2
		{"a loop that waited", loop(Result{Cost: Cost{GeneratorCPUSec: 1, GeneratorWaitedSec: 0.5}}), 1, 2. / 3},           // 2 − 0.5
		{"a loop that was stopped", loop(Result{Cost: Cost{GeneratorCPUSec: 0.5, GeneratorStalledSec: 1.5}}), 0.5, 1},      // 2 − 1.5
		{"others, and it waited", Result{Cost: Cost{GeneratorCPUSec: 1, GeneratorWaitedSec: 1, MachineCPUSec: 4}}, 1, 0.4}, // 4 − 1 − 2 · 1 ÷ 4
		{"others, and it did not", Result{Cost: Cost{GeneratorCPUSec: 1, MachineCPUSec: 4}}, 1, 1. / 3},                    // 4 − 1
		{"a limit", Result{Cost: Cost{GeneratorCPUSec: 0.5, GeneratorCPULimit: 0.5}}, 0, 0.5},                              // 0.5 · 2
		{"never over 1", Result{Cost: Cost{GeneratorCPUSec: 3}}, 3.5, 1},                                                   // 4 − 3.5
		{"held to one CPU", Result{Cost: Cost{GeneratorCPUSec: 1, GeneratorCPUs: 1}}, 0.75, 0.8},                           // 2 − 0.75
	}
	for _, tt := range tests {
		r := tt.give
		r.Duration, r.GeneratorCores = 2*time.Second, 2
		if got := r.generatorUse(tt.taken); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
