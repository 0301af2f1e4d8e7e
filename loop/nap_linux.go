package loop

import (
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

// Naps spare the open model the wake-up for each answer: if the kernel notes
// when answers arrive, the loop sleeps until the next arrivals begin and then
// reads what has come.
//
// They are for connections with one iteration at a time, whose answers come as a
// whole: of several the kernel would report only when the last came, and bytes
// that nobody reads would in the end hold up the sender. A Roamer has more to do
// than wait for an answer.
type naps struct {
	possible bool // stamps are asked for
	stamper  epoll.Stamper
	stamped  bool // the last read had a stamp
	read     bool // something was read in this turn
	pieces   bool // an answer has come in pieces
	waits    uint // waits so far
	// awake is until when there are no naps, because a connection could not
	// write all.
	awake time.Duration
	// behind is Unix time − the run's time at the last look at the sockets; 0:
	// not known yet.
	behind time.Duration
}

// longestNap bounds how late the end of a run or a lost connection is noticed;
// every probeEvery-th wait is not a nap, so that answers in pieces are found;
// stayAwake is how long a connection that cannot write keeps the loop from
// napping.
const (
	longestNap = 10 * time.Millisecond
	probeEvery = 16
	stayAwake  = 100 * time.Millisecond
)

// startNaps sees whether a run may nap, and has sockets stamped if so.
func (l *Loop) startNaps() error {
	l.naps.possible = l.open && l.config.Network == "tcp" && l.config.TLS == nil && !l.config.CloseEach &&
		len(l.links) == len(l.slots) && !l.roams && l.shortly > 0
	if !l.naps.possible {
		return nil
	}
	for i := range l.links {
		if k := &l.links[i]; k.state != closed {
			if err := epoll.Stamp(k.fd); err != nil {
				return k.wrap("setsockopt", err)
			}
		}
	}
	return epoll.Punctual(true)
}

func (l *Loop) endNaps() {
	if l.naps.possible {
		_ = epoll.Punctual(false) // it was possible to change it
	}
}

// nap sleeps until the next arrivals begin, if the wait for them can be a nap.
func (l *Loop) nap(begin time.Duration) bool {
	n := &l.naps
	n.waits++
	if !n.possible || !n.stamped || n.pieces || n.waits%probeEvery == 0 ||
		l.now < n.awake || begin-l.now > longestNap || begin >= l.deadline() {
		return false
	}
	epoll.Sleep(l.poller.zero + begin)
	return true
}

// fill reads into b from a connection, or drops up to n bytes, and keeps the time
// of their arrival.
func (l *Loop) fill(k *connection, b []byte, n int, flags uintptr) (int, unix.Errno) {
	read, at, errno := l.naps.stamper.Receive(k.fd, b, n, flags)
	if errno != 0 {
		return 0, errno
	}
	l.naps.stamped, l.naps.read = at > 0, read > 0
	if at > 0 {
		l.now, l.stamped = l.arrived(at), true
	}
	return read, 0
}

// sift looks at a connection whose turn is over.
func (n *naps) sift(k *connection) {
	n.pieces = n.pieces || n.read && k.inflight > 0
	n.read = false
}

// arrived turns a stamp, Unix time, into an offset from the start of the run. The
// clocks are compared once for each look at the sockets.
func (l *Loop) arrived(at time.Duration) time.Duration {
	now := time.Now()
	elapsed := l.shard.Since(now)
	if l.naps.behind == 0 {
		l.naps.behind = time.Duration(now.UnixNano()) - elapsed
	}
	return min(at-l.naps.behind, elapsed)
}
