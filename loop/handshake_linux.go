package loop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A handshake opens a connection of TLS in a goroutine of its own, since it
// waits, and may take a millisecond of CPU time.
type handshake struct {
	link    *connection
	address int // the index of the one in use
	cancel  context.CancelFunc
	done    chan struct{}
	// The outcome, when done is closed.
	fd     int
	sealed *sealed
	err    error
}

// shake begins a handshake. The end of its iterations cuts it off, and so does
// the limit.
func (k *connection) shake(limit time.Duration) {
	l := k.loop
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h := &handshake{link: k, address: k.address, cancel: cancel, done: make(chan struct{}), fd: -1}
	k.handshake, k.fd, k.state = h, -1, connecting
	l.shaking++
	l.do(h, func() {
		defer cancel()
		h.run(ctx, l)
		close(h.done)
	})
}

func (h *handshake) run(ctx context.Context, l *Loop) {
	conn, err := h.dial(ctx, l)
	if err != nil {
		h.err = err
		return
	}
	defer conn.Close()
	h.sealed = &sealed{wire: memoryConn{Conn: conn, out: &l.sealed}}
	h.sealed.Conn = tls.Client(&h.sealed.wire, l.config.TLS)
	if err := h.sealed.HandshakeContext(ctx); err != nil {
		h.err = HandshakeError(err)
		return
	}
	h.sealed.wire.detached = true
	h.fd, h.err = detach(conn)
}

// dial tries the addresses in turn. Like package net it returns the first
// failure when all have failed.
func (h *handshake) dial(ctx context.Context, l *Loop) (net.Conn, error) {
	var failure error
	for range l.addresses {
		conn, err := l.addresses[h.address%len(l.addresses)].dial(ctx, &l.config)
		if err == nil {
			return conn, nil
		}
		if failure == nil {
			failure = err
		}
		h.address++
	}
	return nil, failure
}

// dial opens a connection for a goroutine.
func (a *address) dial(ctx context.Context, c *Config) (net.Conn, error) {
	d := net.Dialer{
		KeepAlive: -1, // the iteration's timeout finds a dead peer
		Control: func(_, _ string, raw syscall.RawConn) error {
			var err error
			return errors.Join(raw.Control(func(fd uintptr) { err = a.configure(int(fd), c) }), err)
		},
	}
	return d.DialContext(ctx, c.Network, a.name.String())
}

// detach returns the socket of a connection, which can then be closed.
func detach(conn net.Conn) (fd int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	controlErr := raw.Control(func(socket uintptr) {
		fd, err = unix.FcntlInt(socket, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err := errors.Join(controlErr, err); err != nil {
		return -1, fmt.Errorf("dup: %w", err)
	}
	return fd, nil
}

// ended takes over the connection.
func (h *handshake) ended() {
	k := h.link
	switch {
	case k.handshake == h:
		if err := k.take(h, k.loop.shard.Elapsed()); err != nil {
			k.loop.fail(k, err)
		}
	case h.fd >= 0: // it was given up in between
		shut(h.fd)
	}
}

// take takes over a connection, or says why the handshake failed. It sends what
// is waiting to be sent; what came with the handshake is read at the next turn.
func (k *connection) take(h *handshake, at time.Duration) error {
	l := k.loop
	l.shaking--
	k.handshake, k.address = nil, h.address
	if h.err != nil {
		return h.err
	}
	k.fd, k.sealed = h.fd, h.sealed
	h.fd = -1
	k.generation++
	if k.secured != nil {
		if err := k.secured.Secured(k.sealed.ConnectionState()); err != nil {
			return err
		}
	}
	k.opened(at)
	out, err := k.seal(k.pending)
	if err != nil {
		return err
	}
	k.pending = append(k.pending[:0], out...)
	if err := k.flush(); err != nil {
		return err
	}
	l.crowd(k)
	return k.register()
}
