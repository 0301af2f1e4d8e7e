package replicas

import (
	"fmt"
	"net"
	"os"
)

// Sockets listen on the same address, one for each replica. The zero value has
// none.
type Sockets struct {
	address string
	files   []*os.File
}

// Address is where they listen, with the port that was chosen for port 0; "" if
// there are none.
func (s *Sockets) Address() string { return s.address }

// File returns the socket of a replica, from 0; nil past the last. It remains
// that of s.
func (s *Sockets) File(i int) *os.File {
	if i >= len(s.files) {
		return nil
	}
	return s.files[i]
}

// Close leaves the sockets to the replicas. It may be called again.
func (s *Sockets) Close() {
	for _, file := range s.files {
		_ = file.Close() // fails only the second time
	}
}

// Inherited returns the listener of a file descriptor that a replica has inherited,
// nil for 0. The descriptor is closed.
func Inherited(fd int) (net.Listener, error) {
	if fd == 0 {
		return nil, nil
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("file descriptor %d is no listening socket: %w", fd, err)
	}
	return ln, nil
}
