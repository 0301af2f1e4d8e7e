package script

import (
	"errors"
	"net"
	"time"

	"contend/errkind"
	"contend/loop"
	own "contend/protocol/http"
	"contend/protocol/wire"
)

// A lane is a connection of a virtual user on an event loop, and the call that it carries.
type lane struct {
	c        *conversation
	number   int
	exchange own.Exchange
	asked    *call    // in flight; nil: none is
	aside    *carried // the same; nil: the script waits for it alone
	marks    marks    // of the latest call
	opening  bool     // what is sent waits for a new connection
	answers  int      // that came over the connection
	idle     bool     // the call went over one that had answered
	again    bool     // the call is sent again
	remote   net.Addr // of the connection
}

var (
	_ loop.Lane      = (*lane)(nil)
	_ loop.Impatient = (*lane)(nil)
)

// Open has nothing to say before the first request.
func (l *lane) Open(out []byte) []byte {
	l.opening, l.answers = true, 0
	l.exchange.Renew()
	return out
}

// Start sends the call that the lane was given.
func (l *lane) Start(out []byte, _ int) []byte { return l.send(out, l.asked) }

// send sends a call.
func (l *lane) send(out []byte, asked *call) []byte {
	l.asked, l.idle = asked, l.answers > 0
	if !l.again { // else what the lost attempt took is the server's
		l.mark(&l.marks.got)
		l.marks.connected = !l.opening
	}
	keep := maxBody
	if asked.discard {
		keep = 0
	}
	before := len(out)
	out = l.exchange.AppendTo(out, &own.Sent{Method: asked.method, Host: asked.url.Host, Target: asked.url.RequestURI(), Header: asked.header, Body: asked.body, Keep: keep})
	l.c.v.traffic.Went(int64(len(out) - before))
	return out
}

// mark notes that the call has come that far.
func (l *lane) mark(at *time.Duration) { *at = time.Since(l.marks.began) }

// Opened notes how long the connection took for which the call has waited.
func (l *lane) Opened(to net.Addr) {
	l.remote = to
	if l.opening = false; l.asked != nil && !l.again {
		asked := l.marks.got
		l.mark(&l.marks.got)
		l.marks.connected, l.marks.connect = true, l.marks.got-asked
	}
}

// Written notes when the request was.
func (l *lane) Written() {
	if l.asked != nil && l.marks.wrote == 0 {
		l.mark(&l.marks.wrote)
	}
}

// Receive reads a piece of an answer.
func (l *lane) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	_, err := l.receive(in, slots)
	return out, err
}

// receive reads a piece of an answer, and returns the reply when that is complete.
func (l *lane) receive(in []byte, slots loop.Slots) (*reply, error) {
	l.c.v.traffic.Came(int64(len(in)))
	if l.asked == nil {
		if len(in) == 0 {
			return nil, nil
		}
		return nil, l.exchange.Unasked(in)
	}
	if l.marks.first == 0 && len(in) > 0 {
		l.mark(&l.marks.first)
	}
	done, err := l.exchange.Receive(in)
	if err == nil && !l.asked.discard && l.exchange.BodyLength() > maxBody {
		err = errLong
	}
	if err != nil || !done {
		return nil, err
	}
	r := l.answered()
	if !l.exchange.Reusable() || l.number >= max(1, l.c.v.target.Options.BatchPerHost) {
		slots.Drain()
	}
	if l.aside != nil {
		l.bring(r)
	}
	return r, nil
}

// answered makes the reply to what was asked.
func (l *lane) answered() *reply {
	e := &l.exchange
	r := &reply{status: e.Status(), proto: e.Proto(), fields: e.Fields(), length: e.BodyLength(), remote: l.remote, stray: e.Stray(), parted: e.Parted()}
	if l.again {
		r.resent = 1
	}
	l.marks.tell(r)
	if !l.asked.discard {
		r.body, r.err = r.decode(e.Body())
	}
	l.asked, l.again = nil, false
	l.answers++
	return r
}

// Patience is that of the call.
func (l *lane) Patience() (time.Duration, error) {
	if l.asked == nil {
		return 0, nil
	}
	left := l.asked.timeout - time.Since(l.marks.began)
	if left <= 0 {
		return 0, errLate(l.asked.timeout)
	}
	return left, nil
}

// Lost takes the end of a connection.
func (l *lane) Lost(err error) {
	if l.aside == nil { // the iteration has ended
		return
	}
	if r := l.lose(err); r != nil {
		l.bring(r)
		return
	}
	l.c.slots.Carry(l.number)
}

// lose makes the reply to a call whose connection was lost; nil: it is to be sent again, which happens once (see
// loop.Repeater).
func (l *lane) lose(err error) *reply {
	ctx := l.c.v.ctx
	var leftover *loop.Leftover
	stale := l.idle && !l.exchange.Begun() && errkind.IsLost(err)
	if old := stale || errors.As(err, &leftover); old && !l.again && wire.IsSafe(l.asked.method) && ctx.Err() == nil {
		l.again = true
		l.marks.wrote, l.marks.first = 0, 0
		return nil
	}
	if stale {
		err = errkind.StaleError(err)
	}
	r := &reply{err: wire.OrCancelled(ctx, "script", err)}
	if l.marks.tell(r); l.marks.connected {
		r.remote = l.remote
	}
	if l.again {
		r.resent = 1
	}
	l.asked, l.again = nil, false
	return r
}
