package loop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

// A flow is an iteration as a function that runs in a coroutine. Each of its
// steps ends its turn.
type flow struct {
	slot  int
	yield func(step) bool
	lost  error // of the request that the connection was lost with
}

// A step is a request, or leaves the connection, after which it is drained or
// not.
type step struct {
	leaves, drains bool
	work           func(ctx context.Context)
}

// stopped unwinds a flow that was abandoned.
type stopped struct{}

func (f *flow) step(s step) {
	if !f.yield(s) {
		panic(stopped{})
	}
}

// ask sends a request and waits for its answer.
func (f *flow) ask() error {
	f.lost = nil
	f.step(step{})
	return f.lost
}

func (f *flow) work(work func(ctx context.Context)) { f.step(step{leaves: true, work: work}) }

func (f *flow) drain() { f.step(step{leaves: true, drains: true}) }

// A running flow.
type running struct {
	*flow
	err  error
	next func() (step, bool)
	stop func()
}

// A walker is a Roamer that speaks lines. Its iterations are flows.
type walker struct {
	lines
	RoamerSlots
	trip     *trip
	vus      []int
	flows    map[int]*running
	answered []byte // during Receive: what is sent
}

// A trip says what walkers do, and counts what becomes of it.
type trip struct {
	flow     func(f *flow, vu int) error
	outlives bool // a lost connection

	thread                 int // that drives
	began, lost, abandoned int
	opened, written        int // what the walker heard as a Witness
	strayed                int // calls by another thread, or of a wrong slot
	requests               atomic.Int64
}

var (
	_ Roamer  = (*walker)(nil)
	_ Witness = (*walker)(nil)
)

func (c *walker) Opened(net.Addr) { c.trip.opened++ }

func (c *walker) Written() { c.trip.written++ }

func (p *trip) config(s *server) Config {
	return s.config(func(vus []int) Conversation {
		return &walker{trip: p, vus: vus, flows: map[int]*running{}}
	})
}

func (c *walker) Bind(slots RoamerSlots) { c.RoamerSlots = slots }

func (c *walker) Start(out []byte, slot int) []byte {
	if c.trip.began == 0 {
		c.trip.thread = unix.Gettid()
	}
	c.trip.began++
	if c.flows[slot] != nil {
		c.trip.strayed++
	}
	r := &running{flow: &flow{slot: slot}}
	r.next, r.stop = iter.Pull(func(yield func(step) bool) {
		defer func() {
			if p := recover(); p != nil && p != (stopped{}) {
				panic(p)
			}
		}()
		r.yield = yield
		r.err = c.trip.flow(r.flow, c.vus[slot])
	})
	c.flows[slot] = r
	return c.advance(out, slot)
}

func (c *walker) Resume(out []byte, slot int) []byte { return c.advance(out, slot) }

// advance goes on with a flow until its next step.
func (c *walker) advance(out []byte, slot int) []byte {
	c.look(slot)
	r := c.flows[slot]
	s, ok := r.next()
	switch {
	case !ok:
		delete(c.flows, slot)
		c.End(slot, &load.Outcome{Status: 1}, r.err)
	case s.leaves:
		if s.drains {
			c.Drain()
		}
		c.Leave(slot, s.work)
	default:
		c.trip.requests.Add(1)
		out = c.lines.Start(out, slot)
	}
	return out
}

// look notes calls that should not come.
func (c *walker) look(slot int) {
	if c.flows[slot] == nil || unix.Gettid() != c.trip.thread {
		c.trip.strayed++
	}
}

func (c *walker) Lost(slot int, err error) bool {
	c.look(slot)
	c.trip.lost++
	if !c.trip.outlives {
		c.flows[slot].stop()
		delete(c.flows, slot)
		return false
	}
	c.flows[slot].lost = err
	return true
}

func (c *walker) Abandon(slot int) {
	c.look(slot)
	c.trip.abandoned++
	c.flows[slot].stop()
	delete(c.flows, slot)
}

// Receive has the flows go on whose answers have come.
func (c *walker) Receive(out, in []byte, _ Slots) ([]byte, error) {
	c.answered = out
	_, err := c.lines.Receive(nil, in, answers{c})
	return c.answered, err
}

// answers get the slots' reports of single answers.
type answers struct{ c *walker }

