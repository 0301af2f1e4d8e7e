//go:build !linux

package rebind

import (
	"errors"
	"net/netip"
	"os/exec"
)

// Exec cannot be here.
func Exec([]string) error { return Supported() }

// A Handover is the way of a listener from a program that is to be started to us.
type Handover struct{}

// NewHandover fails.
func NewHandover() (*Handover, error) { return nil, Supported() }

// Give does nothing.
func (*Handover) Give(*exec.Cmd) {}

// Started does nothing.
func (*Handover) Started() {}

// Close does nothing.
func (*Handover) Close() {}

// Serve fails.
func (*Handover) Serve(netip.Addr) error { return Supported() }

// Supported returns why programs cannot be asked here.
func Supported() error {
	return errors.New("rebind: only Linux can move what a program binds")
}
