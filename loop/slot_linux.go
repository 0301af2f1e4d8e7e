package loop

import (
	"errors"
	"io"
	"slices"
	"time"

	"contend/errkind"
	"contend/load"
)

// A slot is a VU and its iteration. Times are offsets from the start of the
// run.
type slot struct {
	link    *connection
	index   int // among the slots of the connection
	vu      int // its number in the session
	it      load.Iteration
	busy    bool // the iteration is in flight
	dialled bool // for it the connection was opened
	idle    bool // before it the connection had answered, and carried nothing
	again   bool // its iteration is to be repeated,
	repeats int  // which has happened so often
	tried   time.Duration
	sent    time.Duration
	first   time.Duration // byte of the answer; 0: has not come
	errand                // of a Roamer

	prev, next *slot // in the list of those in flight
}

// A finished iteration is reported to the shard when what was read is understood.
type finished struct {
	slot *slot
	it   load.Iteration
	end  time.Duration
	out  load.Outcome
	err  error
}

var _ Slots = (*connection)(nil)

func (k *connection) FirstByte(slot int) {
	if s := k.slots[slot]; s.busy && s.first == 0 {
		s.first = max(k.loop.stamp(), s.sent)
	}
}

func (k *connection) End(slot int, out *load.Outcome, err error) {
	s := k.slots[slot]
	if !s.busy {
		return
	}
	l := k.loop
	if k.roamer != nil { // it did more than read
		l.stamped = false
	}
	end := max(l.stamp(), s.sent)
	if err != nil && k.repeat(s, err) {
		return
	}
	l.conclude(s)
	l.done = slices.Grow(l.done, 1)[:len(l.done)+1] // an append would clear and copy the whole of it
	d := &l.done[len(l.done)-1]
	d.slot, d.it, d.end, d.err = s, s.it, end, err
	if out != nil {
		d.out = *out
	} else {
		d.out = load.Outcome{}
	}
	if err != nil {
		d.out.Request, d.out.Resent = k.nameOf(s), s.repeats
		return
	}
	k.answered = true
	d.out.Resent += s.repeats
	if k.roamer == nil {
		d.out.Phases = s.phases(end)
	}
}

// nameOf returns the name of the request of a slot.
func (k *connection) nameOf(s *slot) string {
	if k.namer == nil || s.recall != nil {
		return ""
	}
	return k.namer.Name(s.index)
}

// repeat takes an iteration from its connection, to begin it again as soon as
// that is possible. false: it has to end.
func (k *connection) repeat(s *slot, err error) bool {
	var unprocessed *Unprocessed
	if k.repeater == nil || s.repeats == maxRepeats || !errors.As(err, &unprocessed) {
		return false
	}
	s.reenter()
	return true
}

// reenter takes an iteration from its connection and has it begin again.
func (s *slot) reenter() {
	s.depart()
	s.again = true
	s.repeats++
	s.link.loop.entering = append(s.link.loop.entering, s)
}

// survives reports whether an iteration begins again whose connection failed with err. It
// does, once, where nothing of an answer had come over a connection that was idle before, as
// one that a server closes in the moment in which it is used again.
func (s *slot) survives(err error) bool {
	var leftover *Leftover
	old := s.isStale(err) || errors.As(err, &leftover)
	return old && s.repeats == 0 && s.link.repeater != nil && s.link.repeater.Safe(s.index)
}

// isStale reports whether err ended a connection that was idle before.
func (s *slot) isStale(err error) bool {
	return s.link.repeater != nil && s.idle && s.first == 0 && errkind.IsLost(err)
}

func (k *connection) Drain() { k.draining = k.state != closed }

func (s *slot) phases(end time.Duration) load.Phases {
	if s.first == 0 {
		s.first = end
	}
	p := load.Phases{FirstByte: s.first - s.sent}
	if s.dialled {
		p.Connect = s.sent - s.tried
		p.Exchange = end - s.sent
	}
	return p
}

// stamp returns the time of the last read; it looks at the clock once for all
// that the read brought.
func (l *Loop) stamp() time.Duration {
	if !l.stamped {
		l.now, l.stamped = l.shard.Elapsed(), true
	}
	return l.now
}

// begin starts the iteration of a slot; false: neither it nor any other is to
// be started.
func (l *Loop) begin(s *slot, now time.Duration) bool {
	if !l.shard.Begin(&s.it, now) {
		l.over = true
		return false
	}
	s.repeats = 0
	s.enter(now)
	l.inflight++
	if l.timeout > 0 {
		l.flying.push(s)
	}
	return true
}

// enter puts an iteration on its connection.
func (s *slot) enter(now time.Duration) {
	s.busy, s.again, s.away, s.awaits, s.dialled = true, false, false, false, false
	s.first, s.tried, s.sent = 0, now, now
	s.idle = s.link.answered && s.link.inflight == 0
	s.link.inflight++
}

// depart takes an iteration from its connection.
func (s *slot) depart() {
	s.busy = false
	s.link.inflight--
}

// conclude ends an iteration for the loop.
func (l *Loop) conclude(s *slot) {
	if s.busy {
		s.depart()
	}
	s.again, s.away, s.awaits = false, false, false
	s.link.drop()
	l.inflight--
	if l.timeout > 0 {
		l.flying.remove(s)
	}
}

// fail closes a connection and ends what was in flight on it, unless it can do
// without.
func (l *Loop) fail(k *connection, err error) {
	k.close()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	if k.carries {
		k.carries = false
		k.lane.Lost(err)
	}
	if k.inflight == 0 {
		return
	}
	end := l.shard.Elapsed()
	for _, s := range k.slots {
		switch {
		case !s.busy || s.outlives(err):
		case s.survives(err):
			s.reenter()
		case s.isStale(err):
			l.lose(s, end, errkind.StaleError(err))
		default:
			l.lose(s, end, err)
		}
	}
}

// lose ends an iteration without an answer.
func (l *Loop) lose(s *slot, end time.Duration, err error) {
	l.conclude(s)
	none := load.Outcome{Request: s.link.nameOf(s), Resent: s.repeats}
	l.shard.Finish(&s.it, end, &none, err)
	l.release(s, end)
}

// release queues a VU that is free, in the closed model with its next
// iteration, as soon as its work has returned.
func (l *Loop) release(s *slot, free time.Duration) {
	switch {
	case !l.open && !l.another(s, free):
	case s.recall != nil:
		s.held = true
	default:
		l.queue.push(s)
	}
}

// another gives a VU of the closed model its next iteration. It returns false after the last, and
// if the next has to wait while others need not: see turnsCome.
func (l *Loop) another(s *slot, free time.Duration) bool {
	it, ok := l.shard.Next(s.vu, free)
	s.it = it
	if ok && it.Due > free && (l.planned || it.Apart) {
		l.later.add(s)
		return false
	}
	return ok
}
