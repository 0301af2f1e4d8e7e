package script

import (
	"context"
	"slices"
	"time"

	"github.com/grafana/sobek"
)

// timers are the functions that a script has left for later in this iteration, by their times.
type timers struct {
	last     int64
	pending  []timer
	promised []promised // not sent yet
	events
}

type timer struct {
	id    int64
	at    time.Time
	every time.Duration // 0: once
	call  sobek.Callable
	args  []sobek.Value
}

// timersModule is "k6/timers", whose functions are also global.
func (v *vu) timersModule() exports {
	t := &v.timers
	clear := func(id int64) {
		t.pending = slices.DeleteFunc(t.pending, func(one timer) bool { return one.id == id })
	}
	return exports{"setTimeout": t.setter(v, false), "setInterval": t.setter(v, true), "clearTimeout": clear, "clearInterval": clear}
}

// setter makes setTimeout, or setInterval.
func (t *timers) setter(v *vu, again bool) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		f, ok := sobek.AssertFunction(call.Argument(0))
		if !ok {
			v.throw("a timer needs a function")
		}
		after := max(0, time.Duration(call.Argument(1).ToFloat()*float64(time.Millisecond)))
		t.last++
		one := timer{id: t.last, at: time.Now().Add(after), call: f}
		if again {
			one.every = max(after, time.Millisecond)
		}
		if len(call.Arguments) > 2 {
			one.args = call.Arguments[2:]
		}
		t.add(one)
		return v.rt.ToValue(t.last)
	}
}

// callAll calls functions that wait for an event, up to the first that throws.
func callAll(all []sobek.Callable, this sobek.Value, values ...sobek.Value) error {
	for _, f := range all {
		if _, err := f(this, values...); err != nil {
			return err
		}
	}
	return nil
}

// clear forgets what is pending, and ends what events come from.
func (t *timers) clear() {
	t.pending, t.promised = t.pending[:0], t.promised[:0]
	t.events.end()
}

func (t *timers) add(one timer) {
	i, _ := slices.BinarySearchFunc(t.pending, one, func(a, b timer) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return int(a.id - b.id)
	})
	t.pending = slices.Insert(t.pending, i, one)
}

// run calls what is pending, each at its time, and hands out events until nothing is left that they
// could come from.
func (t *timers) run(v *vu) error {
	for len(t.pending) > 0 || len(t.promised) > 0 || t.live > 0 || t.side(v).owes() {
		if t == &v.timers && len(v.rejections) > 0 { // an exception, which ends the iteration at once
			return nil
		}
		task := t.next(v)
		if v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if err := task(); err != nil {
			return err
		}
	}
	return nil
}

// side is what drives calls side by side whose replies settle promises: not while a socket has timers of its own.
func (t *timers) side(v *vu) *conversation {
	if t == &v.timers {
		return v.conversation
	}
	return nil
}

// next waits for the next event, or for the first timer.
func (t *timers) next(v *vu) (task func() error) {
	if task = v.alone(); task != nil {
		return task
	}
	v.sendPromised()
	side := t.side(v)
	if side.owes() && (len(side.sides.arrived) > 0 || len(t.pending) == 0 && t.live == 0) {
		return side.next()
	}
	due := time.Duration(-1)
	if len(t.pending) > 0 {
		due = max(0, time.Until(t.pending[0].at))
	}
	t.nudged = make(chan struct{}, 1)
	v.away(func(ctx context.Context) { task = t.await(ctx, due) })
	switch {
	case task != nil:
		return task
	case side.owes() && len(side.sides.arrived) > 0:
		return side.next()
	}
	return t.fire
}

// fire calls the first timer's function; without one the script is abandoned.
func (t *timers) fire() error {
	if len(t.pending) == 0 {
		return errEnded
	}
	next := t.pending[0]
	t.pending = slices.Delete(t.pending, 0, 1)
	if next.every > 0 {
		again := next
		again.at = next.at.Add(next.every)
		t.add(again)
	}
	_, err := next.call(sobek.Undefined(), next.args...)
	return err
}

// wait waits that long, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
