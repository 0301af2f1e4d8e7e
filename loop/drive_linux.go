package loop

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
	"contend/load"
)

// A drive is the state of one run. Times are offsets from its start.
type drive struct {
	shard   *load.Shard
	open    bool          // the model is the open one
	timeout time.Duration // of an iteration; 0: none
	planned bool          // VUs have turns: an iteration may be due long after its VU became free

	queue    queue         // free VUs, in the closed model by their due times
	later    later         // those whose turn comes later
	flying   list          // in flight, if there is a timeout
	asks     time.Duration // when the Impatient are asked next; never: there are none
	inflight int           // how many
	done     []finished    // iterations that the last read ended
	crowded  []*connection // have more to read
	entering []*slot       // to go to their connections when these allow it
	entered  []*slot       // the list before it, whose memory the next one takes

	ctx     context.Context    // of work in goroutines
	end     context.CancelFunc // ends ctx
	working int                // how many goroutines do work

	arrival load.Iteration // of the open model: the next one, if pending
	pending bool           // arrival is not started yet
	over    bool           // nothing more is to be started

	now       time.Duration // the clock when it was looked at last
	looked    time.Duration // the clock before the last look at the sockets
	stamped   bool          // the clock was looked at after the last read
	alarmed   bool          // the timer has gone off
	cancelled bool
	shortly   uintptr // how many ms to wait without telling Go's scheduler
	naps      naps

	processors int32 // of Go
}

// driving is how many loops of this process are in Drive. A run has at most one for each of Go's
// processors; more, of several runs, would hold all of them in turn while they wait.
var driving atomic.Int32

// Drive implements load.Loop. It keeps its goroutine on one thread.
func (l *Loop) Drive(ctx context.Context, s *load.Shard) error {
	if s.VUs() == 0 {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	driving.Add(1)
	defer driving.Add(-1)
	if err := l.prepare(s); err != nil {
		return err
	}
	defer l.endNaps()
	defer l.watch(ctx)()
	l.ctx, l.end = context.WithCancel(context.WithoutCancel(ctx)) // abandon ends it
	defer l.abandon()
	if err := l.settle(); err != nil {
		return err
	}
	for i := range s.VUs() {
		l.release(&l.slots[i], 0)
	}
	return l.run()
}

func (l *Loop) prepare(s *load.Shard) error {
	done, ring := l.done[:0], l.queue.ring
	if len(ring) != len(l.slots) {
		ring = make([]*slot, len(l.slots))
	}
	l.drive = drive{
		shard:   s,
		open:    s.Model() == load.OpenModel,
		planned: s.PlansCallers(),
		timeout: s.Timeout(),
		queue:   queue{ring: ring},
		done:    done,
		crowded: l.crowded,
		looked:  s.Elapsed(),
		asks:    never,
	}
	if l.links[0].impatient != nil {
		l.asks = l.looked + LeastPatience
	}
	l.processors = int32(runtime.GOMAXPROCS(0))
	if l.processors > 1 { // else the other goroutines would wait as well
		l.shortly = 10 // a nearer timer would cost more than the wait
	}
	l.flying.init()
	l.stopped.Store(false)
	if err := l.startNaps(); err != nil {
		return err
	}
	return l.poller.start(s.Elapsed())
}

// watch has the end of ctx wake the loop.
func (l *Loop) watch(ctx context.Context) (unwatch func()) {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		l.stopped.Store(true)
		l.poller.Wake()
		close(woken)
	})
	return func() {
		if !stop() {
			<-woken
		}
		l.poller.Rest()
	}
}

// settle learns what happened to the connections since the last run.
func (l *Loop) settle() error {
	for range 1 + (len(l.links)+len(l.lanes))/len(l.poller.Events) {
		n, err := l.poller.Poll(0)
		if err != nil {
			return err
		}
		l.handle(n)
	}
	return nil
}

func (l *Loop) run() error {
	for !l.cancelled {
		l.enterAll()
		l.startDue()
		if l.inflight == 0 && !l.more() {
			return nil
		}
		n, err := l.wait()
		if err != nil {
			return err
		}
		l.handle(n)
		if l.alarmed {
			l.expire()
		}
	}
	return nil
}

// more reports whether anything may still become due.
func (l *Loop) more() bool {
	if l.open {
		return !l.over
	}
	return l.queue.len > 0 || l.working > 0 || len(l.later) > 0
}

// startDue starts what was due at the last look at the sockets and has a free VU, so
// that it finds a connection whose end had arrived by then closed. An iteration that
// fails at once has its next turn after another look.
func (l *Loop) startDue() {
	l.turnsCome()
	for range l.queue.len {
		if l.open && !l.arrives() {
			return
		}
		due := l.queue.head().it.Due
		if l.open {
			due = l.arrival.Due
		}
		if due > l.looked {
			return
		}
		s := l.queue.pop()
		if s.link.park(s) {
			continue
		}
		if l.open {
			s.it, l.pending = l.arrival, false
		}
		l.start(s)
	}
}

// turnsCome queues the VUs whose turn has come in a plan of callers.
func (l *Loop) turnsCome() {
	for l.later.due() <= l.looked {
		if s := l.later.pop(); s.recall != nil {
			s.held = true
		} else {
			l.queue.push(s)
		}
	}
}

