//go:build unix

package http

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// A rawExchange is the state of exchangeRaw, which must not allocate.
type rawExchange struct {
	step         func(fd uintptr) bool // the method value doStep, bound once
	request, buf []byte
	sent         bool
	wrote, n     int
	err          error
}

func (r *rawExchange) init() { r.step = r.doStep }

// exchangeRaw does with two system calls what Write and Read do with three:
// Read would ask for the answer at once and have to wait. Here the wait for
// readability begins before the request is sent, so no answer can be missed.
//
// What was readable before that is not noticed until more arrives. Only a peer
// that has shut down its sending side and goes on reading can thereby turn the
// error Closed into Timeout, and only on a connection that carried an answer.
func (l *keptConn) exchangeRaw(request, buf []byte) (int, error) {
	r := &l.raws
	r.request, r.buf, r.sent, r.wrote, r.n, r.err = request, buf, false, 0, 0, nil
	if err := l.raw.Read(r.step); err != nil {
		return 0, err
	}
	if r.wrote < len(request) {
		return l.finish(request[r.wrote:], buf)
	}
	switch {
	case r.err != nil:
		return 0, os.NewSyscallError("read", r.err)
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// finish sends the rest of a request that did not fit into the socket.
func (l *keptConn) finish(rest, buf []byte) (int, error) {
	if err := l.raws.err; err != nil && !errors.Is(err, syscall.EAGAIN) {
		return l.readLast(buf, os.NewSyscallError("write", err))
	}
	return l.writeRead(rest, buf)
}

// doStep is called when the socket is ready. It returns false to wait until it
// is readable.
func (r *rawExchange) doStep(fd uintptr) bool {
	if !r.sent {
		r.sent = true
		r.wrote, r.err = retry(syscall.Write, fd, r.request)
		return r.wrote < len(r.request)
	}
	r.n, r.err = retry(syscall.Read, fd, r.buf)
	return r.err != syscall.EAGAIN
}

// readable reports whether a read would not have to wait, ignoring bytes that may pass.
func (l *keptConn) readable(passes func(in []byte) bool) bool {
	var some [64]byte
	readable := true
	err := l.raw.Read(func(fd uintptr) bool {
		n, err := retry(syscall.Read, fd, some[:])
		for n > 0 && passes(some[:n]) {
			n, err = retry(syscall.Read, fd, some[:])
		}
		readable = err != syscall.EAGAIN
		return true
	})
	return readable || err != nil
}

// retry repeats a system call that a signal interrupted. It never returns a
// negative count.
func retry(call func(int, []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		n, err := call(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
