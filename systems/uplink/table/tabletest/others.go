package tabletest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"contend/internal/testenv"
)

// Standby starts another server, which ends with the test: it has all that this one has,
// and follows it until it is promoted. It also gets what this one confirms later.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	other := s.another(t, s.bin, syscall.SIGINT)
	out, err := other.command("pg_basebackup", "-h", s.dir, "-U", "postgres", "-D", other.data(), "-R", "-c", "fast",
		"--no-sync").CombinedOutput()
	if err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	other.Restart(t)
	s.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Exec(t, "postgres", "SELECT pg_reload_conf()")
	return other
}

// Pooler starts a PgBouncer in front of the server, with the pool_mode of that name, which
// ends with the test. Where PgBouncer is not installed, the test is skipped, or fails, as of
// Need.
func (s *Server) Pooler(t testing.TB, mode string) *Server {
	t.Helper()
	program := testenv.Program(t, "pgbouncer")
	p := s.another(t, filepath.Dir(program), syscall.SIGTERM) // at once, whoever is connected
	// The number of the port is a part of the socket's name only. A server that was lost
	// is asked for again at once, and nobody waits for it longer than 5 s, within
	// which a machine that is busy has made a connection.
	settings := fmt.Sprintf("[databases]\n* = host=%s user=postgres\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 5432\n"+
		"auth_type = any\npool_mode = %s\nserver_login_retry = 0.05\nquery_wait_timeout = 5\ndefault_pool_size = 40\n", s.dir, p.dir, mode)
	file := filepath.Join(p.dir, "pgbouncer.ini")
	testenv.Must(t, os.WriteFile(file, []byte(settings), 0o644))
	testenv.Must(t, p.start(p.command("pgbouncer", file)))
	return p
}

// another is a server without data, which a signal ends with the test.
func (s *Server) another(t testing.TB, bin string, ends syscall.Signal) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg")
	testenv.Must(t, err)
	other := &Server{bin: bin, dir: dir}
	t.Cleanup(func() {
		if err := errors.Join(other.end(ends), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	testenv.Must(t, other.unprivileged())
	return other
}
