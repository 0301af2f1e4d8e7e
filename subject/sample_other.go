//go:build !linux

package subject

import (
	"errors"
	"time"
)

type census struct{ pids []int }

func sampleAll(int, *container) (Sample, census, time.Time, error) {
	return Sample{}, census{}, time.Time{}, errors.ErrUnsupported
}

func (census) runsGo() bool { return false }

func (census) clocks() (Sample, error) { return Sample{}, errors.ErrUnsupported }

func threadsOf(int, *container) ([]int, error) { return nil, errors.ErrUnsupported }

func (census) longestWait() time.Duration { return 0 }

func (census) blocked() []Blocked { return nil }
