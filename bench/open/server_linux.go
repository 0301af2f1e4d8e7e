package main

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"contend/bench/internal/bare"
	"contend/bench/internal/paired"
	"contend/internal/epoll"
)

// A server answers each request from one thread and keeps when it arrived.
type server struct {
	url     string
	poller  epoll.Poller
	stamper epoll.Stamper
	listens net.Listener
	end     sync.WaitGroup

	mu       sync.Mutex
	arrivals []time.Duration // Unix time
}

func serve() (*server, error) {
	s := &server{}
	if err := s.poller.Open(); err != nil {
		return nil, err
	}
	var err error
	if s.listens, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.url = fmt.Sprintf("http://%s/", s.listens.Addr())
	s.end.Go(s.accept)
	go s.answer() // to the end of the process
	return s, nil
}

func (s *server) stop() {
	s.listens.Close()
	s.end.Wait()
}

// accept hands the sockets over to the poller.
func (s *server) accept() {
	for {
		conn, err := s.listens.Accept()
		if err != nil {
			return
		}
		fd, err := bare.Socket(conn)
		if err != nil || epoll.Stamp(fd) != nil || s.poller.Watch(fd, int32(fd), 0, syscall.EPOLLIN|syscall.EPOLLRDHUP) != nil {
			syscall.Close(fd)
		}
	}
}

var (
	answered = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(paired.SmallBody), paired.SmallBody)
	endOfRequest = []byte("\r\n\r\n")
)

// answer answers the requests; each comes in one piece here.
func (s *server) answer() {
	runtime.LockOSThread()
	in := make([]byte, 64<<10)
	for {
		n, err := s.poller.Wait(epoll.Forever)
		if err != nil {
			return
		}
		for _, e := range s.poller.Events[:n] {
			read, at, errno := s.stamper.Receive(int(e.Fd), in, len(in), 0)
			switch {
			case errno == syscall.EAGAIN:
				continue
			case errno != 0 || read == 0:
				syscall.Close(int(e.Fd))
				continue
			}
			if at == 0 { // the kernel begins to stamp a little after it is asked to
				at = time.Duration(time.Now().UnixNano())
			}
			for range bytes.Count(in[:read], endOfRequest) {
				s.mu.Lock()
				s.arrivals = append(s.arrivals, at)
				s.mu.Unlock()
				epoll.Send(int(e.Fd), answered, 0)
			}
		}
	}
}

// forget begins a new block.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrivals = s.arrivals[:0]
}

// stamps returns the arrivals of the block.
func (s *server) stamps() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.arrivals))
}

// A late list holds how late requests came, in µs, in rising order.
type late []float64

// lateness compares arrivals with a constant schedule of a rate, laid so that one in
// a hundred is early.
func lateness(arrivals []time.Duration, rate int) late {
	list := make(late, len(arrivals))
	for k, at := range arrivals {
		list[k] = float64(at-arrivals[0])/1e3 - 1e6*float64(k)/float64(rate)
	}
	slices.Sort(list)
	zero := list.at(0.01)
	for i := range list {
		list[i] = max(0, list[i]-zero)
	}
	return list
}

// at returns a quantile.
func (l late) at(q float64) float64 { return l[min(len(l)-1, int(q*float64(len(l))))] }
