//go:build !linux

package subject

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"
)

func listening(context.Context, string) (*Foreign, error) {
	return nil, fmt.Errorf("%s does not tell who listens: %w", runtime.GOOS, errors.ErrUnsupported)
}

// listens asks lsof, which macOS and BSD have.
func (s *Subject) listens(address netip.AddrPort, _ bool) (places []netip.AddrPort, there bool) {
	group := strconv.Itoa(s.PID())
	output, _ := exec.Command("lsof", "-nP", "-a", "-g", group, "-iTCP", "-sTCP:LISTEN", "-Ftn").Output() // without it nothing is known
	places = parseLsof(string(output))
	return places, slices.ContainsFunc(places, func(at netip.AddrPort) bool {
		return at.Port() == address.Port() && (at.Addr() == address.Addr() || at.Addr().IsUnspecified())
	})
}

// heard is not asked: only Linux tells where a subject connects.
func heard(netip.AddrPort) bool { return true }

func (*Subject) peers() []string { return nil }

// intruder is not looked for: only Linux lists quickly who listens where.
func (*Subject) intruder() (found error, older bool) { return nil, false }

func (*Foreign) sample() (Sample, census, time.Time, error) {
	return Sample{}, census{}, time.Time{}, errors.ErrUnsupported
}

func (*Foreign) threads() ([]int, error) { return nil, errors.ErrUnsupported }
