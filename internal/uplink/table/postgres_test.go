//go:build unix

package table

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A cluster is a private PostgreSQL server in a temporary folder.
type cluster struct {
	bin, dir  string
	as        *syscall.SysProcAttr // root may not run it
	server    *exec.Cmd
	databases atomic.Int32
}

// shared is the cluster of all tests; no test runs beside another.
var shared *cluster

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		code = max(code, shared.end())
	}
	os.Exit(code)
}

// postgres returns the running cluster, or skips the test if PostgreSQL is not
// installed, which on CI is a failure.
func postgres(t testing.TB) *cluster {
	t.Helper()
	if shared != nil {
		return shared
	}
	c := &cluster{}
	if err := c.create(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	shared = c
	c.start(t)
	return c
}

func (c *cluster) create() error {
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return fmt.Errorf("PostgreSQL is not installed: %w", err)
		}
		initdb = found[len(found)-1]
	}
	c.bin = filepath.Dir(initdb)
	if c.dir, err = os.MkdirTemp("", "table"); err != nil {
		return err
	}
	if err := c.initialise(); err != nil {
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	return nil
}

func (c *cluster) initialise() error {
	if os.Getuid() == 0 {
		if err := c.unprivileged(); err != nil {
			return err
		}
	}
	out, err := c.command("initdb", "-D", c.data(), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8",
		"--locale=C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (c *cluster) unprivileged() error {
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	c.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(c.dir, uid, gid)
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	return cmd
}

// start starts the server and waits until it answers.
func (c *cluster) start(t testing.TB) {
	t.Helper()
	c.server = c.command("postgres", "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.server.Stderr = log
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "PostgreSQL answers", func() bool {
		conn, err := pgx.Connect(t.Context(), c.url("postgres"))
		if err != nil {
			return false
		}
		return conn.Close(t.Context()) == nil
	})
}

// stop ends the server and all connections.
func (c *cluster) stop() error {
	if err := c.server.Process.Signal(syscall.SIGINT); err != nil { // fast shutdown
		return err
	}
	return c.server.Wait()
}

func (c *cluster) end() int {
	if c.stop() != nil || os.RemoveAll(c.dir) != nil {
		return 1
	}
	return 0
}

func (c *cluster) url(database string) string {
	return "postgres://postgres@/" + database + "?host=" + c.dir
}

// fresh returns the URL of a new database.
func (c *cluster) fresh(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	c.exec(t, "postgres", "CREATE DATABASE "+name)
	return c.url(name)
}

// exec runs a statement on a connection of its own.
func (c *cluster) exec(t testing.TB, database, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.url(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatal(err)
	}
}

// backends are the kinds of database on which all tests run.
func backends() []backend {
	return []backend{sqliteBackend, {"postgres", func(t testing.TB) string { return postgres(t).fresh(t) }}}
}
