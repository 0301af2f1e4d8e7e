package subject

import (
	"fmt"
	"maps"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

func init() { roles["wait"] = waits }

// waits has one thread that sleeps, one that waits for a lock on a file, and two that wait for one in
// memory; others wait as idle ones do.
func waits([]string) {
	name := must(os.CreateTemp("", "locked")).Name()
	defer os.Remove(name)
	held, wanted := must(os.Open(name)), must(os.Open(name))
	go func() { fmt.Println(unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &unix.Timespec{Sec: 3600}, nil)) }()
	for _, how := range []uintptr{wait, waitBitset} {
		go futex(how|private, 2)
	}
	go futex(wait|private, 1)
	go futex(waitBitset|private|realtime, 2)
	fmt.Println("waiting", unix.Flock(int(held.Fd()), unix.LOCK_EX))
	_ = unix.Flock(int(wanted.Fd()), unix.LOCK_EX)
}

// From linux/futex.h.
const wait, waitBitset, private, realtime = 0, 9, 128, 256

// futex waits for ever, as long as a word has its value.
func futex(how uintptr, value uint32) {
	word := new(uint32)
	*word = value
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), how, uintptr(value), 0, 0, 1)
	panic(err)
}

// byCall is how many threads wait in each system call, of those that say where.
func byCall(blocked []Blocked) map[string]int {
	found := map[string]int{}
	for _, b := range blocked {
		if b.Instruction != 0 && len(b.Stack) > 0 {
			found[b.Call]++
		}
	}
	return found
}

func TestBlocked(t *testing.T) {
	s := started(t, with(role("wait"), Ready{Log: "^waiting <nil>"}))
	want := map[string]int{"clock_nanosleep": 1, "flock": 1, "futex (lock)": 2}
	testenv.Eventually(t, "four threads wait", func() bool {
		_, err := s.Sample()
		return err == nil && maps.Equal(byCall(s.Blocked()), want)
	})
	testenv.Must(t, s.Stop(t.Context()))
	if got := s.Blocked(); len(got) > 0 {
		t.Errorf("after its end %v", got)
	}
}

func TestBlockedOfForeign(t *testing.T) {
	s := started(t, with(role("wait"), Ready{Log: "^waiting <nil>"}))
	first := must(statOf(s.PID()))
	f := &Foreign{PID: s.PID(), listening: []identity{{first.PID, first.Starttime}}, found: time.Now()}
	testenv.Eventually(t, "two threads wait", func() bool {
		_, err := f.Sample()
		return err == nil && byCall(f.Blocked())["flock"] == 1
	})
}
