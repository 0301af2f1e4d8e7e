package router

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/table"
	"contend/systems/uplink/table/tabletest"
)

// A fakeStore notes what is written. Until back it is away, and takes a while to fail.
type fakeStore struct {
	back     time.Time
	mu       sync.Mutex
	attempts int
	written  []string
	trust    map[outbox.Candidate]outbox.Trust // changed, for the next to ask
}

func (s *fakeStore) write(format string, args ...any) error {
	if time.Now().Before(s.back) {
		time.Sleep(10 * time.Millisecond)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attempts++
		return table.ErrUnavailable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, fmt.Sprintf(format, args...))
	return nil
}

func (s *fakeStore) Suspend(_ context.Context, eui lorawan.EUI, created int64) error {
	return s.write("suspend %d of %d", eui, created)
}

func (s *fakeStore) Promote(_ context.Context, eui lorawan.EUI, addr lorawan.DevAddr) error {
	return s.write("promote %d to %d", eui, addr)
}

func (s *fakeStore) SaveTrust(_ context.Context, sizes []table.Trust) error {
	slices.SortFunc(sizes, func(a, b table.Trust) int { return int(a.DevEUI) - int(b.DevEUI) })
	return s.write("trust %v", sizes)
}

func (s *fakeStore) changed() map[outbox.Candidate]outbox.Trust {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.trust = nil }()
	return s.trust
}

// While the store is away for an hour, ten thousand devices are suspended and change
// their addresses, each again and again. When it is back everything is written once,
// in the order of its first arrival, and of the lengths of challenges the last.
func TestChoresAreCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const devices = 10_000
		began := time.Now()
		s := &fakeStore{back: began.Add(time.Hour)}
		c := newChores(s, s.changed, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.run(ctx)
		}()
		var want []string
		for range 3 {
			for i := range devices {
				eui := lorawan.EUI(i)
				c.add(promotion{eui, 7})
				c.add(suspension{DevEUI: eui, Created: 3})
			}
			time.Sleep(time.Minute)
		}
		for i := range devices {
			want = append(want, fmt.Sprintf("promote %d to 7", i), fmt.Sprintf("suspend %d of 3", i))
		}
		synctest.Wait()
		s.mu.Lock()
		if n := c.len(); n != 2*devices || s.written != nil {
			t.Errorf("%d wait and %d are written, want %d and 0", n, len(s.written), 2*devices)
		}
		s.trust = map[outbox.Candidate]outbox.Trust{{DevEUI: 1, Created: 3}: {Size: 8}, {DevEUI: 2, Created: 3}: {Size: 16, Proven: 7, HasProven: true}}
		s.mu.Unlock()
		time.Sleep(time.Hour - time.Since(began))
		synctest.Wait()
		// The first 7 take 0.1 + 0.2 + ... + 3.2 = 6.3 s, each further one 5 s, and 10 ms
		// to fail: 7 + 3593.6/5.01 = 724.
		if s.attempts < 723 || s.attempts > 725 {
			t.Errorf("%d attempts in an hour, want 724", s.attempts)
		}
		time.Sleep(lastRetry + trustEvery + time.Second)
		synctest.Wait()
		want = append(want, "trust [{0000000000000001 3 8 00000000 false} {0000000000000002 3 16 00000007 true}]")
		if !slices.Equal(s.written, want) {
			t.Errorf("%d changes written, want %d: %.200v", len(s.written), len(want), s.written)
		}
		c.add(promotion{1, 7}) // done before, so it is another
		synctest.Wait()
		if last := s.written[len(s.written)-1]; last != "promote 1 to 7" || c.len() != 0 {
			t.Errorf("last written %q, %d wait", last, c.len())
		}
		cancel()
		<-ended
	})
}

