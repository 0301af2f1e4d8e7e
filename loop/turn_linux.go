package loop

import (
	"io"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

// readsPerTurn bounds how long one connection may keep the others waiting.
const readsPerTurn = 16

// turn reads what came on a connection, records what ended by it and starts
// what can start again. ended says that the peer's end or an error is still to
// be read.
func (l *Loop) turn(k *connection, ended bool) {
	l.out = l.out[:0]
	err := l.receive(k, ended)
	l.naps.sift(k)
	l.record()
	if err == nil && len(l.out) > 0 && len(k.pending) > maxPending {
		err = errDeaf
	}
	if err != nil {
		l.fail(k, err)
	} else {
		l.retire(k)
	}
	l.proceed(k)
}

// record tells the shard what has ended.
func (l *Loop) record() {
	for i := range l.done {
		d := &l.done[i]
		l.shard.Finish(&d.it, d.end, &d.out, d.err)
	}
}

// receive reads until nothing is left. A read that did not fill its buffer
// says so without another one: what comes later is another event.
func (l *Loop) receive(k *connection, ended bool) error {
	for range readsPerTurn {
		full, err := l.fetch(k)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return err
		case l.retires(k) || !full && !ended:
			return nil
		}
	}
	l.crowd(k)
	return nil
}

// crowd gives a connection another turn after the others.
func (l *Loop) crowd(k *connection) {
	if !k.crowded {
		k.crowded = true
		l.crowded = append(l.crowded, k)
	}
}

// fetch reads once. full says that there may be more.
func (l *Loop) fetch(k *connection) (full bool, err error) {
	l.stamped = false
	if k.sealed != nil {
		return l.fetchSealed(k)
	}
	if k.skipper != nil {
		if want := k.skipper.Skip(); want > 0 {
			return l.skip(k, want)
		}
	}
	n, errno := l.read(k)
	if errno != 0 {
		return false, k.unread(errno)
	}
	l.out, err = k.conversation.Receive(l.out, l.in[:n], k)
	if n == 0 && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return n == len(l.in), err
}

// read reads into l.in.
func (l *Loop) read(k *connection) (int, unix.Errno) {
	if l.naps.possible {
		return l.fill(k, l.in, len(l.in), 0)
	}
	return epoll.Receive(k.fd, l.in)
}

// discard drops up to n bytes of a TCP connection without copying them: tcp(7)
// on MSG_TRUNC.
func (l *Loop) discard(k *connection, n int64) (int64, unix.Errno) {
	if l.naps.possible {
		dropped, errno := l.fill(k, nil, int(n), unix.MSG_TRUNC)
		return int64(dropped), errno
	}
	dropped, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(k.fd), 0,
		uintptr(n), unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int64(dropped), 0
}

// maxSkip is the most that one system call is asked to drop.
const maxSkip = 1 << 30

// skip drops bytes unseen. If that ends all that is in flight, nothing more is
// expected.
func (l *Loop) skip(k *connection, want int64) (full bool, err error) {
	want = min(want, maxSkip)
	n, errno := l.discard(k, want)
	switch {
	case errno != 0:
		return false, k.unread(errno)
	case n > 0:
		k.skipper.Skipped(n, k)
		return n == want && k.inflight > 0, nil
	}
	l.out, err = k.conversation.Receive(l.out, nil, k)
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return false, err
}

// unread makes the error of a failed read; EAGAIN stays itself.
func (k *connection) unread(errno unix.Errno) error {
	if errno == unix.EAGAIN {
		return errno
	}
	return k.wrap("read", errno)
}

// retires reports whether a connection is to be closed now.
func (l *Loop) retires(k *connection) bool {
	return k.inflight == 0 && !k.carries && (k.draining || l.config.CloseEach && !k.slots[0].away)
}

func (l *Loop) retire(k *connection) {
	if l.retires(k) {
		k.close()
	}
}

// proceed starts the next iterations of the VUs that became free by a turn,
// all with one write. Those of a Roamer, which may end at once, wait for another
// look at the sockets.
func (l *Loop) proceed(k *connection) {
	together := k.state == open
	if len(l.done) > 0 && !l.open {
		l.now = l.shard.Elapsed()
	}
	for i := range l.done {
		s := l.done[i].slot
		switch {
		case l.open:
			l.queue.push(s)
		case !l.another(s, l.done[i].end) || k.park(s):
		case s.it.Due > l.now || k.roamer != nil:
			l.queue.push(s)
		case !together:
			l.start(s)
		case l.begin(s, l.now):
			l.out = k.conversation.Start(l.out, s.index)
		}
	}
	l.done = l.done[:0]
	if !together || len(l.out) == 0 {
		return
	}
	if err := k.write(l.out); err != nil {
		l.fail(k, err)
	}
}
