package subject

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// What is asked for and told about sockets (Linux, include/uapi/linux/inet_diag.h): the sizes of a request and of a
// response, each after its header, and the bit of the state of those that listen.
const (
	diagRequest, diagResponse = 56, 72
	diagListens               = 1 << 10
)

// listeners returns the sockets that listen on TCP in this network namespace: from the kernel (sock_diag(7)), which takes
// tens of microseconds, or where it does not answer from its tables, which take milliseconds.
func listeners() ([]socket, error) {
	var all []socket
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err == nil {
		defer unix.Close(fd)
		for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
			if err == nil {
				all, err = diagnosed(fd, family, all)
			}
		}
	}
	if err != nil {
		return readSockets(parseFirst)
	}
	return all, nil
}

// diagnosed adds the sockets of a family.
func diagnosed(fd int, family byte, all []socket) ([]socket, error) {
	request := make([]byte, unix.NLMSG_HDRLEN+diagRequest)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request[unix.NLMSG_HDRLEN], request[unix.NLMSG_HDRLEN+1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(request[unix.NLMSG_HDRLEN+4:], diagListens)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	for response := make([]byte, 32<<10); ; {
		n, _, err := unix.Recvfrom(fd, response, 0)
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(response[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == unix.NLMSG_DONE:
				return all, nil
			case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < diagResponse:
				return nil, unix.EPROTO
			}
			all = append(all, diagnosedSocket(m.Data))
		}
	}
}

// diagnosedSocket reads a response: after the family, as byte 0, the port and the address begin at 4 and 8, the user and the
// inode at 64 and 68.
func diagnosedSocket(response []byte) socket {
	ip := netip.AddrFrom16([16]byte(response[8:24])).Unmap()
	if response[0] == unix.AF_INET {
		ip = netip.AddrFrom4([4]byte(response[8:12]))
	}
	return socket{netip.AddrPortFrom(ip, binary.BigEndian.Uint16(response[4:])), int(binary.NativeEndian.Uint32(response[64:])), uint64(binary.NativeEndian.Uint32(response[68:]))}
}
