package script

import (
	"context"
	"iter"
	"runtime"
	"time"

	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
)

// A conversation is a virtual user on an event loop. Its iterations run on a strand: that hands over
// a request, or what else it waits for, and goes on when the answer has come. So no goroutine waits
// for an answer.
type conversation struct {
	v      *vu
	slots  loop.RoamerSlots
	loop   *scriptLoop
	strand *strand // of the iteration in flight

	lane           // of the connection that it has from the loop
	reply   *reply // to the latest call that the script waited for alone
	unsent  *call  // waits for another connection
	sides   sides
	failure error
	outcome load.Outcome // here to spare an allocation per iteration
}

// A step is what a script waits for: a call to the loop's origin, or else work, or else what lanes bring; none of
// these at its end.
type step struct {
	call  *call
	work  func(ctx context.Context)
	lanes func() bool // reports whether they have brought it
}

// A strand is a coroutine that runs iterations, one after another, of any virtual user: its stack
// has grown by then, and an idle virtual user has none. It lives within a drive, on the thread that
// made it.
type strand struct {
	next  func() (step, bool)
	stop  func()
	yield func(step) bool
	of    *conversation // whose iteration is next
}

func newStrand() *strand {
	s := new(strand)
	s.next, s.stop = iter.Pull(func(yield func(step) bool) {
		s.yield = yield
		for more := true; more; more = yield(step{}) {
			s.of.iterate()
		}
	})
	return s
}

var (
	_ loop.Roamer  = (*conversation)(nil)
	_ loop.Witness = (*conversation)(nil)
)

// converse has the script's calls and waits become steps.
func (c *conversation) converse() {
	c.lane.c = c
	c.sides.lanes = []*lane{&c.lane}
	c.v.conversation = c
	c.v.carry = func(asked *call) *reply {
		if !c.takes(asked) {
			return c.v.roundTrip(asked)
		}
		c.v.sendPromised()
		if c.sides.open > 0 {
			return c.alongside(asked)
		}
		c.reply = nil
		if !c.strand.yield(step{call: asked}) {
			return &reply{err: errEnded}
		}
		return c.reply
	}
	c.v.away = func(work func(context.Context)) {
		c.v.sendPromised()
		c.strand.yield(step{work: work})
	}
}

// takes reports whether the loop can send a call, and end it in time.
func (c *conversation) takes(asked *call) bool {
	near := c.v.target.near
	return asked.url.Scheme == near.scheme && asked.url.Host == near.host && asked.timeout >= loop.LeastPatience
}

// Bind keeps the slots.
func (c *conversation) Bind(slots loop.RoamerSlots) { c.slots = slots }

// Start begins an iteration.
func (c *conversation) Start(out []byte, _ int) []byte {
	if n := len(c.loop.idle); n > 0 {
		c.strand, c.loop.idle = c.loop.idle[n-1], c.loop.idle[:n-1]
	} else {
		c.strand = newStrand()
	}
	c.strand.of = c
	return c.goOn(out, false)
}

// iterate runs the script once.
func (c *conversation) iterate() {
	c.v.begin()
	err := c.v.run()
	c.outcome = c.v.outcome(err)
	c.failure = c.v.failure(err)
}

// goOn runs the script up to the next thing that it waits for. Anything it sends over a connection
// that ends has to wait for another one.
func (c *conversation) goOn(out []byte, ends bool) []byte {
	next, _ := c.strand.next()
	switch {
	case next.lanes != nil:
		c.sides.wait = next.lanes
		return c.await(out, ends)
	case next.work != nil:
		out = c.flush(out, ends)
		c.slots.Leave(0, next.work)
	case next.call == nil:
		c.loop.idle = append(c.loop.idle, c.strand)
		c.strand = nil
		c.slots.End(0, &c.outcome, c.failure)
	case ends:
		c.unsent, c.marks = next.call, marks{began: time.Now()}
		c.slots.Leave(0, nil)
	default:
		c.marks = marks{began: time.Now()}
		return c.send(out, next.call)
	}
	return out
}

