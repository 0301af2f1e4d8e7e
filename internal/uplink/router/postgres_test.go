//go:build unix

package router

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A postgres is a private PostgreSQL server that can be stopped and started.
type postgres struct {
	bin, dir, port string
	as             *syscall.SysProcAttr // root may not run it
	server         *exec.Cmd
	databases      int
}

// startPostgres starts one, or skips the test where none is installed; CI has one.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("PostgreSQL is not installed")
		}
		t.Skip("PostgreSQL is not installed")
	}
	_, port, _ := net.SplitHostPort(freeAddress(t))
	dir, err := os.MkdirTemp("", "router")
	if err != nil {
		t.Fatal(err)
	}
	p := &postgres{bin: filepath.Dir(found[len(found)-1]), dir: dir, port: port}
	t.Cleanup(func() {
		p.stop()
		os.RemoveAll(dir)
	})
	if os.Getuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		p.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "--auth=trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	p.start(t)
	return p
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	return cmd
}

func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/%s?sslmode=disable", p.port, database)
}

func (p *postgres) start(t *testing.T) {
	t.Helper()
	p.server = p.command("postgres", "-D", filepath.Join(p.dir, "data"), "-p", p.port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+p.dir, "-c", "fsync=off")
	if err := p.server.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "PostgreSQL answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, p.url("postgres"))
		if err == nil {
			conn.Close(ctx)
		}
		return err == nil
	})
}

func (p *postgres) stop() {
	if p.server != nil {
		p.server.Process.Signal(syscall.SIGQUIT)
		p.server.Wait()
		p.server = nil
	}
}

// newDatabase returns the URL of an empty database.
func (p *postgres) newDatabase(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	p.databases++
	name := fmt.Sprintf("test%d", p.databases)
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}
