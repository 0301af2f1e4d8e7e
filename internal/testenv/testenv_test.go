package testenv

import (
	"errors"
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

// outcome runs a test's body and says how it ended.
func outcome(body func(testing.TB)) (ended string) {
	defer func() { ended, _ = recover().(string) }()
	body(ending{})
	return "passed"
}

// ending is a test that tells how it ends.
type ending struct{ testing.TB }

func (ending) Helper()      {}
func (ending) Fatal(...any) { panic("failed") }
func (ending) Skip(...any)  { panic("skipped") }

func (ending) Skipf(string, ...any) { panic("skipped") }
