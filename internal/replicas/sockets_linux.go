package replicas

import (
	"context"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listen opens n sockets for an address, none for "". The kernel spreads new
// connections over them (SO_REUSEPORT, socket(7)). The protocol is for the text of an
// error. The result is never nil.
func Listen(protocol, address string, n int) (*Sockets, error) {
	s := &Sockets{}
	if address == "" {
		return s, nil
	}
	if err := s.open(address, n); err != nil {
		s.Close()
		return &Sockets{}, fmt.Errorf("cannot listen for %s on %q: %w", protocol, address, err)
	}
	return s, nil
}

func (s *Sockets) open(address string, n int) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	// Sockets of one user share a port without asking: the second of two commands
	// that are given the same address by mistake has to fail, as it does on other
	// systems.
	if port != "0" {
		alone, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		_ = alone.Close() // nothing else can be wrong with it
	}
	config := net.ListenConfig{Control: reusePort}
	for range n {
		ln, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		s.address = ln.Addr().String()
		if _, port, err = net.SplitHostPort(s.address); err != nil {
			return err
		}
		file, err := ln.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		s.files = append(s.files, file)
		_ = ln.Close() // the file is a duplicate
	}
	return nil
}

func reusePort(_, _ string, c syscall.RawConn) error {
	var err error
	if control := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}); control != nil {
		return control
	}
	return err
}
