package guard_test

import (
	"testing"

	"contend/guard"
	"contend/guard/guardtest"
	"contend/internal/testenv"
)

func TestDesigns(t *testing.T) {
	for _, d := range guard.Designs() {
		o := guardtest.Options{LockWaits: d.Name == "mutex" || d.Name == "rwmutex"}
		t.Run(d.Name, func(t *testing.T) {
			if d.NewCounter != nil {
				guardtest.Run(t, o, func(*testing.T) guard.Counter { return d.NewCounter() })
			}
			if d.NewAdder != nil {
				guardtest.RunAdder(t, o, func(*testing.T) guard.Adder { return d.NewAdder() })
			}
			if d.Exclusive {
				guardtest.RunExclusive(t, o, func(t *testing.T) guard.Exclusive[guardtest.State] {
					e, err := guard.NewExclusive(d.Name, guardtest.State{})
					testenv.Must(t, err)
					return e
				})
			}
		})
	}
}
