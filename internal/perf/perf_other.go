//go:build !linux

package perf

import (
	"errors"
	"runtime"
)

func check(events []Event) error {
	return &UnavailableError{Event: events[0], Reason: "this is " + runtime.GOOS, Advice: "measure on Linux"}
}

type group struct{}

func openGroup(int, []Event) (group, error) { return group{}, errors.ErrUnsupported }

func (group) enable() error       { return nil }
func (group) disable() error      { return nil }
func (group) addTo(reading) error { return nil }
func (group) close() error        { return nil }

func ownThreads() ([]int, error) { return nil, errors.ErrUnsupported }