func (a answers) FirstByte(slot int) { a.c.FirstByte(slot) }
func (a answers) Drain()             { a.c.Drain() }
func (a answers) End(slot int, _ *load.Outcome, _ error) {
	a.c.answered = a.c.advance(a.c.answered, slot)
}

// check runs a plan and compares what became of the iterations.
func (p *trip) check(t *testing.T, c Config, plan load.Plan) *load.Result {
	t.Helper()
	p.began, p.lost, p.abandoned = 0, 0, 0
	r := run(t, c, plan)
	p.sane(t)
	return r
}

func (p *trip) sane(t *testing.T) {
	t.Helper()
	if p.strayed > 0 {
		t.Errorf("%d calls by a wrong thread or for a slot without an iteration", p.strayed)
	}
}

// models are a plan in the closed and in the open model.
func models(plan load.Plan) []load.Plan {
	open := plan
	open.Pacer = pace.Constant(5000)
	return []load.Plan{plan, open}
}

// An iteration is three requests, with work between them.
func TestRoamer(t *testing.T) {
	t.Parallel()
	var work atomic.Int64
	p := &trip{flow: func(f *flow, _ int) error {
		for range 2 {
			if err := f.ask(); err != nil {
				return err
			}
			f.work(func(context.Context) { work.Add(1) })
		}
		return f.ask()
	}}
	s := serve(t, "tcp", echo(10))
	_, secure := serveTLS(t, "tcp", echo(10))
	for _, plan := range models(load.Plan{VUs: 4, Iterations: 100, Timeout: testenv.Patience}) {
		for _, connections := range []int{0, 1, 3} {
			for _, config := range []*tls.Config{nil, secure.TLS} {
				c := p.config(s)
				if config != nil {
					c = secure
					c.New = p.config(s).New
				}
				c.Connections = connections
				work.Store(0)
				p.requests.Store(0)
				clean(t, p.check(t, c, plan), 100)
				if p.requests.Load() != 300 || work.Load() != 200 {
					t.Errorf("%d requests, work %d times, want 300, 200", p.requests.Load(), work.Load())
				}
				if p.lost != 0 || p.abandoned != 0 {
					t.Errorf("%d lost, %d abandoned", p.lost, p.abandoned)
				}
			}
		}
	}
}

// A connection per iteration is one for all of its requests.
func TestRoamerCloseEach(t *testing.T) {
	p := &trip{flow: func(f *flow, _ int) error {
		first := f.ask()
		f.work(func(context.Context) {})
		return errors.Join(first, f.ask())
	}}
	s := serve(t, "tcp", echo(10))
	c := p.config(s)
	c.CloseEach = true
	r := p.check(t, c, load.Plan{VUs: 3, Iterations: 50})
	clean(t, r, 50)
	if s.count() != 50 || p.opened != 50 || p.written != 100 {
		t.Errorf("%d connections, told of %d and of %d writes, want 50, 50, 100", s.count(), p.opened, p.written)
	}
}

// Iterations that send nothing open no connection, whether they end at once or work
// outside the loop, and there are as many as were asked for.
func TestRoamerNeverConnects(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", echo(0))
	for name, flow := range map[string]func(*flow, int) error{
		"ends":   func(*flow, int) error { return nil },
		"works":  func(f *flow, _ int) error { f.work(func(context.Context) {}); return nil },
		"leaves": func(f *flow, _ int) error { f.work(nil); f.work(nil); return nil },
		"drains": func(f *flow, _ int) error { f.drain(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := &trip{flow: flow}
			c := p.config(s)
			c.CloseEach = true // else New connects
			for _, plan := range models(load.Plan{VUs: 3, Iterations: 1000, Timeout: testenv.Patience}) {
				r := p.check(t, c, plan)
				clean(t, r, 1000)
				if p.began != 1000 || s.count() != 0 {
					t.Errorf("%d began, %d connections, want 1000 and none", p.began, s.count())
				}
			}
		})
	}
}

// Work that outlasts the timeout of its iteration is asked to end, its result is
// ignored, and the VU goes on when it has returned.
func TestRoamerTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", echo(0))
	for _, plan := range models(load.Plan{VUs: 3, Iterations: 12, Timeout: 20 * time.Millisecond, Grace: testenv.Patience}) {
		resumed := 0
		var atWork [3]atomic.Bool
		overlaps := false
		p := &trip{}
		p.flow = func(f *flow, vu int) error {
			overlaps = overlaps || atWork[vu].Load()
			f.work(func(ctx context.Context) {
				atWork[vu].Store(true)
				<-ctx.Done()
				time.Sleep(10 * time.Millisecond)
				atWork[vu].Store(false)
			})
			resumed++
			return nil
		}
		r := p.check(t, p.config(s), plan)
		if r.Errored[errkind.Timeout] != 12 || p.abandoned != 12 || resumed > 0 || overlaps {
			t.Errorf("errors %v, %d abandoned, %d resumed, overlaps: %t", r.Errored, p.abandoned, resumed, overlaps)
		}
	}
}

