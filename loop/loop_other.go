//go:build !linux

package loop

import (
	"context"
	"errors"

	"contend/load"
)

// Supported reports whether there are event loops on this system, and if not,
// why.
func Supported() (ok bool, why string) { return false, "not Linux" }

// A Loop does not exist on this system.
type Loop struct{}

var _ load.Loop = (*Loop)(nil)

var errUnsupported = errors.New("event loops need Linux")

// New fails.
func New(context.Context, Config) (*Loop, error) { return nil, errUnsupported }

// Drive fails.
func (*Loop) Drive(context.Context, *load.Shard) error { return errUnsupported }

// Close does nothing.
func (*Loop) Close() error { return nil }
