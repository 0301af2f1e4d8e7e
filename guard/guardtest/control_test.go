package guardtest_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/guard"
	"contend/guard/guardtest"
	"contend/internal/testenv"
)

// The negative controls are counters with a known mistake. Each makes its first
// two callers meet at the worst moment, so that the mistake shows every time.

// A meeting holds the first who attends until the second comes.
type meeting struct {
	arrived atomic.Int32
	both    chan struct{}
}

func newMeeting() *meeting { return &meeting{both: make(chan struct{})} }

func (m *meeting) attend() {
	switch m.arrived.Add(1) {
	case 1:
		<-m.both
	case 2:
		close(m.both)
	}
}

// racy loads, waits and stores. Both are atomic, so the race detector is silent.
type racy struct {
	value atomic.Int64
	*meeting
}

func (c *racy) Add(_ context.Context, n int64) (int64, error) {
	value := c.value.Load() + n
	c.attend()
	c.value.Store(value)
	return value, nil
}
func (c *racy) Load(context.Context) (int64, error) { return c.value.Load(), nil }
func (c *racy) Close() error                        { return nil }

// unlocked adds under a lock, as the published mutex server does, and reads the
// value after unlocking: two callers can get the same value.
type unlocked struct {
	mu    sync.Mutex
	value int64
	*meeting
}

func (c *unlocked) Add(ctx context.Context, n int64) (int64, error) {
	c.mu.Lock()
	c.value += n
	c.mu.Unlock()
	c.attend()
	return c.Load(ctx)
}

func (c *unlocked) Load(context.Context) (int64, error) {
	c.mu.Lock() // the published server has no lock here; this keeps the race detector out
	defer c.mu.Unlock()
	return c.value, nil
}
func (c *unlocked) Close() error { return nil }

// summed asks an Adder for the value after an addition, which it cannot know.
type summed struct {
	guard.Adder
	*meeting
}

func (c *summed) Add(_ context.Context, n int64) (int64, error) {
	c.Adder.Add(n)
	c.attend()
	return c.Adder.Load(), nil
}
func (c *summed) Load(context.Context) (int64, error) { return c.Adder.Load(), nil }
func (c *summed) Close() error                        { return nil }

func TestControlsAreCaught(t *testing.T) {
	for _, test := range []struct {
		name           string
		open           func(t *testing.T) guard.Counter
		total, perfect bool // whether the total and the values are right
	}{
		{name: "racy", open: func(*testing.T) guard.Counter { return &racy{meeting: newMeeting()} }},
		{name: "read after unlocking", total: true,
			open: func(*testing.T) guard.Counter { return &unlocked{meeting: newMeeting()} }},
		{name: "striped asked for a value", total: true,
			open: func(t *testing.T) guard.Counter { return &summed{design(t, "striped").NewAdder(), newMeeting()} }},
		{name: "a right one", total: true, perfect: true,
			open: func(t *testing.T) guard.Counter { return design(t, "mutex").NewCounter() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := test.open(t)
			h := guardtest.Record(t.Context(), c, guardtest.Workload{Callers: 2, Calls: 20})
			after, err := c.Load(t.Context())
			testenv.Must(t, err)
			expect(t, "CheckTotal", guardtest.CheckTotal(h, 0, after), test.total)
			expect(t, "CheckDense", guardtest.CheckDense(h, 0), test.perfect)
			expect(t, "CheckLinearizable", guardtest.CheckLinearizable(h, 0, 10*time.Second), test.perfect)
		})
	}
}

func expect(t *testing.T, check string, err error, pass bool) {
	t.Helper()
	if (err == nil) != pass {
		t.Errorf("%s: error %v, want none: %v", check, err, pass)
	}
	if err != nil && (!strings.HasPrefix(err.Error(), "guardtest: ") || strings.Contains(err.Error(), "too short")) {
		t.Errorf("%s: error %q", check, err)
	}
}

func design(t *testing.T, name string) guard.Design {
	d, err := guard.Lookup(name)
	testenv.Must(t, err)
	return d
}
