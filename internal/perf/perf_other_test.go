//go:build !linux

package perf

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestUnavailable(t *testing.T) {
	var unavailable *UnavailableError
	if _, err := Own(Cycles); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("error %v", err)
	}
}
