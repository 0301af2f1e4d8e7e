//go:build unix

package subject

import (
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A pipe holds pipeBytes where the system lets us ask for it (Linux), and
	// is looked at after a pause that doubles up to maxPause as long as less
	// than a busyBytes come in it. At the longest pause 20 MB/s fit.
	minPause  = time.Millisecond
	maxPause  = 50 * time.Millisecond
	busyBytes = 16 << 10
	pipeBytes = 1 << 20
	readBytes = 64 << 10
)

// A collector reads the output of a process. It asks the pipes from time to
// time: were it woken by them, as os.File and goroutines of os/exec are, a subject
// that writes a line per request would wake us per request, at the cost of
// the cores that generate the load.
type collector struct {
	streams []*stream
	ended   chan struct{}
	wg      sync.WaitGroup
}

// A stream is one pipe: the end that we read, without the runtime's poller, the
// end that the process gets, and where the contents go.
type stream struct {
	fd   int
	to   *tail
	peer *os.File
}

// collect connects the output of cmd, which has yet to start.
func collect(cmd *exec.Cmd, stdout, stderr *tail) (*collector, error) {
	out, err := newStream(stdout)
	if err != nil {
		return nil, err
	}
	errs, err := newStream(stderr)
	if err != nil {
		unix.Close(out.fd)
		out.peer.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out.peer, errs.peer
	c := &collector{streams: []*stream{out, errs}, ended: make(chan struct{})}
	c.wg.Go(c.read)
	return c, nil
}

func newStream(to *tail) (*stream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	widen(w)
	fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		w.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &stream{fd: fd, to: to, peer: w}, nil
}

// started gives up the ends that the process has, or will never have.
func (c *collector) started() {
	for _, s := range c.streams {
		s.peer.Close()
	}
}

// finish takes what is still in the pipes of an ended process. It does not
// wait for their end, since a daemon may hold them open.
func (c *collector) finish() {
	close(c.ended)
	c.wg.Wait()
	for _, s := range c.streams {
		unix.Close(s.fd)
	}
}

func (c *collector) read() {
	buf := make([]byte, readBytes)
	pause := minPause
	for {
		n := 0
		for _, s := range c.streams {
			n += s.read(buf)
		}
		switch {
		case n >= pipeBytes:
			pause = 0
		case n >= busyBytes:
			pause = minPause
		default:
			pause = min(max(2*pause, minPause), maxPause)
		}
		select {
		case <-c.ended:
			for _, s := range c.streams {
				s.read(buf)
			}
			return
		case <-time.After(pause):
		}
	}
}

// read takes what has arrived, at most about what a pipe holds, and returns how
// many bytes that was.
func (s *stream) read(buf []byte) int {
	total := 0
	for total < pipeBytes {
		n, err := unix.Read(s.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		s.to.Write(buf[:n])
		total += n
	}
	return total
}
