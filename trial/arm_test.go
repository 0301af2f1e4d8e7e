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
