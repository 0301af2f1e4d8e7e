//go:build !unix

package subject

import (
	"os/exec"
	"time"
)

// A collector leaves the reading of the output to os/exec.
type collector struct{}

func collect(cmd *exec.Cmd, stdout, stderr *tail) (*collector, error) {
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = 250 * time.Millisecond // for output that another process still holds open
	return &collector{}, nil
}

func (*collector) started() {}

func (*collector) finish() {}
