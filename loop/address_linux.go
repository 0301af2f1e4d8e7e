package loop

import (
	"context"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// An address is one that a name stands for.
type address struct {
	family int
	remote unix.Sockaddr
	local  unix.Sockaddr // nil: any
	name   net.Addr
}

// resolve finds the addresses of a valid Config.
func resolve(ctx context.Context, c *Config) ([]address, error) {
	if c.Network == "unix" {
		name := &net.UnixAddr{Name: c.Address, Net: "unix"}
		return []address{{unix.AF_UNIX, &unix.SockaddrUnix{Name: c.Address}, nil, name}}, nil
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
	a := address{family: unix.AF_INET6, remote: sockaddr(ip, port)}
	if ip.Is4() {
		a.family = unix.AF_INET
	}
	if local.IsValid() {
		a.local = sockaddr(local, 0)
	}
	a.name = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, uint16(port)))
	return a
}

func sockaddr(ip netip.Addr, port int) unix.Sockaddr {
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	sa := &unix.SockaddrInet6{Port: port, Addr: ip.As16()}
	if zone, err := net.InterfaceByName(ip.Zone()); err == nil {
		sa.ZoneId = uint32(zone.Index)
	}
	return sa
}

// connect begins to connect a socket. Whether that succeeds the first write
// tells.
func (a *address) connect(c *Config) (fd int, err error) {
	fd, err = unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, a.failed("socket", err)
	}
	if err := a.configure(fd, c); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if err := unix.Connect(fd, a.remote); err != nil && err != unix.EINPROGRESS {
		unix.Close(fd)
		return -1, a.failed("connect", err)
	}
	return fd, nil
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
