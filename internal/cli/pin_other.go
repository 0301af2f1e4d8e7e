//go:build !linux

package cli

import (
	"errors"
	"fmt"
)

var errNoPins = fmt.Errorf("processes cannot be held to CPUs on this system: %w", errors.ErrUnsupported)

func allowedCPUs() ([]int, error) { return nil, errNoPins }

func pinProcess([]int) (undo func(), err error) { return nil, errNoPins }
