package perf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// The tracepoint of system calls is found where the kernel's tracepoints are mounted.
func TestPointIn(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "events", "raw_syscalls", "sys_enter", "id")
	if _, err := pointIn(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without tracepoints: %v", err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("443\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if id, err := pointIn("/nowhere", folder); err != nil || id != 443 {
		t.Errorf("%d, %v", id, err)
	}
}

// Where nothing is mounted, the kernel shows its tracepoints to this process alone, in no folder of the machine.
func TestMountTracing(t *testing.T) {
	folder, unmount, err := mountTracing()
	if err != nil {
		testenv.Hardware(t, err)
	}
	defer unmount()
	id, err := pointIn(folder)
	if err != nil || id == 0 {
		t.Errorf("%d, %v", id, err)
	}
	if known, err := everyCall(); err != nil || known != id {
		t.Errorf("%d, %v; want %d", known, err, id)
	}
}

// Without the right to read tracepoints it is said who has it.
func TestSystemCallsWithoutTracepoints(t *testing.T) {
	found := everyCall
	defer func() { everyCall = found }()
	everyCall = func() (uint64, error) { return 0, unix.EPERM }
	_, err := EverySystemCall()
	if unavailable, ok := errors.AsType[*UnavailableError](err); !ok || unavailable.Advice == "" {
		t.Errorf("error %v", err)
	}
	if _, err := Own(SystemCalls); err == nil {
		t.Error("they are counted")
	}
}

// What all threads of a program call is counted by name, of those that it has and of those that it starts.
func TestSystemCallsAreCounted(t *testing.T) {
	events, err := EverySystemCall()
	if err != nil {
		testenv.Hardware(t, err)
	}
	counters, err := Own(events...)
	if err != nil {
		testenv.Hardware(t, err)
	}
	defer counters.Close()
	const calls, threads = 100, 3
	counts := counted(t, counters, func() {
		ended := make(chan bool)
		for range threads {
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
				for range calls {
					_, _, _ = unix.Shutdown(-1, unix.SHUT_RD), unix.Fsync(-1), unix.Access("/nowhere", unix.F_OK)
				}
				ended <- true
			}()
		}
		for range threads {
			<-ended
		}
	})
	var named uint64
	for event, n := range counts {
		if event != SystemCalls {
			named += n
		}
	}
	for _, name := range []Event{"shutdown", "fsync"} {
		if n := counts[SystemCall+name]; n != threads*calls {
			t.Errorf("%s was called %d times, want %d", name, n, threads*calls)
		}
	}
	if all, other := counts[SystemCalls], uint64(threads*calls); all < named+other {
		t.Errorf("%d calls, %d of them by name, and %d have none", all, named, other)
	}
}
