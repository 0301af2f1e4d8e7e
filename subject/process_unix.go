//go:build unix && !linux

package subject

import (
	"os"
	"os/exec"
	"syscall"
)

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func widen(*os.File) {}

func terminateGroup(pid int) { syscall.Kill(-pid, syscall.SIGTERM) }

func killTree(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// reap waits for the process and kills the rest of its group, whose number
// cannot have been given away while that rest lives.
func (s *Subject) reap() error {
	err := s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	killTree(s.PID())
	s.reaped = true
	return err
}
