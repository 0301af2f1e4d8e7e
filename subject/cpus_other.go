//go:build !linux

package subject

import (
	"errors"
	"fmt"
)

func onCPUs(cpus []int, start func() error) error {
	if len(cpus) > 0 {
		return fmt.Errorf("cpus %v: a process cannot be pinned on this system: %w", cpus, errors.ErrUnsupported)
	}
	return start()
}
