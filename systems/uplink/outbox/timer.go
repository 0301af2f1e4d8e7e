package outbox

import "time"

// setAlarm has the timer fire at that time, or before. Deadlines need no timers of
// their own: all have the same length, so that the first sent is the first due.
func (o *Outbox) setAlarm(at time.Duration) {
	if o.alarm != 0 && o.alarm <= at {
		return
	}
	o.alarm = at
	wait := at - o.now()
	if o.timer == nil {
		o.timer = time.AfterFunc(wait, o.ring)
	} else {
		o.timer.Reset(wait)
	}
}

// ring settles what is overdue, and sets the alarm for what is due next.
func (o *Outbox) ring() {
	o.locked(func(now time.Duration, out *settled) {
		o.alarm = 0
		for _, c := range o.conns {
			o.expire(c, now, out)
		}
	})
}

// expire gives up the messages that a connection did not answer in time.
func (o *Outbox) expire(c *Conn, now time.Duration, out *settled) {
	for c.sent.head != nil {
		e := c.sent.head.entry
		if due := e.sent + o.config.Deadline; due > now {
			o.setAlarm(due)
			return
		}
		if o.config.Trust.Reduce && len(e.others) == 0 {
			o.resize(e.lane, 2*int(e.lane.size))
		}
		o.settle(e, Expired, out)
	}
}
