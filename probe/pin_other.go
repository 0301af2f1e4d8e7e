//go:build !linux

package probe

import (
	"errors"
	"fmt"
)

// CPUs returns an error: threads cannot be pinned here.
func CPUs() ([]int, error) {
	return nil, fmt.Errorf("threads cannot be held to CPUs on this system: %w", errors.ErrUnsupported)
}

func pin(int) (restore func() error) { return func() error { return nil } }
