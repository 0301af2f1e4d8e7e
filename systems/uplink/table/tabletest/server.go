// Package tabletest starts a private PostgreSQL for tests, which they may stop and
// start again. It works on Unix only; on other systems PostgreSQL counts as not installed.
package tabletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"contend/internal/testenv"
)

// A Server is a PostgreSQL in a temporary folder, at a Unix socket. Its methods are
// for one goroutine at a time, except Fresh and Exec.
type Server struct {
	bin, dir  string
	as        *syscall.SysProcAttr // root may not run it
	cmd       *exec.Cmd
	done      chan struct{} // closed when cmd has ended
	databases atomic.Int32
	used      chan string // databases that are empty again; nil in a server that ends with its test
	copied    bool        // of the model
}

// Need skips a test where PostgreSQL is not installed, and fails it there if the
// environment says CI=true.
func Need(t testing.TB) {
	t.Helper()
	if _, err := programs(); err != nil {
		testenv.Missing(t, err)
	}
}

// Start starts one that ends with the test, which needs it.
func Start(t testing.TB) *Server {
	t.Helper()
	Need(t)
	s, err := New()
	testenv.Must(t, err)
	s.used = nil
	t.Cleanup(func() { testenv.Must(t, s.Close()) })
	return s
}

var shared struct {
	sync.Mutex
	*Server
	tests int
}

// Shared returns a server that all tests have together which run at the same time and do not stop it.
func Shared(t testing.TB) *Server {
	t.Helper()
	Need(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.tests == 0 {
		s, err := New()
		testenv.Must(t, err)
		shared.Server = s
	}
	shared.tests++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.tests--; shared.tests == 0 {
			testenv.Must(t, shared.Close())
		}
	})
	return shared.Server
}

// New starts one that outlives a test. It must be closed.
func New() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // short, as the path of a socket has to be
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, used: make(chan string, 100)}
	err = s.initialise()
	if err == nil {
		err = s.restart()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) initialise() error {
	if err := s.unprivileged(); err != nil {
		return err
	}
	data, err := s.model()
	if err != nil {
		return err
	}
	cmd := exec.Command("cp", "-a", data, s.data())
	cmd.SysProcAttr = s.as
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// models has what servers begin with a copy of, which takes a tenth of the time of making it. It is there as long
// as a server that has one.
var models struct {
	sync.Mutex
	dir    string
	copies int
}

// model returns the data of a new server.
func (s *Server) model() (data string, err error) {
	models.Lock()
	defer models.Unlock()
	models.copies++
	s.copied = true
	m := &Server{bin: s.bin, dir: models.dir}
	if m.dir != "" {
		return m.data(), nil
	}
	if m.dir, err = os.MkdirTemp("", "pg"); err != nil {
		return "", err
	}
	models.dir = m.dir
	if err := m.unprivileged(); err != nil {
		return "", err
	}
	out, err := m.command("initdb", "-D", m.data(), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8",
		"--locale=C", "--wal-segsize=4").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, out)
	}
	spare, _ := filepath.Glob(filepath.Join(m.data(), "base", "*", "[0-9]*_*")) // a quarter of all files: maps of pages, which it can do without
	for _, file := range spare {
		_ = os.Remove(file)
	}
	return m.data(), nil
}

// release removes the model with the last server that has a copy.
func (s *Server) release() error {
	models.Lock()
	defer models.Unlock()
	if !s.copied {
		return nil
	}
	s.copied = false
	if models.copies--; models.copies > 0 {
		return nil
	}
	dir := models.dir
	models.dir = ""
	return os.RemoveAll(dir)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.as
	return cmd
}

// Restart starts a stopped server, with the data that it has kept, and waits until
// it answers.
func (s *Server) Restart(t testing.TB) { t.Helper(); testenv.Must(t, s.restart()) }

func (s *Server) restart() error {
	return s.start(s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off"))
}

func (s *Server) start(cmd *exec.Cmd) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	return s.await()
}

// await waits until the server answers.
func (s *Server) await() (err error) {
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%s does not start: %s", filepath.Base(s.cmd.Path), text)
		default:
		}
		if err = s.do("postgres", "SELECT 1"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer: %w", filepath.Base(s.cmd.Path), err)
}

// Stop ends the server and all connections at once, as for a maintenance.
func (s *Server) Stop(t testing.TB) { t.Helper(); testenv.Must(t, s.end(syscall.SIGINT)) } // a fast shutdown (PostgreSQL, 19.5)

// Crash ends the server without letting it tidy up.
func (s *Server) Crash(t testing.TB) { t.Helper(); testenv.Must(t, s.end(syscall.SIGQUIT)) } // an immediate shutdown

func (s *Server) end(signal syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(signal)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		<-s.done
		s.cmd, err = nil, nil
	}
	return err
}

// Close ends the server for ever.
func (s *Server) Close() error {
	return errors.Join(s.end(syscall.SIGINT), os.RemoveAll(s.dir), s.release())
}

// Socket is the path of the Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Host is the folder of the Unix socket, which replaces a host in a URL.
func (s *Server) Host() string { return s.dir }

// URL is that of a database.
func (s *Server) URL(database string) string {
	return "postgres://postgres@/" + database + "?host=" + s.Host()
}

// Fresh returns the URL of an empty database: a new one, or that of a test that has ended, as the 300 files of a new
// one are most of what a short test costs.
func (s *Server) Fresh(t testing.TB) string {
	t.Helper()
	var name string
	select {
	case name = <-s.used:
	default:
		name = fmt.Sprintf("test%d", s.databases.Add(1))
		s.Exec(t, "postgres", "CREATE DATABASE "+name)
	}
	if s.used != nil {
		t.Cleanup(func() {
			if s.do(name, empty) == nil {
				s.used <- name
			}
		})
	}
	return s.URL(name)
}

// empty ends all other connections to a database and removes what it has.
const empty = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
	DROP SCHEMA public CASCADE; CREATE SCHEMA public`

// Exec runs a statement in a database, on a connection of its own.
func (s *Server) Exec(t testing.TB, database, statement string) {
	t.Helper()
	testenv.Must(t, s.do(database, statement))
}

func (s *Server) do(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}
