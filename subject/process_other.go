//go:build !unix

package subject

import (
	"errors"
	"os"
	"os/exec"
)

// Without process groups only the process itself is ended, and at once.

func isolate(*exec.Cmd) {}

func terminateGroup(pid int) { killTree(pid) }

func killTree(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		process.Kill()
		process.Release()
	}
}

func (s *Subject) reap() error {
	err := s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaped = true
	return err
}

type guardian struct{}

func newGuardian(*container) (*guardian, error) { return nil, errors.ErrUnsupported }

func (*guardian) watch(int) error { return nil }

func (*guardian) dismiss() {}
