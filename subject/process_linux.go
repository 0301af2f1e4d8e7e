package subject

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isolate gives the process a session of its own and ties it to this thread.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

func terminateGroup(pid int) { unix.Kill(-pid, unix.SIGTERM) }

// widen asks for a pipe of pipeBytes, which users may have up to a total limit.
func widen(pipe *os.File) { unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, pipeBytes) }

// killTree kills the process group of pid, then whatever else sampling would
// count, and returns how many processes it had to kill one by one.
func killTree(pid int) int {
	unix.Kill(-pid, unix.SIGKILL)
	living := 0
	members, _ := tree(pid) // without /proc the group is all that can be found
	for _, p := range members {
		if !isZombie(p) {
			unix.Kill(p.PID, unix.SIGKILL)
			living++
		}
	}
	return living
}

// reap waits until the process has ended, ends the rest of its session, and
// takes its exit status. Until the last step it is a zombie, so that no other
// process or group has its number.
func (s *Subject) reap() error {
	for {
		err := unix.Waitid(unix.P_PID, s.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	giveUp := time.Now().Add(killTimeout)
	for killTree(s.PID()) > 0 && time.Now().Before(giveUp) {
		time.Sleep(time.Millisecond)
	}
	s.reaped = true
	return s.cmd.Wait()
}
