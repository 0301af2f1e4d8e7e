package wire

import (
	"context"
	"errors"
	"testing"
	"time"
)

// After many fast iterations, too, each has its whole timeout, and at most a
// sixteenth more; few of them move the deadline.
func TestDeadlineIsOneTimeoutAwayAtLeast(t *testing.T) {
	var (
		d        Deadline
		epoch    = time.Now()
		deadline time.Time
		moved    int
	)
	const timeout, step = time.Second, 7 * time.Millisecond
	for i := range 1000 {
		now := time.Duration(i) * step
		if at, moves := d.Next(epoch, now, timeout); moves {
			deadline, moved = at, moved+1
		}
		if left := deadline.Sub(epoch.Add(now)); left < timeout || left > timeout+timeout/16 {
			t.Fatalf("iteration %d: %v left", i, left)
		}
	}
	// A sixteenth of a second is 62.5 ms: 8 steps are within it, the ninth is not.
	if moved != 112 { // ⌈1000/9⌉
		t.Errorf("it moved %d times", moved)
	}
}

func TestDeadlineWithoutATimeoutIsNoneOnce(t *testing.T) {
	var d Deadline
	for i, want := range []bool{true, false, false} {
		if at, moves := d.Next(time.Now(), time.Duration(i)*time.Hour, 0); moves != want || !at.IsZero() {
			t.Errorf("iteration %d: %v, %t", i, at, moves)
		}
	}
	if _, moves := (&Deadline{}).Next(time.Now(), 0, 0); !moves {
		t.Error("another connection keeps its old one")
	}
}

func TestOrCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := errors.New("x: read: closed")
	if got := OrCancelled(ctx, "x", err); got != err {
		t.Errorf("before the end: %v", got)
	}
	cancel()
	if got := OrCancelled(ctx, "x", err); !errors.Is(got, context.Canceled) || got.Error() != "x: context canceled" {
		t.Errorf("after the end: %v", got)
	}
}
