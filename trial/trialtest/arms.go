// Package trialtest provides variants that run in the process of a test.
package trialtest

import (
	"context"
	"time"

	"contend/load"
	"contend/subject"
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

// Quickening is a process that answers in 5 ms at first and in 1 ms once it is so old.
func Quickening(name string, warm time.Duration) trial.Arm {
	return trial.Arm{Name: name, Start: func(context.Context, trial.Setup) (*trial.Live, error) {
		began := time.Now()
		return &trial.Live{Address: name, Subject: process{}, Target: load.Func(func(context.Context) (load.Outcome, error) {
			cold := max(0, 1-float64(time.Since(began))/float64(warm))
			time.Sleep(time.Millisecond + time.Duration(cold*float64(4*time.Millisecond)))
			return load.Outcome{}, nil
		})}, nil
	}}
}

// Connections answers after d over the first n connections, and over others never.
func Connections(name string, n int, d time.Duration) trial.Arm {
	return trial.Arm{Name: name, Start: func(context.Context, trial.Setup) (*trial.Live, error) {
		return &trial.Live{Address: name, Target: connections{n, d}}, nil
	}}
}

type connections struct {
	n int
	d time.Duration
}

func (c connections) NewVU(_ context.Context, id int) (load.VU, error) {
	return load.Func(func(ctx context.Context) (load.Outcome, error) {
		if id >= c.n {
			<-ctx.Done()
			return load.Outcome{}, ctx.Err()
		}
		time.Sleep(c.d)
		return load.Outcome{}, nil
	}), nil
}

// A process lives for ever, and uses nothing.
type process struct{}

func (process) Sample() (s subject.Sample, err error) { return s, nil }
func (process) Clocks() (s subject.Sample, err error) { return s, nil }
func (process) Blocked() []subject.Blocked            { return nil }
func (process) Done() <-chan struct{}                 { return nil }
func (process) Err() error                            { return nil }
