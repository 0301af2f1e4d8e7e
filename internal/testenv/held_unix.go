//go:build unix

package testenv

import (
	"strconv"
	"syscall"
	"testing"
)

// HeldPort returns a port of 127.0.0.1 that is the test's until its end. Dialled, it
// refuses, and nobody gets it by chance; a server that is given the port can listen
// there, and end, as often as it likes: the socket that holds the port is bound and
// does not listen, which SO_REUSEADDR lets another share (socket(7); Go's listeners
// and most servers set it).
func HeldPort(t testing.TB) string {
	t.Helper()
	syscall.ForkLock.RLock()
	held, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(held)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(held) })
	if err := syscall.SetsockoptInt(held, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(held, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(held)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(name.(*syscall.SockaddrInet4).Port)
}
