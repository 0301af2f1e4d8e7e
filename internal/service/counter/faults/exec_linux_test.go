package faults_test

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the process with this one, however this one ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
