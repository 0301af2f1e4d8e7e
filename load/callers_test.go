package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"contend/pace"
)

func callers(t *testing.T, text string) *pace.Callers {
	t.Helper()
	c, err := pace.ParseCallers(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Callers come and go as planned, and while they are gone they are idle.
func TestCallersComeAndGo(t *testing.T) {
	plan := Plan{VUs: 4, Callers: callers(t, "0-4/4s,4/4s,1/2s"), Duration: 10 * time.Second, Grace: time.Second}
	r := inBubble(t, sleeper(100*time.Millisecond), plan)
	// The callers come after 1, 2, 3 and 4 s: 9 + 6 + 5 + 4 s of work, the last three until 8 s, at 10 a second.
	if r.Completed != 240 {
		t.Errorf("%d iterations, want 240", r.Completed)
	}
	if share := r.GeneratorShare; share == nil || *share > 1e-9 {
		t.Errorf("the generator's share is %v, but what is not planned is idle", share)
	}
	if lag := r.StartLag.Quantile(1); lag > time.Millisecond {
		t.Errorf("an iteration began %v late: its response time counts from its turn", lag)
	}
	// In a fleet, callers 0 and 2 are one worker's, 1 and 3 another's.
	plans, err := plan.Split([]int{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{90 + 50, 60 + 40} {
		if r := inBubble(t, sleeper(100*time.Millisecond), plans[i]); r.Completed != want {
			t.Errorf("worker %d: %d iterations, want %d", i, r.Completed, want)
		}
	}
}

// An iteration in flight when its caller goes is let end.
func TestIterationsOutliveTheirTurn(t *testing.T) {
	r := inBubble(t, sleeper(3*time.Second), Plan{VUs: 1, Callers: callers(t, "1/1s,0/1s,1/1s"), Duration: 3 * time.Second, Grace: 3 * time.Second})
	if r.Completed != 1 || r.Unfinished != 0 {
		t.Errorf("%d completed, %d unfinished, want one that ends", r.Completed, r.Unfinished)
	}
}

// numbered counts the iterations of each VU.
type numbered struct{ counts [3]atomic.Int64 }

func (n *numbered) NewVU(_ context.Context, id int) (VU, error) {
	return Func(func(ctx context.Context) (Outcome, error) {
		n.counts[id].Add(1)
		return sleeper(time.Duration(1+id) * time.Second)(ctx)
	}), nil
}

// Each VU does its own iterations, however slow it is.
func TestIterationsPerVU(t *testing.T) {
	n := new(numbered)
	r := inBubble(t, n, Plan{VUs: 3, PerVU: 4, Iterations: 12, Duration: time.Minute})
	for i := range n.counts {
		if got := n.counts[i].Load(); got != 4 {
			t.Errorf("VU %d did %d iterations, want 4", i, got)
		}
	}
	if r.Stopped != StoppedByIterations || r.Duration != 12*time.Second { // the slowest: 4 × 3 s
		t.Errorf("stopped by %s after %v, want 12s", r.Stopped, r.Duration)
	}
}
