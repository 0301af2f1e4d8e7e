//go:build !linux

package rebind

import (
	"errors"
	"net/netip"
	"os/exec"
)

// Exec cannot be here.
func Exec([]string, bool) error { return errNotHere }

// A Handover is the way of a listener from a program that is to be started to us.
type Handover struct{}

// NewHandover fails.
func NewHandover() (*Handover, error) { return nil, errNotHere }

// Give does nothing.
func (*Handover) Give(*exec.Cmd) {}

// Started does nothing.
func (*Handover) Started() {}

// Close does nothing.
func (*Handover) Close() {}

// Serve fails.
func (*Handover) Serve(netip.Addr, func(netip.AddrPort)) error { return errNotHere }

// Try returns why binds cannot be moved here.
func Try([]string, []string) error { return errNotHere }

var errNotHere = errors.New("only Linux can move what a program binds")
