package perf

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Where the kernel shows its tracepoints, those system calls that it has are found by their names.
func TestSystemCallsIn(t *testing.T) {
	folder := t.TempDir()
	point := func(path, id string) {
		file := filepath.Join(folder, "events", filepath.FromSlash(path), "id")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(id+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := systemCallsIn([]string{folder})
	if unavailable, ok := errors.AsType[*UnavailableError](err); !ok || unavailable.Advice == "" {
		t.Errorf("without tracepoints: %v", err)
	}
	point("raw_syscalls/sys_enter", "443")
	point("syscalls/sys_enter_write", "700")
	point("syscalls/sys_enter_reboot", "701") // which servers seldom make
	events, err := systemCallsIn([]string{"/nowhere", folder})
	if want := []Event{SystemCalls, SystemCall + "write"}; err != nil || !slices.Equal(events, want) {
		t.Errorf("%v, %v; want %v", events, err, want)
	}
	if id, err := pointOf([]string{folder}, SystemCalls); err != nil || id != 443 {
		t.Errorf("%d, %v", id, err)
	}
}

// A program's own calls are counted, where the machine lets it.
func TestSystemCallsAreCounted(t *testing.T) {
	events, err := EverySystemCall()
	if err != nil {
		t.Skip(err)
	}
	counters, err := Own(events...)
	if err != nil {
		t.Skip(err)
	}
	defer counters.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := counters.Start(); err != nil {
		t.Fatal(err)
	}
	const calls = 100
	for range calls {
		if _, err := null.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := counters.Stop()
	if err != nil || counts[SystemCall+"write"] < calls || counts[SystemCalls] < counts[SystemCall+"write"] {
		t.Errorf("%v, %v", counts, err)
	}
}
