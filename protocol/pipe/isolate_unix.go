//go:build unix

package pipe

import (
	"os/exec"
	"syscall"
)

// isolate keeps an interrupt from the terminal away from the process: it ends when
// its input does.
func isolate(process *exec.Cmd) { process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
