//go:build !linux

package subject

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func listening(context.Context, string) (*Foreign, error) {
	return nil, fmt.Errorf("%s does not tell who listens: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (*Foreign) threads() ([]int, error) { return nil, errors.ErrUnsupported }