// A router that stops while the database is away waits for it until its deadline, and
// for a second at least; then it says what is lost.
func TestChoresEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		back, deadline time.Duration // after the stop
		low, high      time.Duration // when it has ended
		written, lost  int
	}{
		"it stays away":         {time.Hour, 10 * time.Second, 10 * time.Second, 10*time.Second + 20*time.Millisecond, 0, 3},
		"it comes back":         {3 * time.Second, 10 * time.Second, 3 * time.Second, 4 * time.Second, 3, 0}, // after attempts at 0, 0.11, 0.32, 0.73, 1.54 s
		"there is no time":      {time.Hour, -time.Second, time.Second, time.Second + 20*time.Millisecond, 0, 3},
		"it is not even away":   {0, 10 * time.Second, 0, 0, 3, 0},
		"nor is there a second": {0, -time.Second, 0, 0, 3, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			const runs = time.Minute
			began := time.Now()
			s := &fakeStore{back: began.Add(runs + tt.back)}
			var log strings.Builder
			c := newChores(s, s.changed, slog.New(slog.NewTextHandler(&log, nil)))
			ctx, cancel := context.WithTimeout(t.Context(), runs)
			defer cancel()
			c.run(ctx)
			c.add(promotion{1, 7})
			c.add(suspension{DevEUI: 2, Created: 3})
			s.trust = map[outbox.Candidate]outbox.Trust{{DevEUI: 4, Created: 5}: {Size: 8}}
			stopped := time.Now()
			c.finish(stopped.Add(tt.deadline))
			if took := time.Since(stopped); took < tt.low || took > tt.high {
				t.Errorf("%s: it took %v, want %v to %v", name, took, tt.low, tt.high)
			}
			if lost := strings.Count(log.String(), "lost: "); len(s.written) != tt.written || lost != tt.lost {
				t.Errorf("%s: %d written and %d lost, want %d and %d:\n%s", name, len(s.written), lost, tt.written, tt.lost, &log)
			}
			for _, what := range []string{"make 00000007 the address of 0000000000000001", "suspend 0000000000000002", "challenges=1"} {
				if tt.lost > 0 && !strings.Contains(log.String(), what) {
					t.Errorf("%s: nobody is told of %q:\n%s", name, what, &log)
				}
			}
		})
	}
}

// Two devices are suspended while PostgreSQL is away. When it is back, the row of one
// says so; the other one's is recreated at once and gets its uplinks, until it fails
// again. The router is asked to stop before the database is back, and the row says
// that as well.
func TestSuspendedWithoutDatabase(t *testing.T) {
	t.Parallel()
	pg := tabletest.Start(t)
	rows := openTable(t, pg.Fresh(t))
	s := startWith(t, openRedis(t, ""), rows, func(c *Config) { c.DrainTimeout = patience })
	t.Cleanup(s.stopRouter)
	d, stays := s.insert(acme, 0), s.insert(acme, 1)
	c := s.connect(acme, "upstream/")
	fail := func(from uint32, devices ...lorawan.Device) {
		for i := range uint32(51) { // one more than each may
			for _, d := range devices {
				s.send(frame(d, from+i))
				u := c.upstream()
				c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d) ^ 1})
			}
		}
	}
	for _, d := range []lorawan.Device{d, stays} { // now they are heard at once
		s.send(frame(d, 200))
		u := c.upstream()
		c.solve(&u, d)
	}
	s.until("both are proven", func() bool { return s.boxStats().RightMIC == 2 })
	pg.Stop(t)
	fail(0, d, stays)
	s.until("both are suspended in memory", func() bool { return s.boxStats().Suspensions == 2 && s.chores.len() == 2 })
	s.send(frame(d, 60))
	s.until("a further uplink is dropped", func() bool { return s.boxStats().Outcomes[outbox.DroppedSuspended] == 1 })
	pg.Restart(t)
	s.remake(d)
	s.send(frame(d, 61))
	u := c.upstream()
	c.solve(&u, d)
	s.until("it is solved", func() bool { return s.boxStats().RightMIC == 3 })
	s.until("the other's row says that it is suspended", func() bool { r, _ := rows.ByDevEUI(stays.DevEUI); return r.Suspended })
	s.until("nothing waits for the database", func() bool { return s.chores.len() == 0 })
	if r, _ := rows.ByDevEUI(d.DevEUI); r.Suspended {
		t.Error("the new row is suspended")
	}
	pg.Stop(t)
	fail(100, d)
	s.until("it is suspended in memory", func() bool { return s.boxStats().Suspensions == 3 && s.chores.len() == 1 })
	c.Close()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.stopRouter()
	}()
	<-s.working.Done()
	pg.Restart(t)
	<-stopped
	if r, _ := rows.ByDevEUI(d.DevEUI); !r.Suspended {
		t.Error("the router forgot a suspension when it stopped")
	}
}

// A proof that is not saved yet stays when the length of the challenge changes again.
func TestChoresKeepAProof(t *testing.T) {
	row := outbox.Candidate{DevEUI: 1, Created: 3}
	var next outbox.Trust
	c := newChores(nil, func() map[outbox.Candidate]outbox.Trust { return map[outbox.Candidate]outbox.Trust{row: next} }, nil)
	for _, step := range []struct{ next, want outbox.Trust }{
		{outbox.Trust{Size: 8}, outbox.Trust{Size: 8}},
		{outbox.Trust{Size: 4, Proven: 7, HasProven: true}, outbox.Trust{Size: 4, Proven: 7, HasProven: true}},
		{outbox.Trust{Size: 16}, outbox.Trust{Size: 16, Proven: 7, HasProven: true}},
		{outbox.Trust{Size: 8, Proven: 9, HasProven: true}, outbox.Trust{Size: 8, Proven: 9, HasProven: true}},
	} {
		next = step.next
		if c.collect(); c.unsaved[row] != step.want {
			t.Errorf("%+v, want %+v", c.unsaved[row], step.want)
		}
	}
}
