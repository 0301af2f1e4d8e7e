//go:build !unix

package testenv

import (
	"errors"
	"testing"
)

// HeldPort skips the test: only Unix lets a bound socket share its port.
func HeldPort(t testing.TB) string {
	t.Helper()
	Missing(t, errors.New("a port that can be held"))
	return ""
}
