package subject

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

func listening(ctx context.Context, addr string) (*Foreign, error) {
	addresses, err := ownAddresses(ctx, addr)
	if err != nil {
		return nil, err
	}
	for _, read := range readings {
		all, err := read()
		if err != nil {
			return nil, err
		}
		for _, address := range addresses {
			if found := reached(all, address); found != nil {
				return foreign(found)
			}
		}
	}
	return nil, errors.New("nobody listens there")
}

// ownAddresses resolves addr, and returns an error if it is not of this machine.
func ownAddresses(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	ours, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for _, ip := range ips {
		switch ip = ip.Unmap().WithZone(""); ip { // who dials any address reaches this machine
		case netip.IPv4Unspecified():
			ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		case netip.IPv6Unspecified():
			ip = netip.IPv6Loopback()
		}
		isOurs := func(a net.Addr) bool {
			prefix, err := netip.ParsePrefix(a.String())
			return err == nil && prefix.Addr().Unmap().WithZone("") == ip
		}
		if ip.IsLoopback() || slices.ContainsFunc(ours, isOurs) {
			found = append(found, netip.AddrPortFrom(ip, uint16(port)))
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s is no address of this machine", host)
	}
	return found, nil
}

// A socket is one that listens.
type socket struct {
	local netip.AddrPort
	owner int // user
	inode uint64
}

// name is that of the files of processes that have it open.
func (s socket) name() string { return fmt.Sprintf("socket:[%d]", s.inode) }

// readSockets returns the sockets of TCP in this network namespace that are chosen from its tables.
func readSockets(choose func(table io.Reader) ([]socket, error)) ([]socket, error) {
	var all []socket
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		found, err := choose(table)
		table.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// The columns of a table of sockets, and states of these (Linux, networking/proc_net_tcp.rst).
const (
	localAddress, remoteAddress = 1, 2
	connected, connecting       = "01", "02"
	listens                     = "0A"
)

// parseSockets reads those that listen.
func parseSockets(table io.Reader) ([]socket, error) {
	return parseEnds(table, localAddress, listens, false)
}

// parseFirst reads those that listen before the first that does not. On Linux these are
// all, and the others, which a load test leaves by the ten thousand, cost far more to
// list. Other kernels with this table have no such order.
func parseFirst(table io.Reader) ([]socket, error) {
	return parseEnds(table, localAddress, listens, true)
}

// parseEnds reads a table of sockets, of those in a state with one of their addresses, all or only those before the first
// in another state: a heading, then a line for each, with the state as field 3, the user as 7 and the inode as 9.
func parseEnds(table io.Reader, end int, state string, first bool) ([]socket, error) {
	var all []socket
	lines := bufio.NewScanner(table)
	for lines.Scan(); lines.Scan(); {
		line := lines.Text()
		fields := strings.Fields(line)
		if len(fields) < 10 {
			return nil, fmt.Errorf("line %q has fewer than 10 fields", line)
		}
		if fields[3] != state {
			if first {
				break
			}
			continue
		}
		local, err1 := parseLocal(fields[end])
		owner, err2 := strconv.Atoi(fields[7])
		inode, err3 := strconv.ParseUint(fields[9], 10, 64)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		all = append(all, socket{local, owner, inode})
	}
	return all, lines.Err()
}

// parseLocal reads 0100007F:1F90 as 127.0.0.1:8080: the address in words of 32 bits,
// each as the machine has it in memory.
func parseLocal(text string) (netip.AddrPort, error) {
	digits, portDigits, _ := strings.Cut(text, ":")
	address, err := hex.DecodeString(digits)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for word := address; len(word) >= 4; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(address)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("address of %d bytes", len(address))
	}
	port, err := strconv.ParseUint(portDigits, 16, 16)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), err
}

// reached returns the sockets that the kernel chooses between for a connection:
// those of the port with the address, else those without an address of its family,
// else those of IPv6 that also serve IPv4.
func reached(all []socket, address netip.AddrPort) (found []socket) {
	best := 1
	for _, s := range all {
		nearness := 0
		switch {
		case s.local.Port() != address.Port():
		case s.local.Addr() == address.Addr():
			nearness = 3
		case s.local.Addr().IsUnspecified() && s.local.Addr().Is4() == address.Addr().Is4():
			nearness = 2
		case s.local.Addr() == netip.IPv6Unspecified():
			nearness = 1
		}
		if nearness > best {
			best, found = nearness, nil
		}
		if nearness == best {
			found = append(found, s)
		}
	}
	return found
}

// readings are how those that listen are looked for one after another while none is found: the kernel can miss one while
// others come and go.
var readings = []func() ([]socket, error){listeners, listeners, func() ([]socket, error) { return readSockets(parseSockets) }}

