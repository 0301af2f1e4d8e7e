// Package rebind gives a program with a hard-coded port its own loopback address:
// what it and its descendants bind on the loopback, or on all addresses, is bound
// there instead, so two programs with the same port can run at the same time. It
// changes nothing else.
//
// The kernel notifies us of each bind(2) of theirs (seccomp_unotify(2)). We bind a
// duplicate of their socket and return the result, so their memory is never written and
// nothing can change between the check and the bind. A connect(2), if we are asked about
// them, goes on as it is once we know where to. This needs no privilege, but a
// program under it also gains none (no_new_privs): sudo and ping do not work in it.
// Linux 5.9 and later, x86-64 and arm64.
//
// Rejected: a network namespace each, which cuts them off from the machine's databases;
// LD_PRELOAD, which static programs and those in Go ignore.
package rebind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
)

// The families of addresses, as in Linux' include/linux/socket.h.
const (
	inet  = 2
	inet6 = 10
)

// moved returns the address, in the form of bind(2), that replaces another: with the
// same port at to, an IPv4 address of the loopback. false: it stays as it is, since it
// is not a fixed port on the loopback or on all addresses. only6 is set for sockets
// that cannot have an IPv4 address; these get a free port of their own where they are.
func moved(sockaddr []byte, to netip.Addr, only6 bool) ([]byte, bool) {
	if len(sockaddr) < 8 || binary.BigEndian.Uint16(sockaddr[2:]) == 0 {
		return nil, false
	}
	switch binary.NativeEndian.Uint16(sockaddr) {
	case inet:
		if at := netip.AddrFrom4([4]byte(sockaddr[4:8])); !at.IsLoopback() && !at.IsUnspecified() {
			return nil, false
		}
		copy(sockaddr[4:], to.AsSlice())
		return sockaddr, true
	case inet6:
		if len(sockaddr) < 24 {
			return nil, false
		}
		at := netip.AddrFrom16([16]byte(sockaddr[8:24]))
		if plain := at.Unmap(); !plain.IsLoopback() && !plain.IsUnspecified() {
			return nil, false
		}
		if only6 {
			binary.BigEndian.PutUint16(sockaddr[2:], 0)
			return sockaddr, true
		}
		mapped := netip.AddrFrom16(to.As16()).As16()
		copy(sockaddr[8:], mapped[:])
		return sockaddr, true
	}
	return nil, false
}

// endOf reads an address in the form of bind(2); false: it is of another family.
func endOf(sockaddr []byte) (netip.AddrPort, bool) {
	if len(sockaddr) < 8 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(sockaddr[2:])
	switch family := binary.NativeEndian.Uint16(sockaddr); {
	case family == inet:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(sockaddr[4:8])), port), true
	case family == inet6 && len(sockaddr) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(sockaddr[8:24])).Unmap(), port), true
	}
	return netip.AddrPort{}, false
}

// Bind listens at an address for a moment and writes where that came to be, for [Try].
func Bind(to io.Writer, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(to, listener.Addr())
	return errors.Join(err, listener.Close())
}
