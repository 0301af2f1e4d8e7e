//go:build !linux

package placement

import (
	"errors"
	"fmt"
)

func pin([]int) (undo func(), err error) {
	return nil, fmt.Errorf("processes cannot be held to CPUs on this system: %w", errors.ErrUnsupported)
}
