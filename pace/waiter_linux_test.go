package pace

import "testing"

func TestTimerOnLinux(t *testing.T) {
	for _, kind := range []Timer{Precise, ""} {
		w, got := NewWaiter(t.Context(), kind)
		w.Close()
		if got != Precise {
			t.Errorf("asked for %q: waits with %q, want %q", kind, got, Precise)
		}
	}
}
