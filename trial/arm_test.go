package trial

import (
	"context"
	"errors"
	"testing"

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

// Of arms that cannot be started all are named, in their order, and what was started is stopped.
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
