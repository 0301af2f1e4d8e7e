package outbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/message"
)

// bubble runs a test in fake time.
func bubble(t *testing.T, config Config, test func(t *testing.T, d *desk)) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(config)
		defer d.Close()
		test(t, d)
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Without a connection nothing is given up. Messages that connections lost can be withdrawn in their order; later
// answers to them are unknown.
func TestWithoutAConnection(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, d *desk) {
		c := d.Connect()
		uplinks := d.putMany(3, 1)
		lost := take(t, c, 2)
		c.Close()
		sleep(time.Hour)
		if got := d.WithdrawLost(); !slices.Equal(got, uplinks[:2]) {
			t.Errorf("%d of 2 withdrawn", len(got))
		}
		c.Answer([]message.Answer{right(lost[0], uplinks[0])})
		for _, u := range uplinks {
			d.want(t, u)
		}
		if s := d.Stats(); s.Unknown != 1 || s.Waiting != 1 || s.Outcomes[Withdrawn] != 2 || d.Sent() != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestWhatIsNeverAnsweredEndsWithFlappingConnections(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, d *desk) {
		u := d.put(1)
		for n := 0; d.outcomes(u) == nil; n++ {
			c := d.Connect()
			if got := take(t, c, 1); len(got) != 1 {
				t.Fatal("not delivered again")
			}
			sleep(20 * time.Second)
			c.Close()
			if n > 30 { // 10 minutes in steps of 20 s
				t.Fatal("kept for ever")
			}
		}
		d.want(t, u, Expired)
	})
}

func TestOutdated(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, d *desk) {
		d.put(1)
		sleep(2500 * time.Millisecond)
		c := d.Connect()
		if take(t, c, 1)[0].Outdated {
			t.Error("outdated at 2.5 s")
		}
		c.Close()
		sleep(1)
		if !take(t, d.Connect(), 1)[0].Outdated {
			t.Error("not outdated above 2.5 s")
		}
	})
}

func TestTakeEnds(t *testing.T) {
	causes := map[string]func(*desk, *Conn, context.CancelFunc) error{
		"context": func(_ *desk, _ *Conn, cancel context.CancelFunc) error { cancel(); return context.Canceled },
		"conn":    func(_ *desk, c *Conn, _ context.CancelFunc) error { c.Close(); return ErrClosed },
		"outbox":  func(d *desk, _ *Conn, _ context.CancelFunc) error { d.Close(); d.Close(); return ErrClosed },
	}
	for name, end := range causes {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, d *desk) {
				c := d.Connect()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error)
				go func() {
					_, err := c.Take(ctx, nil, 1)
					result <- err
				}()
				synctest.Wait()
				want := end(d, c, cancel)
				if got := <-result; !errors.Is(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				c.Close()
			})
		})
	}
}

func TestClosedOutbox(t *testing.T) {
	d := newDesk(Config{})
	c := d.Connect()
	u := d.put(1)
	m := take(t, c, 1)[0]
	d.Close()
	d.put(2)
	c.Answer([]message.Answer{right(m, u)})
	d.want(t, u)
	if _, err := c.Take(t.Context(), nil, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("old connection: %v", err)
	}
	if _, err := d.Connect().Take(t.Context(), nil, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("new connection: %v", err)
	}
}

func TestDrain(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, d *desk) {
		if n := d.Drain(t.Context()); n != 0 {
			t.Errorf("%d left in an empty outbox", n)
		}
		u := d.put(1)
		if n := d.Drain(t.Context()); n != 1 {
			t.Errorf("%d left without a connection, want 1", n)
		}
		c := d.Connect()
		m := take(t, c, 1)[0]
		left := make(chan int)
		go func() { left <- d.Drain(context.Background()) }()
		sleep(time.Second)
		c.Answer([]message.Answer{right(m, u)})
		if n := <-left; n != 0 {
			t.Errorf("%d left, want 0", n)
		}

		d.put(1)
		go func() { left <- d.Drain(context.Background()) }()
		sleep(time.Second)
		c.Close()
		if n := <-left; n != 1 {
			t.Errorf("%d left after the connection was lost, want 1", n)
		}

		d.Connect()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n := d.Drain(ctx); n != 1 {
			t.Errorf("%d left in time, want 1", n)
		}
	})
}
