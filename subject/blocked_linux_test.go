package subject

import (
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

func init() { roles["wait"] = wait }

// wait has one thread that sleeps, and one that waits for a lock on a file; others wait as
// idle ones do.
func wait([]string) {
	name := must(os.CreateTemp("", "locked")).Name()
	defer os.Remove(name)
	held, wanted := must(os.Open(name)), must(os.Open(name))
	go func() { fmt.Println(unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &unix.Timespec{Sec: 3600}, nil)) }()
	fmt.Println("waiting", unix.Flock(int(held.Fd()), unix.LOCK_EX))
	_ = unix.Flock(int(wanted.Fd()), unix.LOCK_EX)
}

func TestBlocked(t *testing.T) {
	s := started(t, with(role("wait"), Ready{Log: "^waiting <nil>"}))
	want := map[string]int{"clock_nanosleep": 1, "flock": 1}
	holds(t, "two threads wait", func() bool {
		_, err := s.Sample()
		return err == nil && maps.Equal(s.Blocked(), want)
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Blocked(); len(got) > 0 {
		t.Errorf("after its end %v", got)
	}
}

func TestBlockedOfForeign(t *testing.T) {
	s := started(t, with(role("wait"), Ready{Log: "^waiting <nil>"}))
	first := must(must(procfs.NewProc(s.PID())).Stat())
	f := &Foreign{PID: s.PID(), listening: []identity{{first.PID, first.Starttime}}, found: time.Now()}
	holds(t, "two threads wait", func() bool {
		_, err := f.Sample()
		return err == nil && f.Blocked()["flock"] == 1
	})
}
