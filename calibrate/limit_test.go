package calibrate

import (
	"context"
	"testing"
	"time"

	"contend/load"
)

func TestLimitOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cost load.Cost
		want float64
	}{
		{"3000 in 0.5 s of CPU time are 6000 a second of it, on 4 cores", load.Cost{GeneratorCPUSec: 0.5, GeneratorCores: 4}, 24_000},
		{"of which it may use 2", load.Cost{GeneratorCPUSec: 0.5, GeneratorCores: 4, GeneratorCPUs: 2}, 12_000},
		{"and is limited to 1.5", load.Cost{GeneratorCPUSec: 0.5, GeneratorCores: 4, GeneratorCPUs: 2, GeneratorCPULimit: 1.5}, 9_000},
		{"a limit above them is none", load.Cost{GeneratorCPUSec: 0.5, GeneratorCores: 4, GeneratorCPULimit: 8}, 24_000},
		{"the system does not tell", load.Cost{GeneratorCores: 4}, 0},
	} {
		if got := limitOf(&load.Result{Counts: load.Counts{Completed: 3000}, Cost: tt.cost}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	if got, err := Limit(t.Context(), "nothing", nothing{}, 100*time.Millisecond); err != nil || got <= 0 {
		t.Errorf("%v a second, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := Limit(ctx, "nothing", nothing{}, LimitTakes); err == nil {
		t.Errorf("%v a second of a measurement that was ended", got)
	}
}

// nothing is a target that answers at once.
type nothing struct{}

func (nothing) NewVU(context.Context, int) (load.VU, error) { return nothing{}, nil }

func (nothing) Do(context.Context) (load.Outcome, error) { return load.Outcome{}, nil }
