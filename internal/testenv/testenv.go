// Package testenv provides what tests need from the machine they run on, and files. A test must
// pass on any machine, so:
//
//   - it waits for events, with a [Patience] that only a hang exceeds, and never for a
//     fixed time; tests of time run in fake time (testing/synctest);
//   - a port that was in use a moment ago is not free: [HeldAddress] keeps one;
//   - programs that may not be installed come from [Program]; what cannot be installed
//     anywhere is [Hardware];
//   - the work of a decoder on a hostile input is measured in bytes, not in time: [Allocated];
//   - what is to stay as it is has a [Golden] file, and the flag -update writes it;
//   - several machines are network namespaces on one switch: [Namespaces] (Linux).
package testenv

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a test waits for what should happen at once before it calls
// that a hang. A busy machine is slow.
const Patience = 2 * time.Minute

// HeldAddress is 127.0.0.1 and a [HeldPort].
func HeldAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", HeldPort(t))
}

// Program returns the path of an installed program. Without it the test is skipped,
// and fails where the environment says CI=true.
func Program(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, err)
	}
	return path
}

// Missing skips a test for a missing component, and fails it if the environment
// says CI=true: CI has everything, and does not skip tests unnoticed.
func Missing(t testing.TB, what error) {
	t.Helper()
	text := fmt.Sprintf("this test needs what is not here: %v", what)
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// Hardware skips a test for what the machine itself lacks, even in CI: nobody can
// install it.
func Hardware(t testing.TB, lacking error) {
	t.Helper()
	t.Skipf("this test needs another machine: %v", lacking)
}

// Allocated returns how many bytes were allocated while do ran, by all goroutines, in use or not.
func Allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A Log is what any goroutine writes. The zero Log is ready.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Eventually waits until something holds, and fails the test if that takes longer than [Patience]. What takes long
// is asked for less often.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(min(max(time.Since(began)/10, 2*time.Millisecond), 100*time.Millisecond)) {
		if time.Since(began) > Patience {
			t.Fatalf("in %s never: %s", Patience, what)
		}
	}
}
