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
	_, counters := Own(Cycles)
	_, sampler := Sample(ownThreads)
	for _, err := range []error{counters, sampler} {
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), runtime.GOOS) {
			t.Errorf("error %v", err)
		}
	}
}
