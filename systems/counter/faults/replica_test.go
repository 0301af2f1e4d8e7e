package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	replicaCount = 3
	// callersPerConn share a gRPC connection.
	callersPerConn = 16
)

// An endpoint is where a replica serves during one of its lives.
type endpoint struct {
	http   string
	grpc   []*grpc.ClientConn
	missed atomic.Int64 // calls that were not acknowledged
}

// A replica is a process that serves the counter. Its methods are for the
// goroutine of the test, except at.
type replica struct {
	t      testing.TB
	design string
	args   []string
	cmd    *exec.Cmd
	done   chan error // what Wait returned
	serves atomic.Pointer[endpoint]
	log    tail
	conns  []*grpc.ClientConn // of all its lives
}

// startReplica starts one of a design, with further arguments. It ends with the
// test, gracefully unless it was killed.
func startReplica(t testing.TB, design string, args ...string) *replica {
	t.Helper()
	r := &replica{t: t, design: design, args: append([]string{"serve", "counter",
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--guard", design}, args...)}
	t.Cleanup(func() {
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.stop()
		if t.Failed() {
			t.Logf("the end of what a replica wrote:\n%s", r.log.text())
		}
	})
	r.start()
	return r
}

func (r *replica) at() *endpoint { return r.serves.Load() }

// start starts the process and waits until it serves.
func (r *replica) start() {
	r.t.Helper()
	cmd := exec.Command(program(), r.args...)
	dieWithParent(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	serving := make(chan [2]string, 1)
	r.cmd, r.done = cmd, make(chan error, 1)
	go func(done chan<- error) {
		r.read(stderr, serving)
		done <- cmd.Wait()
	}(r.done)
	select {
	case addrs := <-serving:
		r.serves.Store(&endpoint{http: addrs[0], grpc: r.dial(addrs[1])})
	case err := <-r.done:
		r.done <- err
		r.t.Fatalf("a replica does not start: %v\n%s", err, r.log.text())
	case <-time.After(patience):
		r.t.Fatalf("a replica does not serve within %v:\n%s", patience, r.log.text())
	}
}

// read keeps the end of what the process writes, and tells its addresses.
func (r *replica) read(stderr io.Reader, serving chan<- [2]string) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		r.log.add(line)
		if strings.Contains(line, "msg=serving") {
			select {
			case serving <- [2]string{attribute(line, "http"), attribute(line, "grpc")}:
			default: // said twice
			}
		}
	}
}

// attribute returns the value of key in a line of slog's text.
func attribute(line, key string) string {
	for _, field := range strings.Fields(line) {
		if value, found := strings.CutPrefix(field, key+"="); found {
			return value
		}
	}
	return ""
}

func (r *replica) dial(addr string) []*grpc.ClientConn {
	r.t.Helper()
	conns := make([]*grpc.ClientConn, (callerCount/2+callersPerConn-1)/callersPerConn)
	for i := range conns {
		c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStatsHandler(witness{}), grpc.WithDisableRetry())
		if err != nil {
			r.t.Fatal(err)
		}
		conns[i] = c
	}
	r.conns = append(r.conns, conns...)
	return conns
}

// children are the processes that it has started, in Linux.
func (r *replica) children() []int {
	r.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.cmd.Process.Pid))
	if err != nil || len(tasks) == 0 {
		r.t.Fatalf("no tasks of a replica: %v", err)
	}
	var pids []int
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // of a thread that may have ended
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				r.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// kill ends the process as kill -9 does.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	r.done <- <-r.done
}

// stop ends the process as an operator does, and checks that it ends well.
func (r *replica) stop() {
	if r.cmd == nil {
		return
	}
	select {
	case err := <-r.done: // already
		r.done <- err
		if r.cmd.ProcessState.ExitCode() >= 0 { // not by a signal of ours
			r.t.Errorf("a replica ended by itself: %v", err)
		}
		return
	default:
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-r.done:
		r.done <- err
		if err != nil {
			r.t.Errorf("a replica that was asked to stop: %v", err)
		}
	case <-time.After(patience):
		r.kill()
		r.t.Errorf("a replica does not stop within %v", patience)
	}
}

// ready asks /ready.
func (r *replica) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	code, body, err := get(ctx, r.at().http, "/ready")
	if err == nil && code != 200 {
		err = fmt.Errorf("/ready: %d %s", code, body)
	}
	return err
}

// A tail keeps the last lines of a log. The zero value is ready; safe for
// concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (l *tail) add(line string) {
	const most = 200
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > 2*most {
		l.lines = append(l.lines[:0], l.lines[most:]...)
	}
}

func (l *tail) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
