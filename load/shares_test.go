package load_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
)

// A server that serves so many connections until they close answers them every 10 ms, 100 times in a second, and the
// others never.
func TestStarvedCallers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		serves int
		plan   load.Plan
		want   int
	}{
		{"one of ten", 1, load.Plan{VUs: 10, Duration: time.Second}, 9},
		{"seven of ten, behind a warm-up", 7, load.Plan{VUs: 10, Warmup: time.Second, Duration: time.Second}, 3},
		{"all", 10, load.Plan{VUs: 10, Duration: time.Second}, 0},
		{"19 responses are too few to tell", 1, load.Plan{VUs: 10, Duration: 190 * time.Millisecond}, 0},
		{"20 are not", 1, load.Plan{VUs: 10, Duration: 210 * time.Millisecond}, 9},
		{"time for 20, in flight at the end", 1, load.Plan{VUs: 10, Duration: 50 * time.Millisecond, Grace: time.Second}, 9},
		{"none", 0, load.Plan{VUs: 10, Duration: time.Second}, 0}, // nothing succeeds
		{"timed out", 1, load.Plan{VUs: 10, Duration: time.Second, Timeout: 300 * time.Millisecond}, 9},
		{"fewer iterations than callers", 2, load.Plan{VUs: 10, Iterations: 200, Duration: 2 * time.Second}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, err := load.Run(t.Context(), "", &exclusive{serves: tt.serves}, tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			if r.Starved != tt.want || finding.Starved.In(r.Warnings) != (tt.want > 0) || r.Refusal(stat.HigherIsFaster).Is(finding.Starved) != (tt.want > 0) {
				t.Errorf("%s: %d starved, want %d; %v", tt.name, r.Starved, tt.want, r.Warnings)
			}
			if tt.plan.Iterations == 0 {
				served := float64(tt.serves) // which all get as many: Jain's index is their share
				if r.Shares == nil || r.Shares.Unheard != 10-tt.serves || math.Abs(r.Shares.Jain-served/10) > 0.01 {
					t.Errorf("%s: shares are %+v", tt.name, r.Shares)
				}
			}
			if sum := load.Merge(r, r); sum.Starved != tt.want {
				t.Errorf("%s: twice is %d", tt.name, sum.Starved)
			}
		})
	}
}

// exclusive serves the first callers and no others.
type exclusive struct {
	serves int
	mu     sync.Mutex
	served int
}

func (e *exclusive) NewVU(context.Context, int) (load.VU, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.served++
	return exclusiveVU(e.served <= e.serves), nil
}

type exclusiveVU bool

func (v exclusiveVU) Do(ctx context.Context) (load.Outcome, error) {
	after := 10 * time.Millisecond
	if !v {
		after = time.Hour
	}
	select {
	case <-time.After(after):
		return load.Outcome{}, nil
	case <-ctx.Done():
		return load.Outcome{}, ctx.Err()
	}
}

func (exclusiveVU) Close() error { return nil }

// Of two generators one has the only connection that is served: together they see that 19 are not. One alone without a response knows nothing.
func TestStarvedCallersOfSeveralGenerators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := load.Plan{VUs: 20, Duration: time.Second}
		plans, err := plan.Split([]int{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		var parts []load.Part
		for i, serves := range []int{1, 0} {
			r, err := load.Run(t.Context(), "", &exclusive{serves: serves}, plans[i])
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, load.Part{Generator: load.Generator{Name: string(rune('a' + i))}, Result: r})
		}
		sum := load.Together(plan, "", parts)
		if sum.Starved != 19 || !sum.Refusal(stat.HigherIsFaster).Is(finding.Starved) || sum.Shares.Jain != 0.05 {
			t.Errorf("%d starved, shares %+v, %v", sum.Starved, sum.Shares, sum.Warnings)
		}
	})
}
