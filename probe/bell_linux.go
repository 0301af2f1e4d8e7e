package probe

import (
	"errors"

	"golang.org/x/sys/unix"
)

// A bell wakes one thread that sleeps on it: an eventfd, which the runtime's
// poller does not know.
type bell struct{ fd int }

func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	return bell{fd}, err
}

func (b bell) ring() { unix.Write(b.fd, []byte{7: 1}) }

// sleep returns when the bell is rung, or has been since the last sleep.
func (b bell) sleep() error {
	var rings [8]byte
	for {
		if _, err := unix.Read(b.fd, rings[:]); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (b bell) close() { unix.Close(b.fd) }
