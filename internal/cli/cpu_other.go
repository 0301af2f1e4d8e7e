//go:build !unix

package cli

import "time"

// processCPU is not known here.
func processCPU() time.Duration { return 0 }
