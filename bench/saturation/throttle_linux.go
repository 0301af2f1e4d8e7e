package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// drive starts the generator, throttles one side from when the server is ready
// until the generator has measured, and returns what it saw.
func drive(ctx context.Context, c testCase, command string, args ...string) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return seen{}, err
	}
	if err := cmd.Start(); err != nil {
		return seen{}, err
	}
	result, err := converse(c, cmd.Process.Pid, in, bufio.NewReader(out))
	if err != nil {
		cancel()
	}
	return result, errors.Join(err, cmd.Wait())
}

func converse(c testCase, generator int, in io.Writer, out *bufio.Reader) (s seen, err error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return s, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return s, err
	}
	if c.Generator {
		pid = generator
	}
	release, err := throttle(c, pid)
	if err != nil {
		return s, err
	}
	if _, err = fmt.Fprintln(in); err == nil {
		err = json.NewDecoder(out).Decode(&s)
	}
	return s, errors.Join(err, release())
}

// throttle throttles a process until release is called.
func throttle(c testCase, pid int) (release func() error, err error) {
	if c.Quota {
		return limit(pid, c.Limit)
	}
	end, done := make(chan struct{}), make(chan struct{})
	running := time.Duration(c.Limit * float64(c.Period))
	go func() {
		defer close(done)
		for syscall.Kill(pid, syscall.SIGSTOP) == nil {
			time.Sleep(c.Period - running)
			if syscall.Kill(pid, syscall.SIGCONT) != nil {
				return
			}
			select {
			case <-end:
				return
			case <-time.After(running):
			}
		}
	}()
	return func() error { close(end); <-done; return nil }, nil
}

// group returns the control group of this process for CPU limits, of version 1 or
// 2, and how a quota in microseconds for each 100 ms is written there.
func group() (dir, file, quota string) {
	const mount = "/sys/fs/cgroup"
	dir, file, quota = mount, "cpu.max", "%d 100000"
	lines, _ := os.ReadFile("/proc/self/cgroup") // number:controllers:path; without it there is no quota
	for line := range strings.Lines(string(lines)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), "cpu") {
			return filepath.Join(mount, "cpu", fields[2]), "cpu.cfs_quota_us", "%d"
		}
		if len(fields) == 3 && fields[1] == "" {
			dir = filepath.Join(mount, fields[2])
		}
	}
	return dir, file, quota
}

// canLimit reports whether this process may make control groups with a quota.
func canLimit() bool {
	release, err := limit(0, 1)
	return err == nil && release() == nil
}

// limit moves a process into a control group of its own that may use so many
// cores; no process if it is 0.
func limit(pid int, cores float64) (release func() error, err error) {
	parent, file, quota := group()
	dir, err := os.MkdirTemp(parent, "contend-saturation-*")
	if err != nil {
		return nil, err
	}
	move := func(to string) error {
		if pid == 0 {
			return nil
		}
		return os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
	release = func() error {
		err := move(parent)
		if errors.Is(err, syscall.ESRCH) {
			err = nil // it has ended
		}
		return errors.Join(err, removeSoon(dir))
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, quota, int(cores*100_000)), 0),
		move(dir))
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// removeSoon removes a control group, which is busy until its last process has
// left it.
func removeSoon(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}
