//go:build !linux

package subject

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

func listening(context.Context, string) (*Foreign, error) {
	return nil, fmt.Errorf("%s does not tell who listens: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (*Subject) listens(netip.AddrPort) (places []netip.AddrPort, there bool) { return nil, false }

func (*Subject) peers() []string { return nil }

func (*Foreign) sample() (Sample, census, time.Time, error) {
	return Sample{}, census{}, time.Time{}, errors.ErrUnsupported
}

func (*Foreign) threads() ([]int, error) { return nil, errors.ErrUnsupported }
