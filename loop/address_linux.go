package loop

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// An address is one that a name resolves to.
type address struct {
	family int
	remote []byte        // a struct sockaddr
	local  unix.Sockaddr // nil: any
	name   net.Addr
	// mirror says that a connection to it may turn out to be one with itself.
	mirror bool
}

// resolve finds the addresses of a valid Config.
func resolve(ctx context.Context, c *Config) ([]address, error) {
	if c.Network == "unix" {
		remote, err := unixSockaddr(c.Address)
		name := &net.UnixAddr{Name: c.Address, Net: "unix"}
		return []address{{family: unix.AF_UNIX, remote: remote, name: name}}, err
	}
	host, service, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	addresses := make([]address, 0, len(ips))
	for _, ip := range ips {
		ip = ip.Unmap()
		if c.Local.IsValid() && c.Local.Unmap().Is4() != ip.Is4() {
			continue
		}
		addresses = append(addresses, newAddress(ip, port, c.Local.Unmap()))
	}
	if len(addresses) == 0 {
		return nil, &net.AddrError{Err: "no address of the family of " + c.Local.String(), Addr: host}
	}
	return addresses, nil
}

func newAddress(ip netip.Addr, port int, local netip.Addr) address {
	a := address{family: unix.AF_INET6, remote: sockaddr(ip, port), mirror: ip.IsLoopback() && isEphemeral(port)}
	if ip.Is4() {
		a.family = unix.AF_INET
	}
	switch {
	case local.Is4():
		a.local = &unix.SockaddrInet4{Addr: local.As4()}
	case local.Is6():
		a.local = &unix.SockaddrInet6{Addr: local.As16(), ZoneId: zone(local)}
	}
	a.name = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, uint16(port)))
	return a
}

// sockaddr makes a struct sockaddr_in, ip(7), or sockaddr_in6, ipv6(7): the
// family in the machine's byte order, the port in the network's.
func sockaddr(ip netip.Addr, port int) []byte {
	b := make([]byte, 0, unix.SizeofSockaddrInet6)
	if ip.Is4() {
		b = binary.NativeEndian.AppendUint16(b, unix.AF_INET)
		b = binary.BigEndian.AppendUint16(b, uint16(port))
		b = append(b, ip.AsSlice()...)
		return b[:unix.SizeofSockaddrInet4]
	}
	b = binary.NativeEndian.AppendUint16(b, unix.AF_INET6)
	b = binary.BigEndian.AppendUint16(b, uint16(port))
	b = append(b, 0, 0, 0, 0) // flow information
	b = append(b, ip.AsSlice()...)
	return binary.NativeEndian.AppendUint32(b, zone(ip))
}

// zone returns the index of the interface of a link-local address, or 0.
func zone(ip netip.Addr) uint32 {
	if i, err := net.InterfaceByName(ip.Zone()); err == nil {
		return uint32(i.Index)
	}
	return 0
}

// unixSockaddr makes a struct sockaddr_un, unix(7). A name that begins with @
// is in the abstract name space.
func unixSockaddr(path string) ([]byte, error) {
	const longest = unix.SizeofSockaddrUnix - 2 - 1 // without the family and the final 0
	if len(path) > longest {
		return nil, &net.AddrError{Err: "path is too long for a unix socket", Addr: path}
	}
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	b = append(b, path...)
	if path[0] == '@' {
		b[2] = 0
		return b, nil
	}
	return append(b, 0), nil
}

// connect begins to connect a socket. The first write shows whether that
// succeeded.
func (a *address) connect(c *Config) (fd int, err error) {
	fd, err = unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, a.failed("socket", err)
	}
	if err := a.configure(fd, c); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if errno := connect(fd, a.remote); errno != 0 && errno != unix.EINPROGRESS {
		unix.Close(fd)
		return -1, a.failed("connect", errno)
	}
	if a.mirror && a.isOwn(fd) {
		unix.Close(fd)
		return -1, a.failed("connect", unix.ECONNREFUSED)
	}
	return fd, nil
}

// isEphemeral reports whether a port may be given to a socket that does not ask
// for one: ip(7), ip_local_port_range.
func isEphemeral(port int) bool {
	first, last := 32768, 60999
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &first, &last)
	}
	return first <= port && port <= last
}

// isOwn reports whether a socket was given the very port that it connects to.
// Where nobody listens such a connection opens with itself, since TCP lets both
// sides begin (RFC 9293, section 3.5).
func (a *address) isOwn(fd int) bool {
	local, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	remote := a.name.(*net.TCPAddr)
	switch own := local.(type) {
	case *unix.SockaddrInet4:
		return own.Port == remote.Port && remote.IP.Equal(own.Addr[:])
	case *unix.SockaddrInet6:
		return own.Port == remote.Port && remote.IP.Equal(own.Addr[:])
	}
	return false
}

func (a *address) configure(fd int, c *Config) error {
	for _, option := range []struct{ name, size int }{
		{unix.SO_SNDBUF, c.SendBuffer}, {unix.SO_RCVBUF, c.ReceiveBuffer},
	} {
		if option.size == 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option.name, option.size); err != nil {
			return a.failed("setsockopt", err)
		}
	}
	if a.family == unix.AF_UNIX {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return a.failed("setsockopt", err)
	}
	if a.local == nil {
		return nil
	}
	// The port is chosen on connecting: it need differ only for the same peer.
	unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err := unix.Bind(fd, a.local); err != nil {
		return a.failed("bind", err)
	}
	return nil
}

// failed makes the error that package net would return.
func (a *address) failed(call string, err error) error {
	return &net.OpError{Op: "dial", Net: a.name.Network(), Addr: a.name, Err: os.NewSyscallError(call, err)}
}
