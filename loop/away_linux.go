package loop

import (
	"context"
	"slices"
)

// An errand is what an iteration of a Roamer does away from its connection.
type errand struct {
	away   bool               // until Resume
	awaits bool               // what a lane brings
	recall context.CancelFunc // of work that goes on; nil: none does
	held   bool               // the VU is free when it has returned
}

var _ RoamerSlots = (*connection)(nil)

// A task is done in a goroutine of its own, since it waits.
type task interface {
	// ended is called by the loop afterwards.
	ended()
}

// do begins a task. The loop learns its end by collect.
func (l *Loop) do(t task, work func()) {
	l.tasks.Go(func() {
		work()
		l.mu.Lock()
		l.news = append(l.news, t)
		l.mu.Unlock()
		l.poller.Wake()
	})
}

// collect takes over from the tasks that have ended.
func (l *Loop) collect() {
	l.mu.Lock()
	news := l.news
	l.news = nil
	l.mu.Unlock()
	for _, t := range news {
		t.ended()
	}
}

// dismiss waits for the tasks that were given up.
func (l *Loop) dismiss() {
	l.tasks.Wait()
	l.collect()
}

func (k *connection) Leave(slot int, work func(ctx context.Context)) {
	s, l := k.slots[slot], k.loop
	if !s.busy {
		return
	}
	s.depart()
	s.away = true
	if work == nil {
		l.entering = append(l.entering, s)
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	s.recall = cancel
	l.working++
	l.do(s, func() { work(ctx) })
}

// ended goes on after the work of an iteration, or of one that is over.
func (s *slot) ended() {
	k, l := s.link, s.link.loop
	l.working--
	s.recall()
	s.recall = nil
	if s.away {
		l.entering = append(l.entering, s)
		return
	}
	k.roamer.Abandon(s.index)
	l.retire(k)
	if s.held {
		s.held = false
		l.queue.push(s)
	}
}

// outlives reports whether an iteration goes on that has lost its connection.
func (s *slot) outlives(err error) bool {
	k := s.link
	if k.roamer == nil {
		return false
	}
	s.depart()
	if s.away = k.roamer.Lost(s.index, err); s.away {
		k.loop.entering = append(k.loop.entering, s)
	}
	return s.away
}

// waits reports whether an iteration waits for its connection.
func (s *slot) waits() bool { return s.again || s.away && !s.awaits && s.recall == nil }

// canEnter reports whether an iteration can go to its connection.
func (l *Loop) canEnter() bool {
	return len(l.entering) > 0 &&
		slices.ContainsFunc(l.entering, func(s *slot) bool { return s.waits() && !s.link.draining })
}

// enterAll begins again what the peer did not process, and goes on with what was
// away. Iterations that this makes enter again wait for another look at the
// sockets.
func (l *Loop) enterAll() {
	if len(l.entering) == 0 {
		return
	}
	entering := l.entering
	l.entering, l.entered = l.entered[:0], entering
	for _, s := range entering {
		switch k := s.link; {
		case !s.waits(): // it has ended
		case k.draining:
			l.entering = append(l.entering, s)
		default:
			l.enter(s)
		}
	}
}

func (l *Loop) enter(s *slot) {
	resumes := s.away
	l.now = l.shard.Elapsed()
	s.enter(l.now)
	if resumes {
		l.send(s, s.link.roamer.Resume)
	} else {
		l.send(s, s.link.repeater.Repeat)
	}
}

// sweep records what has ended by Start and Resume.
func (l *Loop) sweep(k *connection) {
	l.record()
	for i := range l.done {
		l.release(l.done[i].slot, l.done[i].end)
	}
	l.done = l.done[:0]
	l.retire(k)
}

// cancel ends an iteration that has taken too long, and its connection with it
// unless that is spared: the iteration is not on it, or the conversation can
// give it up.
func (l *Loop) cancel(s *slot) {
	k := s.link
	switch {
	case !s.busy:
		l.giveUp(s)
		l.retire(k)
		return
	case k.canceler == nil || k.state != open:
		if k.roamer != nil { // others may outlive it
			l.giveUp(s)
		}
		l.fail(k, l.shard.TimedOut())
		return
	}
	l.out = k.canceler.Cancel(l.out[:0], s.index)
	l.giveUp(s)
	err := errDeaf
	if len(k.pending) <= maxPending {
		err = k.write(l.out)
	}
	if err != nil {
		l.fail(k, err)
	}
	l.retire(k)
}

// giveUp ends an iteration by its timeout.
func (l *Loop) giveUp(s *slot) {
	l.lose(s, l.now, l.shard.TimedOut())
	switch {
	case s.recall != nil: // Abandon follows
		s.recall()
	case s.link.roamer != nil:
		s.link.roamer.Abandon(s.index)
	}
}

// abandon ends what is in flight, and closes the connections whose state is
// unknown by that.
func (l *Loop) abandon() {
	l.end()
	for k := range l.connections() {
		if k.inflight > 0 || k.carries || k.state == connecting || l.config.CloseEach {
			k.close()
			k.inflight, k.carries = 0, false
		}
	}
	l.dismiss()
	for i := range l.slots {
		s := &l.slots[i]
		lost := s.busy || s.again || s.away
		s.busy, s.again, s.away, s.awaits, s.held = false, false, false, false, false
		if roamer := s.link.roamer; lost && roamer != nil {
			roamer.Abandon(s.index)
			l.retire(s.link)
		}
	}
}