// Resume goes on after work outside the loop, a lost connection, one that had to end, or what lanes brought.
func (c *conversation) Resume(out []byte, _ int) []byte {
	if asked := c.unsent; asked != nil {
		c.unsent = nil
		return c.send(out, asked)
	}
	if c.sides.wait != nil {
		return c.await(out, false)
	}
	return c.goOn(out, false)
}

// Receive reads a piece of an answer.
func (c *conversation) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	side := c.aside != nil
	r, err := c.receive(in, slots)
	if r == nil || side {
		return out, err
	}
	c.reply = r
	return c.goOn(out, !c.exchange.Reusable()), nil
}

// Lost tells the script that no answer came, or has a call sent again, once: see loop.Repeater.
func (c *conversation) Lost(_ int, err error) bool {
	if c.asked == nil {
		return true
	}
	asked := c.asked
	if c.reply = c.lose(err); c.reply == nil {
		c.asked, c.unsent = nil, asked
	}
	return true
}

// Abandon ends the script.
func (c *conversation) Abandon(int) {
	c.asked, c.aside, c.unsent, c.again = nil, nil, nil, false
	c.v.rt.Interrupt(errEnded)
	c.strand.stop()
	c.strand = nil
	c.forget()
	c.v.rt.ClearInterrupt()
}

// near is what a loop connects to.
type near struct{ scheme, host, address string }

var _ load.LoopTarget = (*Target)(nil)

// Loops returns how many event loops would drive the virtual users: those of scripts that ask one
// server over HTTP/1.1. Everything else in such a script runs outside the loops.
func (t *Target) Loops(vus int) (int, string) {
	if ok, why := loop.Supported(); !ok {
		return 0, why
	}
	switch {
	case t.config.NoLoops():
		return 0, ""
	case t.near.host == "":
		return 0, "a script that names no single server of plain HTTP"
	case t.Options.NoReuse || t.Options.NoIterationReuse:
		return 0, "connections that are not used again"
	}
	return wire.Loops(!t.around.OwnCores && wire.IsNear("tcp", t.near.address), vus, 0), ""
}

// NewLoop makes an event loop; the first one waits for setup.
func (t *Target) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	return t.all.NewLoop(ctx, part)
}

// NewLoop is that of a load.
func (d *driven) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	t := d.target
	if err := t.setup(ctx); err != nil {
		return nil, err
	}
	s := &scriptLoop{}
	byID := map[int]*conversation{}
	for id := part.Index; id < part.VUs; id += part.Of {
		v, err := d.newVU(ctx, 1+id)
		if err != nil {
			return nil, err
		}
		c := &conversation{v: v, loop: s}
		c.converse()
		s.ids = append(s.ids, id)
		s.vus = append(s.vus, v)
		byID[id] = c
	}
	var err error
	s.Loop, err = loop.New(ctx, loop.Config{Network: "tcp", Address: t.near.address, VUs: s.ids,
		New: func(vus []int) loop.Conversation { return byID[vus[0]] }})
	return s, err
}

// A scriptLoop has the end of a drive interrupt scripts that compute.
type scriptLoop struct {
	load.Loop
	ids  []int
	vus  []*vu
	idle []*strand
}

// Drive drives the virtual users.
func (s *scriptLoop) Drive(ctx context.Context, shard *load.Shard) error {
	for _, v := range s.vus {
		v.ctx = ctx
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		for _, v := range s.vus {
			v.rt.Interrupt(errEnded)
		}
		close(interrupted)
	})
	defer func() {
		if !stop() {
			<-interrupted
			for _, v := range s.vus {
				v.rt.ClearInterrupt()
			}
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.endStrands()
	return s.Loop.Drive(ctx, shard)
}

// endStrands ends them on the thread that they were made on, and within as many locks to it: that of
// the loop's Drive was one.
func (s *scriptLoop) endStrands() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, one := range s.idle {
		one.stop()
	}
	s.idle = s.idle[:0]
}

// Close closes the connections, and the virtual users.
func (s *scriptLoop) Close() error {
	err := s.Loop.Close()
	for _, v := range s.vus {
		_ = v.Close() // has nothing to say
	}
	return err
}
