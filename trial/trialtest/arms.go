// Package trialtest has arms that live in the process of a test.
package trialtest

import (
	"context"
	"time"

	"contend/load"
	"contend/trial"
)

// Arm is driven by calling f.
func Arm(name string, f load.Func) trial.Arm {
	return trial.Arm{Name: name, Start: func(context.Context, trial.Setup) (*trial.Live, error) {
		return &trial.Live{Address: name, Target: f}, nil
	}}
}

// Sleeping answers after d.
func Sleeping(name string, d time.Duration) trial.Arm {
	return Arm(name, func(context.Context) (load.Outcome, error) {
		time.Sleep(d)
		return load.Outcome{}, nil
	})
}
