package wire

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestWatchInterruptsOncePerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupts := 0
		w := Watch{Interrupt: func() { interrupts++ }}
		first, end := context.WithCancel(context.Background())
		for i, another := range []bool{true, false, false} {
			if w.On(first) != another {
				t.Errorf("watch %d: another context: %v", i, !another)
			}
		}
		end()
		synctest.Wait()
		w.Off()
		if interrupts != 1 {
			t.Errorf("%d interrupts, want 1", interrupts)
		}
		second, end := context.WithCancel(context.Background())
		w.On(second)
		w.Off()
		end()
		synctest.Wait()
		if interrupts != 1 {
			t.Errorf("%d interrupts, want 1: the second watch had ended", interrupts)
		}
		w.On(context.Background()) // never ends
		w.Off()
	})
}
