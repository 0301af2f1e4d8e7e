//go:build !linux

package perf

import (
	"errors"
	"runtime"
)

func check(events []Event) error {
	return &UnavailableError{Event: events[0], Reason: "this is " + runtime.GOOS, Advice: "measure on Linux"}
}

// A Sampler is of Linux.
type Sampler struct{}

func openSampler(func() ([]int, error), int) (*Sampler, error) {
	return nil, check([]Event{CPUTime})
}

func (*Sampler) Often() error            { return errors.ErrUnsupported }
func (*Sampler) Start() error            { return errors.ErrUnsupported }
func (*Sampler) Stop() (*Samples, error) { return nil, errors.ErrUnsupported }
func (*Sampler) Close() error            { return errors.ErrUnsupported }

type group struct{}

func openGroup(int, []Event) (group, error) { return group{}, errors.ErrUnsupported }

func (group) enable() error       { return nil }
func (group) disable() error      { return nil }
func (group) addTo(reading) error { return nil }
func (group) close() error        { return nil }

func ownThreads() ([]int, error) { return nil, errors.ErrUnsupported }

// EverySystemCall returns an error: only Linux shows them.
func EverySystemCall() ([]Event, error) { return nil, errors.ErrUnsupported }

// Executable returns nothing: only Linux shows it.
func Executable(int) []Map { return nil }
