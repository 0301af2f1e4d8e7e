//go:build !linux

package cli

import (
	"errors"
	"fmt"
)

func pinProcess([]int) (undo func(), err error) {
	return nil, fmt.Errorf("processes cannot be held to CPUs on this system: %w", errors.ErrUnsupported)
}
