//go:build !linux

package bare

import (
	"errors"
	"time"
)

// Run needs Linux.
func Run(string, int, time.Duration) (int64, error) { return 0, errors.New("bare: needs Linux") }