// heard reports whether anybody listens at an address, also if that is unknown.
func heard(at netip.AddrPort) bool {
	for _, read := range readings {
		if all, err := read(); err != nil || len(reached(all, at)) > 0 {
			return true
		}
	}
	return false
}

// listens returns where processes of the tree listen, and whether a connection to
// address reaches one of them. Where none is found it looks again, if that is to be known surely.
func (s *Subject) listens(address netip.AddrPort, surely bool) (places []netip.AddrPort, there bool) {
	var own []socket
	for _, read := range readings {
		if own = s.sockets(read); len(own) > 0 || !surely {
			break
		}
	}
	for _, one := range own {
		places = append(places, one.local)
	}
	return places, len(reached(own, address)) > 0
}

// sockets are those of the tree among what is read.
func (s *Subject) sockets(read func() ([]socket, error)) []socket {
	members, _ := tree(s.PID())
	var own []string
	for _, p := range members {
		own = append(own, openSockets(p.PID)...)
	}
	if own == nil {
		return nil // tables cost a millisecond or more
	}
	all, _ := read() // without these nothing is known
	return slices.DeleteFunc(all, func(one socket) bool { return !slices.Contains(own, one.name()) })
}

// peers says where processes of the tree have connections, or wait for them.
func (s *Subject) peers() (sentences []string) {
	for _, of := range []struct{ state, does string }{{connecting, "it waits for a connection to "}, {connected, "it has a connection to "}} {
		ends := func(table io.Reader) ([]socket, error) { return parseEnds(table, remoteAddress, of.state, false) }
		for _, one := range s.sockets(func() ([]socket, error) { return readSockets(ends) }) {
			sentences = append(sentences, of.does+one.local.String())
		}
	}
	slices.Sort(sentences)
	return slices.Compact(sentences)
}

// forwarders listen for servers in other places: containers, clusters, at the end of tunnels.
var forwarders = []string{"docker-proxy", "rootlessport", "kubectl", "ssh"}

// foreign finds the processes that have the sockets open.
func foreign(sockets []socket) (*Foreign, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range sockets {
		names[s.name()] = true
	}
	var holders []procfs.ProcStat
	var spared []string // why some do not count
	for _, p := range all {
		switch {
		case !slices.ContainsFunc(openSockets(p.PID), func(name string) bool { return names[name] }):
		case p.PID == os.Getpid():
			spared = append(spared, "this process itself")
		case p.Comm == "systemd":
			spared = append(spared, "systemd, which has not started the server yet,")
		case slices.Contains(forwarders, p.Comm):
			spared = append(spared, p.Comm+", behind which the server is,")
		default:
			holders = append(holders, p)
		}
	}
	switch {
	case holders == nil && spared != nil:
		return nil, fmt.Errorf("only %s listens there", strings.Join(spared, " and "))
	case holders == nil:
		return nil, fmt.Errorf("a process of user %d listens there, which this user may not look into, or which is in another container;"+
			" run this as that user, or with CAP_SYS_PTRACE and CAP_PERFMON", sockets[0].owner)
	}
	return newForeign(holders), nil
}

// openSockets returns the names of the sockets that a process has open, as far as this user may know. The links are read
// by their directory, since finding that again for each would cost most of the time.
func openSockets(pid int) (names []string) {
	links, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil
	}
	defer links.Close()
	files, _ := links.Readdirnames(-1)
	var name [32]byte // longer ones are no sockets
	for _, file := range files {
		if n, err := unix.Readlinkat(int(links.Fd()), file, name[:]); err == nil && bytes.HasPrefix(name[:n], []byte("socket:")) {
			names = append(names, string(name[:n]))
		}
	}
	return names
}

func newForeign(holders []procfs.ProcStat) *Foreign {
	slices.SortFunc(holders, func(a, b procfs.ProcStat) int {
		return cmp.Or(cmp.Compare(a.Starttime, b.Starttime), cmp.Compare(a.PID, b.PID))
	})
	parent := func(p procfs.ProcStat) bool {
		return !slices.ContainsFunc(holders, func(other procfs.ProcStat) bool { return other.PID == p.PPID })
	}
	first := holders[slices.IndexFunc(holders, parent)]
	f := &Foreign{PID: first.PID, Command: first.Comm}
	for _, p := range holders {
		f.listening = append(f.listening, identity{p.PID, p.Starttime})
	}
	return f
}

// includes reports whether a process is one of those that listen.
func (f *Foreign) includes(p procfs.ProcStat) bool {
	return slices.Contains(f.listening, identity{p.PID, p.Starttime})
}

// threads returns those of the processes that listen and of their descendants.
func (f *Foreign) threads() ([]int, error) {
	members, err := f.members()
	return threads(members), err
}
