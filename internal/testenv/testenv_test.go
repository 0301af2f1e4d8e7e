package testenv

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A held address refuses, is nobody else's, and may be listened on again and again.
func TestHeldAddress(t *testing.T) {
	address := HeldAddress(t)
	for range 3 {
		if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dialled %v: %v, want refused", conn, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		l.Close()
	}
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == address {
			t.Fatalf("%s is held and was given away", address)
		}
	}
}

func TestProgram(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "installed")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	if path := Program(t, "installed"); path != program {
		t.Errorf("found %q, want %q", path, program)
	}
	for ci, want := range map[string]string{"": "skipped", "bare": "skipped", "true": "failed"} {
		t.Setenv("CI", ci)
		if got := outcome(func(t testing.TB) { Program(t, "missing") }); got != want {
			t.Errorf("CI=%s: a missing program has the test %s, want %s", ci, got, want)
		}
		if got := outcome(func(t testing.TB) { Hardware(t, errors.New("none")) }); got != "skipped" {
			t.Errorf("CI=%s: missing hardware has the test %s", ci, got)
		}
	}
}

// What helps tests to fail can.
func TestHelpersFail(t *testing.T) {
	golden := Files(t, "golden", "as it was", "in/a folder", "")
	failed := errors.New("connection refused")
	for name, tt := range map[string]struct {
		body func(testing.TB)
		want string
	}{
		"must, without an error":   {func(t testing.TB) { Must(t, nil) }, "passed"},
		"must":                     {func(t testing.TB) { Must(t, failed) }, "failed"},
		"says all":                 {func(t testing.TB) { Says(t, failed, "connection", "refused") }, "passed"},
		"says one":                 {func(t testing.TB) { Says(t, failed, "connection", "reset") }, "failed"},
		"says nothing":             {func(t testing.TB) { Says(t, nil, "refused") }, "failed"},
		"golden":                   {func(t testing.TB) { Golden(t, golden, "as it was") }, "passed"},
		"golden, missing":          {func(t testing.TB) { Golden(t, golden+"2", "other") }, "failed"},
		"read, missing":            {func(t testing.TB) { Read(t, golden+"3") }, "failed"},
		"write, without a folder":  {func(t testing.TB) { Write(t, golden+"/4", "x") }, "failed"},
		"eventually, what is so":   {func(t testing.TB) { Eventually(t, "true", func() bool { return true }) }, "passed"},
		"allocated, more than was": {func(t testing.TB) { Must(t, within(Allocated(func() { kept = make([]byte, 1<<20) }), 1<<20, 1<<24)) }, "passed"},
	} {
		if got := outcome(tt.body); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	differs := outcome(func(t testing.TB) { Golden(t, golden, "other") })
	if got := string(Read(t, golden+".got")); differs != "failed" || got != "other" {
		t.Errorf("another text: %s, what differed is %q", differs, got)
	}
	if outcome(func(t testing.TB) { Golden(t, golden, "as it was") }); len(Read(t, golden)) != len("as it was") {
		t.Error("a golden file was changed")
	}
	if _, err := os.Stat(golden + ".got"); err == nil {
		t.Error("what differed before is still there")
	}
}

var kept []byte

func within(n, least, most uint64) error {
	if n < least || n > most {
		return fmt.Errorf("%d, want %d to %d", n, least, most)
	}
	return nil
}

func TestCertificate(t *testing.T) {
	path, key := NewCertificate("127.0.0.1", "server.test").Write(t)
	pair, err := tls.LoadX509KeyPair(path, key)
	Must(t, err)
	for host, want := range map[string]bool{"127.0.0.1": true, "server.test": true, "other.test": false} {
		if got := pair.Leaf.VerifyHostname(host) == nil; got != want {
			t.Errorf("it is for %s: %v, want %v", host, got, want)
		}
	}
}

// outcome runs a test's body and says how it ended.
func outcome(body func(testing.TB)) (ended string) {
	defer func() {
		if how, failed := recover().(string); failed {
			ended = how
		}
	}()
	body(ending{})
	return "passed"
}

// ending is a test that tells how it ends.
type ending struct{ testing.TB }

func (ending) Helper()      {}
func (ending) Fatal(...any) { panic("failed") }
func (ending) Skip(...any)  { panic("skipped") }

func (ending) Errorf(string, ...any) { panic("failed") }

func (ending) Skipf(string, ...any) { panic("skipped") }
