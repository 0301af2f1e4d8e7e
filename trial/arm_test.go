package trial

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
)

type away struct{ load.Func }

var errAway = errors.New("nobody listens")

func (away) Reach(context.Context) error { return errAway }

// A server that runs already has to take a connection before its arm is driven; one
// that we started has shown that it is ready.
func TestLaunchTriesServersOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		subject Subject
		want    error
		stopped bool
	}{
		{"of others", nil, errAway, true},
		{"ours", &metered{}, nil, false},
	} {
		stopped := false
		arm := Arm{Name: "A", Start: func(context.Context, Setup) (*Live, error) {
			stop := func(context.Context) error { stopped = true; return nil }
			return &Live{Address: "a", Target: away{}, Subject: tt.subject, Stop: stop}, nil
		}}
		if _, err := arm.Launch(t.Context(), Setup{}); !errors.Is(err, tt.want) || stopped != tt.stopped {
			t.Errorf("%s: %v, stopped %v", tt.name, err, stopped)
		}
	}
}

// If arms cannot be started all of them are named, in their order, and what was started is stopped.
func TestStartSaysAllThatFails(t *testing.T) {
	stopped := 0
	failing := func(name string) Arm {
		return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) { return nil, errAway }}
	}
	working := Arm{Name: "B", Start: func(context.Context, Setup) (*Live, error) {
		return &Live{Stop: func(context.Context) error { stopped++; return nil }}, nil
	}}
	arms := []Arm{failing("A"), working, failing("C")}
	lives, err := startAll(t.Context(), arms, make([]Setup, 3), []int{2, 1, 0})
	if err == nil || err.Error() != "A: nobody listens\nC: nobody listens" || lives != nil || stopped != 1 {
		t.Errorf("%v, %v, stopped %d", lives, err, stopped)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err = startAll(ended, arms, make([]Setup, 3), []int{2, 1, 0}); err == nil || err.Error() != "C: nobody listens" {
		t.Errorf("%v: others are tried although it was ended", err)
	}
}

// Arms that are alive are started once, however often they are used, and stopped at the end.
func TestAliveStartsOnce(t *testing.T) {
	started, stopped := 0, 0
	arm := Arm{Name: "A", Start: func(context.Context, Setup) (*Live, error) {
		started++
		return &Live{Stop: func(context.Context) error { stopped++; return errAway }}, nil
	}}
	err := Alive(t.Context(), []Arm{arm, arm}, rand.New(rand.NewPCG(1, 1)), func(running []Arm) error {
		for _, one := range slices.Concat(running, running) {
			live, err := one.Launch(t.Context(), Setup{})
			if err = errors.Join(err, live.End(t.Context())); err != nil || stopped != 0 {
				t.Errorf("%v, stopped %d", err, stopped)
			}
		}
		return nil
	})
	if !errors.Is(err, errAway) || started != 2 || stopped != 2 {
		t.Errorf("%v; started %d, stopped %d", err, started, stopped)
	}
}

// patient has 20 s to end.
type patient struct{ mortal }

func (*patient) Patience() time.Duration { return 20 * time.Second }

// A server has its time to end, also after another took all of its own, and 15 s more for the rest; the trial is over then.
func TestEachServerHasItsTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var took []time.Duration
		stop := func(ctx context.Context) error {
			began := time.Now()
			<-ctx.Done()
			took = append(took, time.Since(began))
			return nil
		}
		err := stopAll(ctx, []*Live{{Subject: &patient{}, Stop: stop}, {Subject: &mortal{}, Stop: stop}, nil})
		if want := []time.Duration{35 * time.Second, 15 * time.Second}; err != nil || !slices.Equal(took, want) {
			t.Errorf("had %v to end, want %v; %v", took, want, err)
		}
	})
}
