package subject

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"contend/failure"
	"contend/internal/perf"
)

// live is the life of the process, on one locked thread: see Lifetime in the package
// comment. It sends on launched whether there is a process at all. The thread is never
// unlocked, so that it ends with live: what it did next would also be counted.
func (s *Subject) live(launched chan<- error) {
	runtime.LockOSThread()
	defer close(s.done)
	guard, err := newGuardian(s.container)
	s.unguarded = err
	defer guard.dismiss()
	output, err := collect(s.cmd, &s.stdout, &s.stderr)
	if err != nil {
		s.moveBinds(err)
		launched <- err
		return
	}
	if len(s.counted) > 0 && s.container == nil {
		s.counters, _ = perf.Children(s.counted...) // Counters reports why there are none
		defer s.closeCounters()
	}
	isolate(s.cmd)
	if s.handover != nil {
		s.handover.Give(s.cmd)
	}
	s.launched = time.Now()
	err = onCPUs(s.cpus, s.cmd.Start)
	output.started()
	s.moveBinds(err)
	if err != nil {
		output.finish()
		launched <- err
		return
	}
	s.unguarded = errors.Join(s.unguarded, guard.watch(s.PID()))
	launched <- nil
	err = s.reap()
	output.finish()
	if s.container != nil {
		s.left = s.container.end()
	}
	if s.named {
		s.removeMaps()
	}
	if s.left = errors.Join(s.left, s.ended()); s.left != nil {
		s.left = fmt.Errorf("server %s: %w", s.name, s.left)
	}
	s.conclude(errors.Join(err, s.left))
}

// moveBinds moves what a process binds from its start on, until it has ended, unless
// it was not started.
func (s *Subject) moveBinds(notStarted error) {
	switch {
	case s.handover == nil:
	case notStarted != nil:
		s.handover.Close()
	default:
		s.handover.Started()
		go func() {
			s.unmoved <- s.handover.Serve(s.own, s.refusals.note)
			close(s.unmoved)
		}()
	}
}

// conclude notes how the process ended, unless it was asked to.
func (s *Subject) conclude(waited error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	facts := failure.Failure{Kind: failure.Exited, Lived: time.Since(s.launched)}
	if status, exited := exitStatus(waited); exited {
		facts.Exit = &status
	}
	if waited == nil {
		waited = errors.New("exit status 0")
	}
	s.err = s.parting(fmt.Errorf("%w: %w", errEnded, waited), stray{}, facts)
}

// exitStatus is that of a process, by the error of Wait, unless a signal ended it.
func exitStatus(waited error) (status int, exited bool) {
	if ended, ok := errors.AsType[*exec.ExitError](waited); ok {
		return ended.ExitCode(), ended.Exited()
	}
	return 0, waited == nil
}
