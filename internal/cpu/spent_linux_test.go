package cpu

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Ticks of 10 ms: user 100 + nice 1 + system 50 + irq 2 + softirq 3 + steal 4 =
// 160; idle 900, iowait 40 and guest 7, which is part of user, do not count.
func TestBusyTime(t *testing.T) {
	const two = "cpu  100 1 50 900 40 2 3 4 7 0\ncpu0 50 1 25 450 20 1 2 2 7 0\ncpu1 50 0 25 450 20 1 1 2 0 0\nintr 5 1\n"
	if busy, cores := busyTime([]byte(two)); busy != 1600*time.Millisecond || cores != 2 {
		t.Errorf("%v on %d cores, want 1.6 s on 2", busy, cores)
	}
	for _, text := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu  a b c d e f g h"} {
		if busy, cores := busyTime([]byte(text)); busy != 0 || cores != 0 {
			t.Errorf("%q: %v on %d cores", text, busy, cores)
		}
	}
	if busy, cores := machineTime(); busy <= 0 || cores < 1 {
		t.Errorf("this machine: %v on %d cores", busy, cores)
	}
}

func TestWaitedForCores(t *testing.T) {
	all := waitedForCores(nil)
	if one := waitedForCores([]int{os.Getpid()}); one < 0 || all <= 0 {
		t.Errorf("the first thread waited %v, all %v", one, all)
	}
	if none := waitedForCores([]int{1 << 22}); none != 0 { // pid_max is at most 2^22
		t.Errorf("nobody waited %v", none)
	}
}

// In fake time only the process is read.
func TestReadInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if s := Read(nil); !s.Known || s.Process <= 0 || s.Cores != 0 || s.Waited != 0 {
			t.Errorf("%+v", s)
		}
	})
}
