package wire

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type fakeConn struct{ dead, closed bool }

func (c *fakeConn) IsDead() bool { return c.dead }

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

func TestSlotsAreOwnedOrShared(t *testing.T) {
	opened := 0
	open := func(context.Context) (*fakeConn, error) {
		opened++
		return &fakeConn{}, nil
	}
	for _, test := range []struct {
		connections Connections
		opened      int // for three VUs
		same        bool
	}{
		{Connections{}, 3, false},
		{Connections{Shared, 2}, 2, true}, // VU 0 and VU 2
		{Connections{Sharing: PerIteration}, 0, false},
	} {
		opened = 0
		slots := NewSlots(test.connections, open)
		var list []*Slot[*fakeConn]
		for id := range 3 {
			slot, owned := slots.For(t.Context(), id)
			if owned == test.same {
				t.Errorf("%v: owned %v", test.connections, owned)
			}
			list = append(list, slot)
		}
		if opened != test.opened || (list[0] == list[2]) != test.same || list[0] == list[1] {
			t.Errorf("%v: %d connections, same %v", test.connections, opened, list[0] == list[2])
		}
		conn := list[0].Get()
		slots.Close()
		if conn != nil && conn.closed != test.same {
			t.Errorf("%v: closed %v", test.connections, conn.closed)
		}
	}
}

// The first that finds nobody spares the others the wait.
func TestSlotsDialEarlyUntilOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots(Connections{}, func(ctx context.Context) (*fakeConn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for id, want := range []time.Duration{earlyDialTimeout, 0, 0} {
			start := time.Now()
			slots.For(t.Context(), id)
			if got := time.Since(start); got != want {
				t.Errorf("VU %d took %v, want %v", id, got, want)
			}
		}
	})
}

// Those who find a dead connection wait for one attempt, or as long as they may.
func TestSlotConnectsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		slot := &Slot[*fakeConn]{open: func(context.Context) (*fakeConn, error) {
			opened++
			time.Sleep(time.Second)
			return &fakeConn{}, nil
		}}
		first, _ := slot.Connect(t.Context())
		first.dead = true
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := slot.Connect(t.Context()); got == first || err != nil {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		synctest.Wait()
		if _, err := slot.Connect(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient one got %v", err)
		}
		wg.Wait()
		if opened != 2 || !first.closed || slot.Take() == nil || slot.Get() != nil {
			t.Errorf("opened %d, the dead one is closed: %v", opened, first.closed)
		}
	})
}
