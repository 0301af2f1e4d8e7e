package static

import (
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

// A peer is one connection of a loop.
type peer struct {
	fd       int
	exchange exchange
	readable bool          // there is or may be something to read
	queued   bool          // for another turn
	ended    bool          // the end is among it, of which no event tells again
	deadline time.Duration // of the request, of the answer or of being idle
	pending  []byte        // arrived, but not a whole request or behind an answer
	out      output        // what is left of an answer
	state    state
	drained  int // bytes read while lingering
}

type state int

const (
	reading state = iota
	writing
	lingering
)

func (p *peer) idle() bool { return p.state == reading && len(p.pending) == 0 }

// serve goes on with a connection as far as that is possible without waiting.
func (l *loop) serve(p *peer) {
	if p.state == writing && !l.resume(p) {
		return
	}
	for p.readable {
		if p.state == lingering {
			l.discard(p)
			return
		}
		old := copy(l.in, p.pending)
		n, errno := epoll.Receive(p.fd, l.in[old:])
		switch {
		case errno == unix.EAGAIN:
			p.readable = false
			return
		case errno == unix.EINTR:
			continue
		case errno != 0 || n == 0:
			l.end(p)
			return
		}
		p.readable = old+n == len(l.in) || p.ended
		if !l.converse(p, l.in[:old+n]) {
			return
		}
		if p.readable && !p.ended {
			l.later(p)
			return
		}
	}
}

// later gives a connection another turn.
func (l *loop) later(p *peer) {
	if !p.queued {
		p.queued = true
		l.again = append(l.again, p)
	}
}

// converse answers the requests of in. It returns false if the connection cannot
// go on for now.
func (l *loop) converse(p *peer, in []byte) bool {
	for len(in) > 0 {
		n := p.exchange.next(&l.w, in, &l.out)
		if n == 0 {
			if len(p.pending) == 0 {
				p.deadline = l.w.now + l.config.HeaderTimeout
			}
			p.pending = append(p.pending[:0], in...)
			return true
		}
		in = in[n:]
		if !l.answer(p, in) {
			return false
		}
	}
	p.pending = nil
	p.deadline = l.w.now + l.config.IdleTimeout
	return true
}

// answer writes l.out. What does not fit is kept, with the input behind it.
func (l *loop) answer(p *peer, behind []byte) bool {
	o := &l.out
	size := int64(len(o.bytes)) + o.n
	switch done, errno := l.write(p, o); {
	case errno != 0:
		p.out = *o
		l.end(p)
		return false
	case done:
		return l.answered(p, o)
	}
	p.out = *o
	p.out.bytes = append([]byte(nil), o.bytes...)
	p.pending = append([]byte(nil), behind...)
	p.state, p.deadline = writing, l.w.now+l.config.writeTime(size)
	return false
}

// resume writes more of an answer.
func (l *loop) resume(p *peer) bool {
	done, errno := l.write(p, &p.out)
	if errno != 0 {
		l.end(p)
		return false
	}
	if !done {
		return false
	}
	o := p.out
	p.out, p.state = output{}, reading
	if !l.answered(p, &o) {
		return false
	}
	in := p.pending
	p.pending = nil
	if len(in) > 0 {
		return l.converse(p, in)
	}
	p.deadline = l.w.now + l.config.IdleTimeout
	return true
}

// answered follows the last byte of an answer. It returns false if nothing
// further is answered.
func (l *loop) answered(p *peer, o *output) bool {
	if o.file != nil {
		o.file.release()
		o.file = nil
	}
	switch {
	case !o.close:
		return true
	case !o.linger || unix.Shutdown(p.fd, unix.SHUT_WR) != nil:
		l.end(p)
	default:
		p.pending, p.readable = nil, true
		p.state, p.deadline = lingering, l.w.now+lingerTime
		l.discard(p)
	}
	return false
}

// write sends as much of an output as fits, or one turn of it.
func (l *loop) write(p *peer, o *output) (done bool, errno unix.Errno) {
	var more uintptr
	if o.n > 0 {
		more = unix.MSG_MORE
	}
	for len(o.bytes) > 0 {
		n, errno := epoll.Send(p.fd, o.bytes, more)
		switch errno {
		case 0:
			o.bytes = o.bytes[n:]
		case unix.EINTR:
		default:
			return false, unlessFull(errno)
		}
	}
	for turn := int64(turnBytes); o.n > 0; {
		if turn <= 0 {
			l.later(p)
			return false, 0
		}
		var n int
		if o.file != nil {
			n, errno = sendfile(p.fd, o.file.fd, &o.off, min(o.n, turn))
		} else {
			n, errno = epoll.Send(p.fd, o.rest[int64(len(o.rest))-o.n:], 0)
		}
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return false, unlessFull(errno)
		case n == 0:
			return false, unix.EIO // the file has become shorter
		}
		o.n -= int64(n)
		turn -= int64(n)
	}
	return true, 0
}

// unlessFull makes an error of everything but a full socket.
func unlessFull(errno unix.Errno) unix.Errno {
	if errno == unix.EAGAIN {
		return 0
	}
	return errno
}

// discard reads what nobody wants, so that closing does not reset the connection
// before its last answer has been read.
func (l *loop) discard(p *peer) {
	for {
		n, errno := epoll.Receive(p.fd, l.in)
		if errno == unix.EAGAIN {
			return
		}
		if p.drained += n; n <= 0 || p.drained > lingerBytes {
			l.end(p)
			return
		}
	}
}

// expire ends a connection whose time is over. A request that did not arrive in
// time is told so.
func (l *loop) expire(p *peer) {
	if p.state != reading || len(p.pending) == 0 {
		l.end(p)
		return
	}
	p.exchange.fail(&l.w, http.StatusRequestTimeout, &l.out)
	l.out.linger = false
	l.answer(p, nil)
}