// A request without an answer ends by the timeout, and the coroutine with it. Others of the
// connection go on outside the loop.
func TestRoamerTimeoutInFlight(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", func(n int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			if slot == "1" && n > 0 {
				fmt.Fprintf(conn, "1 0\n")
			}
			return true
		})
	})
	for timeout := 100 * time.Millisecond; ; timeout *= 2 {
		p := &trip{outlives: true}
		first := true
		p.flow = func(f *flow, vu int) error {
			if vu == 1 && first { // half of the other's time
				first = false
				f.work(func(context.Context) { time.Sleep(timeout / 2) })
				return nil
			}
			if err := f.ask(); err == nil {
				return nil
			}
			return f.ask()
		}
		c := p.config(s)
		c.Connections = 1
		r := p.check(t, c, load.Plan{VUs: 2, Iterations: 3, Timeout: timeout, Grace: testenv.Patience})
		if r.Completed == 2 && r.Errored[errkind.Timeout] == 1 && p.lost == 1 && p.abandoned == 1 {
			return
		}
		if timeout > testenv.Patience/4 {
			t.Fatalf("completed %d, errors %v, %d lost, %d abandoned", r.Completed, r.Errored, p.lost, p.abandoned)
		}
		s.accepted.Store(0)
	}
}

// A connection that drains in the middle of an iteration is followed by a new one.
func TestRoamerDrains(t *testing.T) {
	for _, vus := range []int{1, 2, 5} { // one drains in Receive, an even number in Resume
		p := &trip{flow: func(f *flow, _ int) error {
			if err := f.ask(); err != nil {
				return err
			}
			if vus%2 == 0 {
				f.work(nil)
			}
			f.drain()
			return f.ask()
		}}
		s := serve(t, "tcp", echo(10))
		c := p.config(s)
		c.Connections = 1
		r := p.check(t, c, load.Plan{VUs: vus, Iterations: 40, Timeout: testenv.Patience})
		clean(t, r, 40)
		if vus == 1 && (s.count() != 41 || p.opened != 41) {
			t.Errorf("%d connections, told of %d, want 41", s.count(), p.opened)
		}
	}
}

// once answers the first request of a connection and ends it by the second.
func once(_ int, conn net.Conn) {
	first := true
	requests(conn, func(slot string) bool {
		if first {
			fmt.Fprintf(conn, "%s 0\n", slot)
		}
		first = !first
		return !first
	})
}

func TestRoamerLosesItsConnection(t *testing.T) {
	s := serve(t, "tcp", once)
	for _, outlives := range []bool{true, false} {
		p := &trip{outlives: outlives, flow: func(f *flow, _ int) error {
			for range 2 {
				for f.ask() != nil {
				}
			}
			return nil
		}}
		for _, plan := range models(load.Plan{VUs: 2, Iterations: 20, Timeout: testenv.Patience}) {
			r := p.check(t, p.config(s), plan)
			switch {
			case outlives && (r.Completed != 20 || p.lost < 20):
				t.Errorf("completed %d, %d lost, errors %v", r.Completed, p.lost, r.Errored)
			case !outlives && (r.Errored[errkind.Closed] != 20 || p.lost != 20):
				t.Errorf("errors %v, %d lost, want 20", r.Errored, p.lost)
			}
			if p.abandoned != 0 {
				t.Errorf("%d abandoned", p.abandoned)
			}
		}
	}
}

// A connection that the peer closes while the iteration is away is not missed.
func TestRoamerIsLeftBehind(t *testing.T) {
	closed := make(chan struct{}, 1)
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			fmt.Fprintf(conn, "%s 0\n", slot)
			return false
		})
		conn.Close()
		closed <- struct{}{}
	})
	p := &trip{outlives: true, flow: func(f *flow, _ int) error {
		for range 3 {
			for f.ask() != nil {
			}
			f.work(func(context.Context) { <-closed })
		}
		return nil
	}}
	clean(t, p.check(t, p.config(s), load.Plan{VUs: 1, Iterations: 10}), 10)
}

