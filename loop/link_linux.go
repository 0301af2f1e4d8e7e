package loop

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

type state uint8

const (
	closed state = iota
	connecting
	open
)

// A connection is closed and opened any number of times; it has a socket and
// the conversation on it.
type connection struct {
	loop         *Loop
	conversation Conversation
	skipper      Skipper   // nil: it cannot skip
	canceler     Canceler  // nil: it cannot cancel
	namer        Namer     // nil: its requests have no names
	repeater     Repeater  // nil: it cannot repeat
	secured      Secured   // nil: it takes any connection
	roamer       Roamer    // nil: its iterations do not leave it
	witness      Witness   // nil: it asks for nothing
	lane         Lane      // nil: it carries nothing by itself
	impatient    Impatient // nil: it waits without end
	slots        []*slot
	inflight     int

	carries bool          // something as a lane
	others  []*connection // lanes 1 and up of a Fan

	fd         int
	id         int32
	generation int32 // of the socket: events of an earlier one may still come
	state      state
	draining   bool
	answered   bool   // has carried an answer
	crowded    bool   // is in Loop.crowded
	watchesOut bool   // for room to write
	pending    []byte // could not be written yet
	parked     []*slot

	handshake *handshake // that is going on
	sealed    *sealed    // nil: not by TLS

	address int   // the index, modulo their number, of the one in use
	tried   int   // how many this time
	failure error // of the first one tried
}

// maxPending bounds what is kept for a peer that sends without reading.
const maxPending = 4 << 20

var errDeaf = errors.New("the peer demands answers and does not read them")

// dial begins to connect, at the address that was in use last.
func (k *connection) dial() error {
	if k.loop.lost != nil {
		return k.loop.lost
	}
	if k.loop.config.TLS != nil {
		k.shake(never)
		return nil
	}
	k.tried, k.failure = 0, nil
	return k.dialNext()
}

// begin opens a connection for what start appends.
func (k *connection) begin(start func(out []byte, slot int) []byte, slot int) error {
	k.pending = k.conversation.Open(k.pending[:0])
	opening := len(k.pending)
	k.pending = start(k.pending, slot)
	if k.roamer != nil && len(k.pending) == opening {
		k.pending = k.pending[:0]
		return nil
	}
	if err := k.dial(); err != nil {
		return err
	}
	return k.greet()
}

// dialNext tries addresses until one does not fail at once. Like package net it
// returns the first failure when all have failed.
func (k *connection) dialNext() error {
	l := k.loop
	for ; k.tried < len(l.addresses); k.address++ {
		k.tried++
		fd, err := l.addresses[k.address%len(l.addresses)].connect(&l.config)
		if err == nil {
			k.fd, k.state = fd, connecting
			k.generation++
			return nil
		}
		if k.failure == nil {
			k.failure = err
		}
	}
	return k.failure
}

// dialAgain goes on with the next address after this one did not answer.
func (k *connection) dialAgain(errno unix.Errno) error {
	if k.failure == nil {
		addresses := k.loop.addresses
		k.failure = addresses[k.address%len(addresses)].failed("connect", errno)
	}
	shut(k.fd)
	k.state = closed
	k.address++
	return k.dialNext()
}

// greet writes what is pending to a connection that was just dialled. On
// loopback it is open by now; otherwise an event will say so.
func (k *connection) greet() error {
	if k.handshake != nil {
		return nil
	}
	connected := k.loop.shard.Elapsed()
	for len(k.pending) > 0 {
		n, errno := epoll.Send(k.fd, k.pending, 0)
		if errno == unix.EAGAIN {
			break
		}
		if errno == 0 {
			k.opened(connected)
			k.sent(n)
			break
		}
		if err := k.dialAgain(errno); err != nil {
			return err
		}
		connected = k.loop.shard.Elapsed()
	}
	return k.register()
}

// register has the poller watch a socket. Room to write is watched only where
// it is waited for, which spares an event.
func (k *connection) register() error {
	events := uint32(unix.EPOLLIN | unix.EPOLLRDHUP)
	k.watchesOut = k.state == connecting || len(k.pending) > 0
	if k.watchesOut {
		events |= unix.EPOLLOUT
	}
	if k.loop.naps.possible {
		if err := epoll.Stamp(k.fd); err != nil {
			return k.wrap("setsockopt", err)
		}
	}
	return k.wrap("epoll_ctl", k.loop.poller.Watch(k.fd, k.id, k.generation, events))
}

// opened says when the connection was there.
func (k *connection) opened(at time.Duration) {
	k.state = open
	for _, s := range k.slots {
		if s.busy {
			s.sent, s.dialled = at, true
		}
	}
	if k.witness != nil {
		k.witness.Opened(k.to())
	}
}