// arrives makes sure that the next arrival is known; false after the last.
func (l *Loop) arrives() bool {
	if !l.pending && !l.over {
		l.arrival, l.pending = l.shard.Next(0, 0)
		l.over = !l.pending
	}
	return !l.over
}

// start starts the iteration of a slot whose connection is not draining.
func (l *Loop) start(s *slot) {
	l.now = l.shard.Elapsed()
	if l.begin(s, l.now) {
		l.send(s, s.link.conversation.Start)
	}
}

// send begins an iteration on its connection, which it opens if need be.
func (l *Loop) send(s *slot, start func(out []byte, slot int) []byte) {
	k := s.link
	var err error
	if k.state != closed {
		l.out = start(l.out[:0], s.index)
		err = k.write(l.out)
	} else {
		err = k.begin(start, s.index)
	}
	if err != nil {
		l.fail(k, err)
	} else if k.state != open || len(k.pending) > 0 {
		l.naps.awake = l.now + stayAwake
	}
	if k.roamer != nil {
		l.sweep(k)
	}
}

// wait returns how many events there are. It waits for one if nothing else is
// to be done; also while there is, the timer is set for what is in flight.
func (l *Loop) wait() (int, error) {
	due := l.nextDue()
	if due != never || l.open {
		l.now = l.shard.Elapsed()
		l.looked = l.now
	}
	idle := len(l.crowded) == 0 && due > l.now && !l.canEnter()
	switch {
	case !idle:
		due = never
	case l.open && due != never:
		if due = l.shard.Until(due); l.nap(due) {
			l.looked = l.shard.Elapsed()
			return l.poller.Poll(0)
		}
	}
	if err := l.alarm(min(due, l.deadline())); err != nil {
		return 0, err
	}
	if !idle {
		return l.poller.Poll(0)
	}
	if l.shaking+l.working == 0 && driving.Load() <= l.processors { // else goroutines need the processor
		if n, err := l.poller.Poll(l.shortly); n != 0 || err != nil {
			return n, err
		}
	}
	return l.poller.Wait(epoll.Forever)
}

// alarm sets the timer, unless it goes off before anyway.
func (l *Loop) alarm(at time.Duration) error {
	if at >= l.poller.armed {
		return nil
	}
	return l.poller.arm(at)
}

// deadline returns when the longest in flight runs into its timeout, or the Impatient are asked.
func (l *Loop) deadline() time.Duration {
	if s := l.flying.head(); s != nil {
		return min(l.asks, s.it.Start+l.timeout)
	}
	return l.asks
}

// nextDue returns when the next iteration is due that has a free VU.
func (l *Loop) nextDue() time.Duration {
	return min(l.nextFree(), l.later.due())
}

// nextFree is that of those that wait for nothing else.
func (l *Loop) nextFree() time.Duration {
	switch {
	case l.queue.len == 0 || l.open && l.over:
		return never
	case l.open:
		return l.arrival.Due
	}
	return l.queue.head().it.Due
}

// expire ends the iterations that have taken too long.
func (l *Loop) expire() {
	l.alarmed = false
	l.now = l.shard.Elapsed()
	if l.now >= l.asks {
		l.ask()
	}
	for {
		s := l.flying.head()
		if s == nil || s.it.Start+l.timeout > l.now {
			return
		}
		l.cancel(s)
	}
}

// ask closes the connections of those that give up.
func (l *Loop) ask() {
	l.asks = l.now + LeastPatience
	for k := range l.connections() {
		if k.impatient == nil {
			continue
		}
		switch left, gaveUp := k.impatient.Patience(); {
		case gaveUp != nil:
			l.fail(k, gaveUp)
		case left > 0:
			l.asks = min(l.asks, l.now+left)
		}
	}
}

// handle handles the first n of the poller's events, and the connections that
// had more to read.
func (l *Loop) handle(n int) {
	crowded := l.crowded
	l.crowded, l.naps.behind = nil, 0
	for i := range n {
		e := &l.poller.Events[i]
		switch e.Fd {
		case timerEvent:
			if l.poller.armed != never { // else it is of an earlier run
				l.looked = max(l.looked, l.poller.armed)
			}
			l.alarmed, l.poller.armed = true, never
		case epoll.Woken:
			l.poller.Rest()
			l.cancelled = l.stopped.Load()
			l.collect()
		default:
			if k := l.link(e.Fd); k.generation == e.Pad && k.state != closed {
				l.serve(k, e.Events)
			}
		}
	}
	for _, k := range crowded {
		k.crowded = false
		if k.state == open {
			l.turn(k, true)
		}
	}
}

// readLast reads what a peer sent that takes no more of a request: it may have answered before.
func (l *Loop) readLast(k *connection, err error) {
	k.pending, k.draining = k.pending[:0], true
	socket := k.generation
	if l.turn(k, true); k.generation == socket { // the connection is still the same
		l.fail(k, err)
	}
}

func (l *Loop) serve(k *connection, events uint32) {
	if k.state == connecting {
		if err := k.connected(); err != nil {
			l.fail(k, err)
		}
		if k.state != open {
			return
		}
	} else if events&unix.EPOLLOUT != 0 {
		if err := k.flush(); err != nil {
			l.readLast(k, err)
			return
		}
	}
	const ended = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|ended) != 0 {
		l.turn(k, events&ended != 0)
	}
}
