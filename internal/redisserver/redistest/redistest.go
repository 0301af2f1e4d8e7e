// Package redistest starts a real redis-server for tests, which they may kill and
// start again.
package redistest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

// A Server is a redis-server with an append-only file. Its methods are for one
// goroutine at a time.
type Server struct {
	t    testing.TB
	dir  string
	port string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
}

// Need skips a test where no redis-server is installed, and fails it there if the
// environment says CI=true.
func Need(t testing.TB) {
	t.Helper()
	testenv.Program(t, "redis-server")
}

// Start starts one, with further arguments if given, at a Unix socket and a TCP
// port. It ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	Need(t)
	dir, err := os.MkdirTemp("", "r") // short, as the path of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: dir, port: testenv.HeldPort(t), args: args}
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	if !s.launch() {
		t.Fatalf("redis-server does not start:\n%s", s.Log())
	}
	return s
}

// URL is that of the Unix socket.
func (s *Server) URL() string { return "unix://" + s.socket() }

func (s *Server) socket() string { return filepath.Join(s.dir, "s") }

// TCP is the URL of the port.
func (s *Server) TCP() string { return "redis://" + s.Addr() }

// Addr is host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", s.port) }

// Log is what the server has written.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text)
}

// Restart starts a killed server again, with the data that it has kept.
func (s *Server) Restart() {
	s.t.Helper()
	if !s.launch() {
		s.t.Fatalf("redis-server does not start again:\n%s", s.Log())
	}
}

// launch reports whether the server has come up.
func (s *Server) launch() bool {
	s.cmd = exec.Command("redis-server", append([]string{"--port", s.port, "--bind", "127.0.0.1",
		"--unixsocket", s.socket(), "--dir", s.dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "no", "--repl-diskless-sync-delay", "0", "--logfile", filepath.Join(s.dir, "log")}, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait()
	}(s.cmd, s.done)
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		select {
		case <-s.done:
			return false
		default:
		}
		if s.answers() {
			return true
		}
	}
	s.Kill()
	return false
}

// answers reports whether the server speaks; a password may be wanted.
func (s *Server) answers() bool {
	_, err := s.do("PING")
	return err == nil || strings.HasPrefix(err.Error(), "NOAUTH")
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Freeze has the server say nothing any more, on connections that stay, until it is thawed or killed.
func (s *Server) Freeze() { s.signal("-STOP") }

// Thaw ends that.
func (s *Server) Thaw() { s.signal("-CONT") }

func (s *Server) signal(name string) {
	if err := exec.Command("kill", name, strconv.Itoa(s.cmd.Process.Pid)).Run(); err != nil {
		s.t.Fatal(err)
	}
}
