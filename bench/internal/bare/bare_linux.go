package bare

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"syscall"
	"time"

	"contend/internal/epoll"
)

// A loop sends one request again and again on each of its connections, from
// one thread, without a clock, a histogram, a timeout or a look at the answers
// beyond their length.
type loop struct {
	poller   epoll.Poller
	request  []byte
	size     int   // of an answer
	missing  []int // by descriptor: bytes of its answer to come
	buf      []byte
	answered int64
}

// Run asks host:port for / over conns kept HTTP/1.1 connections for the time d
// and returns how many answers came. All answers must be of one size.
func Run(addr string, conns int, d time.Duration) (requests int64, err error) {
	request := fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	size, err := answerSize(addr, request)
	if err != nil {
		return 0, fmt.Errorf("bare: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := &loop{request: request, size: size, buf: make([]byte, 64<<10)}
	if err := l.poller.Open(); err != nil {
		return 0, fmt.Errorf("bare: %w", err)
	}
	defer l.poller.Close()
	fds, err := l.connect(addr, conns)
	defer func() {
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}()
	if err == nil {
		err = l.run(fds, d)
	}
	if err != nil {
		return 0, fmt.Errorf("bare: %w", err)
	}
	return l.answered, nil
}

// answerSize asks once and counts.
func answerSize(addr string, request []byte) (int, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	var raw bytes.Buffer
	answer, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	return raw.Len(), nil
}

// connect opens the connections and returns their descriptors.
func (l *loop) connect(addr string, conns int) (fds []int, err error) {
	for range conns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return fds, err
		}
		fd, err := Socket(conn)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
		if err := l.poller.Watch(fd, int32(fd), 0, syscall.EPOLLIN); err != nil {
			return fds, err
		}
	}
	return fds, nil
}

// Socket takes the socket, which does not block, out of a TCP connection.
func Socket(conn net.Conn) (fd int, err error) {
	file, err := conn.(*net.TCPConn).File()
	conn.Close()
	if err != nil {
		return -1, err
	}
	defer file.Close()
	fd, err = syscall.Dup(int(file.Fd()))
	if err != nil {
		return -1, err
	}
	return fd, syscall.SetNonblock(fd, true)
}

func (l *loop) run(fds []int, d time.Duration) error {
	l.missing = make([]int, slices.Max(fds)+1)
	for _, fd := range fds {
		if err := l.ask(fd); err != nil {
			return err
		}
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		// A clock is looked at once for many answers.
		for range 16 {
			n, err := l.poller.Poll(10)
			if err != nil {
				return err
			}
			for _, e := range l.poller.Events[:n] {
				if err := l.read(int(e.Fd)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ask sends a request.
func (l *loop) ask(fd int) error {
	l.missing[fd] = l.size
	n, errno := epoll.Send(fd, l.request, 0)
	if errno != 0 {
		return errno
	}
	if n < len(l.request) {
		return io.ErrShortWrite
	}
	return nil
}

// read takes what came, up to a read that does not fill the buffer.
func (l *loop) read(fd int) error {
	for {
		n, errno := epoll.Receive(fd, l.buf)
		if errno == syscall.EAGAIN {
			return nil
		}
		if errno != 0 {
			return errno
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		if l.missing[fd] -= n; l.missing[fd] == 0 {
			l.answered++
			return l.ask(fd)
		}
		if l.missing[fd] < 0 {
			return errors.New("an answer is longer than the first")
		}
		if n < len(l.buf) {
			return nil
		}
	}
}
