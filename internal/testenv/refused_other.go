//go:build !linux

package testenv

import "errors"

// Refused cannot be here.
func Refused(uint32, []string) error { return CanRefuse() }

// CanRefuse returns why Refused cannot be here.
func CanRefuse() error { return errors.New("only Linux has seccomp") }
