package static

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

func eventLoops() (ok bool, why string) { return true, "" }

// A loops is the engine of event loops. The first accepts for all.
type loops struct {
	*Server
	loops []*loop
	cut   atomic.Bool // the drain is over
}

// A loop serves its connections from one thread.
type loop struct {
	*loops
	poller   epoll.Poller
	w        writer
	out      output
	in       []byte
	peers    []*peer // by descriptor
	again    []*peer // that could go on, but have had their turn
	live     int
	swept    time.Duration
	ending   time.Duration // when idle connections are closed by the drain, or 0
	listener int           // of the first loop while it accepts, else -1
	turn     int           // whose is the next connection

	mu    sync.Mutex
	inbox []int // connections from the first loop
}

const (
	// readSize is more than the longest request.
	readSize = 2 * maxHead
	// turnBytes is what a connection may send before the others' turn comes.
	turnBytes = 2 << 20
	// sweepTime is the grain of timeouts.
	sweepTime = 100 * time.Millisecond
)

func newLoops(s *Server) (engine, error) {
	all := &loops{Server: s}
	for range s.config.Threads {
		l := &loop{loops: all, w: s.newWriter(), in: make([]byte, readSize), listener: -1}
		if err := l.poller.Open(); err != nil {
			all.close()
			return nil, err
		}
		all.loops = append(all.loops, l)
	}
	if err := all.loops[0].listen(); err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// listen watches the listener, whose descriptor package net keeps.
func (l *loop) listen() error {
	raw, err := l.Server.listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return fmt.Errorf("static: %w", err)
	}
	_, tcp := l.Server.listener.(*net.TCPListener)
	var failed error
	err = raw.Control(func(fd uintptr) {
		l.listener = int(fd)
		if tcp { // which the connections inherit
			failed = unix.SetsockoptInt(l.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		}
		failed = errors.Join(failed, l.watch(l.listener))
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("static: %w", err)
	}
	return nil
}

func (all *loops) close() {
	for _, l := range all.loops {
		l.poller.Close()
	}
}

func (all *loops) serve() error {
	errs := make([]error, len(all.loops))
	var wg sync.WaitGroup
	for i, l := range all.loops {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			errs[i] = l.run()
		})
	}
	wg.Wait()
	_ = all.Server.listener.Close()
	return errors.Join(errs...)
}

func (all *loops) drain(ctx context.Context) int {
	all.wake()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for all.open.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			all.cut.Store(true)
			n := int(all.open.Load())
			all.wake()
			return n
		}
	}
	return 0
}

func (all *loops) wake() {
	for _, l := range all.loops {
		l.poller.Wake()
	}
}

// run serves until the drain is over and no connection is left.
func (l *loop) run() error {
	for {
		atMost := sweepTime
		if len(l.again) > 0 {
			atMost = 0
		}
		n, err := l.poller.Wait(uintptr(atMost.Milliseconds()))
		if err != nil {
			l.closeAll()
			return err
		}
		l.w.read()
		for i := range n {
			l.event(&l.poller.Events[i])
		}
		for range len(l.again) {
			p := l.again[0]
			p.queued = false
			if l.again = l.again[1:]; l.peers[p.fd] == p {
				l.serve(p)
			}
		}
		if l.draining.Load() && l.ended() {
			return nil
		}
		if l.w.now-l.swept >= sweepTime {
			l.sweep()
		}
	}
}

func (l *loop) event(e *unix.EpollEvent) {
	fd := int(e.Fd)
	switch {
	case e.Fd == epoll.Woken:
		l.poller.Rest()
		l.adopt()
	case fd == l.listener:
		l.accept()
	case fd < len(l.peers) && l.peers[fd] != nil:
		p := l.peers[fd]
		p.readable = p.readable || e.Events&^unix.EPOLLOUT != 0
		p.ended = p.ended || e.Events&^(unix.EPOLLIN|unix.EPOLLOUT) != 0
		l.serve(p)
	}
}

// accept takes all connections that wait. If there are no descriptors left, the
// next sweep tries again.
func (l *loop) accept() {
	for l.listener >= 0 {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EINTR, unix.ECONNABORTED:
			continue
		case unix.EAGAIN:
			return
		default:
			l.log.Warn("cannot accept", "error", err)
			return
		}
		if l.open.Add(1) > int64(l.config.MaxConns) {
			epoll.Send(fd, []byte(busy), 0)
			unix.Close(fd)
			l.open.Add(-1)
			continue
		}
		to := l.loops.loops[l.turn]
		l.turn = (l.turn + 1) % len(l.loops.loops)
		if to == l || l.draining.Load() {
			l.add(fd)
			continue
		}
		to.mu.Lock()
		to.inbox = append(to.inbox, fd)
		to.mu.Unlock()
		to.poller.Wake()
	}
}

// adopt takes over the connections that the first loop accepted.
func (l *loop) adopt() {
	l.mu.Lock()
	fds := l.inbox
	l.inbox = nil
	l.mu.Unlock()
	for _, fd := range fds {
		l.add(fd)
	}
}

func (l *loop) watch(fd int) error {
	return l.poller.Watch(fd, int32(fd), 0, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP)
}

func (l *loop) add(fd int) {
	for fd >= len(l.peers) {
		l.peers = append(l.peers, nil)
	}
	p := &peer{fd: fd, exchange: exchange{site: l.site}, deadline: l.w.now + l.config.IdleTimeout}
	l.peers[fd] = p
	l.live++
	if err := l.watch(fd); err != nil {
		l.log.Warn("cannot watch a connection", "error", err)
		l.end(p)
	}
}

// end closes a connection.
func (l *loop) end(p *peer) {
	if p.out.file != nil {
		p.out.file.release()
	}
	unix.Close(p.fd)
	l.peers[p.fd] = nil
	l.live--
	l.open.Add(-1)
}

// sweep ends the connections whose time is over.
func (l *loop) sweep() {
	l.swept = l.w.now
	l.accept()
	for _, p := range l.peers {
		if p != nil && l.w.now >= p.deadline {
			l.expire(p)
		}
	}
}

// ended advances the drain and reports whether it is over.
func (l *loop) ended() bool {
	if l.ending == 0 {
		l.accept()
		if l.listener >= 0 {
			_ = l.Server.listener.Close()
			l.listener = -1
		}
		l.ending = l.w.now + drainLinger
	}
	if l.cut.Load() {
		l.closeAll()
	}
	l.adopt()
	if l.live == 0 && l.w.now >= l.ending {
		return true
	}
	for _, p := range l.peers {
		if p != nil && l.w.now >= l.ending && p.idle() {
			l.end(p)
		}
	}
	return l.live == 0 && l.w.now >= l.ending
}

func (l *loop) closeAll() {
	l.adopt()
	for _, p := range l.peers {
		if p != nil {
			l.end(p)
		}
	}
}