// A connection that cannot be opened is a lost one.
func TestRoamerIsRefused(t *testing.T) {
	s := serve(t, "tcp", echo(0))
	s.stop()
	for _, outlives := range []bool{true, false} {
		p := &trip{outlives: outlives, flow: func(f *flow, _ int) error {
			return errors.Join(f.ask(), f.ask())
		}}
		r := p.check(t, p.config(s), load.Plan{VUs: 2, Iterations: 10})
		lost := 10
		if outlives {
			lost = 20
		}
		if r.Errored[errkind.Refused] != 10 || p.lost != lost {
			t.Errorf("errors %v, %d lost, want %d", r.Errored, p.lost, lost)
		}
	}
}

// Iterations without end that send nothing delay no answers, no timeouts and not the end.
func TestRoamerStarvesNobody(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string]func(*flow, int) error{
		"ends":   func(*flow, int) error { return nil },
		"leaves": func(f *flow, _ int) error { f.work(nil); f.work(nil); return nil },
		"stays": func(f *flow, _ int) error {
			for {
				f.work(nil)
			}
		},
	} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprint(name, silent), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
				defer cancel()
				answers := 0
				p := &trip{}
				p.flow = func(f *flow, vu int) error {
					if vu == 0 {
						return endless(f, vu)
					}
					defer func() {
						if answers++; silent || answers == 20 {
							cancel()
						}
					}()
					return f.ask()
				}
				s := serve(t, "tcp", func(n int, conn net.Conn) {
					requests(conn, func(slot string) bool {
						if !silent {
							fmt.Fprintf(conn, "%s 0\n", slot)
						}
						return true
					})
				})
				timeout := testenv.Patience
				if silent {
					timeout = 50 * time.Millisecond
				}
				plan := load.Plan{VUs: 2, Iterations: 1 << 40, Timeout: timeout, Grace: testenv.Patience}
				r, err := load.Run(ctx, "lines", &target{config: p.config(s)}, plan)
				testenv.Must(t, err)
				p.sane(t)
				if silent && r.Errored[errkind.Timeout] == 0 || answers == 0 || context.Cause(ctx) != context.Canceled {
					t.Errorf("errors %v, %d answers, %v", r.Errored, answers, context.Cause(ctx))
				}
			})
		}
	}
}

// The end of a run abandons each iteration in flight once, and the next run of the same loop
// begins anew.
func TestRoamerCancelled(t *testing.T) {
	t.Parallel()
	silent := atomic.Bool{}
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			if !silent.Load() {
				fmt.Fprintf(conn, "%s 0\n", slot)
			}
			return true
		})
	})
	for _, connections := range []int{0, 2} {
		p := &trip{}
		c := p.config(s)
		c.Connections = connections
		session, err := load.Open(t.Context(), "lines", &target{config: c}, 6)
		testenv.Must(t, err)
		defer session.Close()
		for range 2 {
			silent.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			var busy, returned atomic.Int64
			p.began, p.abandoned = 0, 0
			p.flow = func(f *flow, vu int) error {
				if busy.Add(1); vu%2 == 0 {
					return f.ask()
				}
				f.work(func(ctx context.Context) {
					if busy.Load() == 6 {
						cancel()
					}
					<-ctx.Done()
					returned.Add(1)
				})
				return nil
			}
			r, err := session.Run(ctx, load.Plan{VUs: 6, Duration: time.Hour, Timeout: time.Hour})
			cancel()
			testenv.Must(t, err)
			if r.Planned != 6 || r.Unfinished != 6 || p.abandoned != 6 || returned.Load() != 3 {
				t.Errorf("planned %d, unfinished %d, abandoned %d, %d returned", r.Planned, r.Unfinished, p.abandoned, returned.Load())
			}
			p.sane(t)
			silent.Store(false)
			p.began, p.abandoned = 0, 0
			p.flow = func(f *flow, _ int) error {
				f.work(func(context.Context) {})
				return f.ask()
			}
			if r, err = session.Run(t.Context(), load.Plan{VUs: 6, Iterations: 60}); err != nil {
				t.Fatal(err)
			}
			clean(t, r, 60)
			p.sane(t)
			if p.abandoned != 0 {
				t.Errorf("%d abandoned", p.abandoned)
			}
		}
	}
}
