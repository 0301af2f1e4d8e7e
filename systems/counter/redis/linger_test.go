package redis

import (
	"testing"
	"testing/synctest"
	"time"
)

// lingering is how long a batch waits that has so many callers so long after the
// last one, if as many more come after a further time.
func lingering(b *combiner, have int, since time.Duration, more int, after time.Duration) time.Duration {
	b.open = &batch{sums: make([]int64, have)}
	b.sent = time.Now().Add(-since)
	go func() {
		time.Sleep(after)
		for range more {
			b.join(1)
		}
	}()
	begun := time.Now()
	b.linger()
	waited := time.Since(begun)
	time.Sleep(time.Second) // all have come
	return waited
}

func TestLinger(t *testing.T) {
	for _, test := range []struct {
		name  string
		have  int
		since time.Duration
		more  int
		after time.Duration
		want  time.Duration
	}{
		{name: "who is alone is sent", have: 1, since: time.Microsecond, more: goal, after: time.Microsecond},
		{name: "enough are sent", have: goal, since: time.Microsecond, more: 1, after: time.Microsecond},
		// 4 in 400 µs: 28 more need 2800 µs.
		{name: "at a low rate nobody waits", have: 4, since: 400 * time.Microsecond, more: goal, after: time.Microsecond},
		// 4 in 100 µs: 28 more need 700 µs.
		{name: "until enough have come", have: 4, since: 100 * time.Microsecond, more: goal - 4, after: 200 * time.Microsecond,
			want: 200 * time.Microsecond},
		{name: "more than enough", have: 4, since: 100 * time.Microsecond, more: goal, after: 200 * time.Microsecond,
			want: 200 * time.Microsecond},
		{name: "but not for ever", have: 4, since: 100 * time.Microsecond, more: goal - 5, after: time.Microsecond, want: longest},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &combiner{}
				if got := lingering(b, test.have, test.since, test.more, test.after); got != test.want {
					t.Errorf("waited %v, want %v", got, test.want)
				}
			})
		})
	}
}

// TestLingerInVain: after 1, 2, 3 … waits for callers who do not come, the next 1, 3,
// 7 … batches do not wait, and after one that was worth it the next does.
func TestLingerInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &combiner{}
		var waits []int
		for batch := range 5000 {
			if lingering(b, 4, time.Microsecond, 0, 0) > 0 {
				waits = append(waits, batch)
			}
		}
		next := 0
		for i, batch := range waits {
			if batch != next {
				t.Fatalf("wait %d in batch %d, want %d", i, batch, next)
			}
			next += 1 + min(1<<(i+1)-1, rarest)
		}
		if len(waits) < 10 {
			t.Errorf("%d waits", len(waits))
		}
		b.skip = 0
		for range 2 {
			if lingering(b, 4, time.Microsecond, goal, time.Microsecond) == 0 {
				t.Error("it was worth it, and the next does not wait")
			}
		}
	})
}
