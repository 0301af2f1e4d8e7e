package faults_test

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the process with this one, however this one ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stands are the faults of a Redis that stops, and later does what it was sent
// in the meantime, even if nobody waits for the answer any more.
func stands() []fault {
	pid := 0
	return []fault{{name: "a Redis that stands still", timeouts: 0.25,
		begin: func(f *fleet) {
			pid = f.redisPID()
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		},
		bites: func(f *fleet, c *crowd, since counts) bool {
			now := f.counts(c)
			return now.lost+now.refused > since.lost+since.refused
		},
		end: func(*fleet) { _ = syscall.Kill(pid, syscall.SIGCONT) },
	}}
}