// sent forgets the first n of the bytes that are pending, which are written.
func (k *connection) sent(n int) {
	if k.pending = k.pending[:copy(k.pending, k.pending[n:])]; len(k.pending) == 0 {
		k.written()
	}
}

// written says that nothing is to be written any more.
func (k *connection) written() {
	if k.witness != nil {
		k.witness.Written()
	}
}

// connected handles the first event of a connection that was dialled.
func (k *connection) connected() error {
	at := k.loop.shard.Elapsed()
	value, err := unix.GetsockoptInt(k.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return k.wrap("getsockopt", err)
	}
	if value != 0 {
		if err := k.dialAgain(unix.Errno(value)); err != nil {
			return err
		}
		return k.greet()
	}
	k.opened(at)
	return k.flush()
}

// dialEarly begins to connect before there is a run. A failure is found again by
// openEarly.
func (k *connection) dialEarly(deadline time.Time) {
	if k.loop.config.TLS != nil {
		k.shake(time.Until(deadline))
	} else {
		_ = k.dial()
	}
}

// openEarly waits until a connection that was dialled is open.
func (k *connection) openEarly(deadline time.Time) bool {
	if k.state != connecting {
		return false
	}
	if k.handshake != nil {
		k.pending = k.conversation.Open(k.pending[:0])
		<-k.handshake.done
		return k.take(k.handshake, 0) == nil
	}
	fds := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(max(0, time.Until(deadline).Milliseconds())))
	if err == unix.EINTR {
		return k.openEarly(deadline)
	}
	if n == 0 || err != nil {
		return false
	}
	value, err := unix.GetsockoptInt(k.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return false
	}
	if value != 0 {
		return k.dialAgain(unix.Errno(value)) == nil && k.openEarly(deadline)
	}
	k.state = open
	k.pending = k.conversation.Open(k.pending[:0])
	return k.flush() == nil && k.register() == nil
}

// write sends b, as soon as the connection is open.
func (k *connection) write(b []byte) error {
	if k.state == connecting {
		k.pending = append(k.pending, b...)
		return nil
	}
	b, err := k.seal(b)
	if err != nil || len(b) == 0 {
		return err
	}
	return k.transmit(b)
}

// transmit sends b, or as much of it as there is room for and the rest later.
func (k *connection) transmit(b []byte) error {
	if len(k.pending) > 0 {
		k.pending = append(k.pending, b...)
		return nil
	}
	n, errno := epoll.Send(k.fd, b, 0)
	if n == len(b) {
		k.written()
		return nil
	}
	if errno != 0 && errno != unix.EAGAIN {
		return k.wrap("write", errno)
	}
	k.pending = append(k.pending, b[n:]...)
	if k.watchesOut {
		return nil
	}
	k.watchesOut = true
	err := k.loop.poller.Rewatch(k.fd, k.id, k.generation, unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLOUT)
	return k.wrap("epoll_ctl", err)
}

// flush writes what is pending.
func (k *connection) flush() error {
	for len(k.pending) > 0 {
		n, errno := epoll.Send(k.fd, k.pending, 0)
		if errno == unix.EAGAIN {
			return nil
		}
		if errno != 0 {
			return k.wrap("write", errno)
		}
		k.sent(n)
	}
	return nil
}

// close closes the socket. Slots that waited for that are free now.
func (k *connection) close() {
	if k.state == closed {
		return
	}
	if k.handshake != nil {
		k.handshake.cancel()
		k.handshake = nil
		k.loop.shaking--
	}
	if k.sealed != nil {
		k.unseat()
	}
	shut(k.fd)
	k.generation++
	k.state, k.draining, k.answered = closed, false, false
	if k.pending = k.pending[:0]; cap(k.pending) > readSize {
		k.pending = nil
	}
	for _, s := range k.parked {
		k.loop.queue.push(s)
	}
	k.parked = k.parked[:0]
}

// park keeps a VU whose connection takes no iterations any more, until it is
// closed. It returns false if there is no need to wait.
func (k *connection) park(s *slot) bool {
	if k.draining {
		k.parked = append(k.parked, s)
	}
	return k.draining
}

// to is the address in use.
func (k *connection) to() net.Addr {
	addresses := k.loop.addresses
	return addresses[k.address%len(addresses)].name
}

// wrap makes the error that package net would return; nil stays nil.
func (k *connection) wrap(call string, err error) error {
	if err == nil || err == unix.Errno(0) {
		return nil
	}
	name := k.to()
	return &net.OpError{Op: call, Net: name.Network(), Addr: name, Err: os.NewSyscallError(call, err)}
}
