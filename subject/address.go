package subject

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"contend/failure"
	"contend/internal/lazyregexp"
)

// loopback is the default host.
const loopback = "127.0.0.1"

// Placeholders are those that commands, environments, files and probes may hold; NAME
// is of letters, digits, _ and -.
const Placeholders = "{{addr}}, {{port}}, {{host}}, {{addr.NAME}}, {{port.NAME}}"

var (
	braces      = lazyregexp.New(`\{\{.*?\}\}`)
	placeholder = lazyregexp.New(`^\{\{(?:host|(?:addr|port)(?:\.([A-Za-z0-9_-]+))?)\}\}$`)
)

// InBraces returns what is in double braces, including these.
func InBraces(text string) []string { return braces().FindAllString(text, -1) }

// Unknown returns what is in double braces and not one of Placeholders.
func Unknown(text string) []string {
	return slices.DeleteFunc(InBraces(text), placeholder().MatchString)
}

// HandsOver reports whether one of the texts hands the default address over.
func HandsOver(texts ...string) bool {
	names, _ := addressNames(texts)
	return slices.Contains(names, "")
}

// Fill returns a text with the address of a server that has one only in the places of all Placeholders.
func Fill(text, addr string) string {
	addrs := map[string]string{"": addr}
	names, _ := addressNames([]string{text})
	for _, name := range names {
		addrs[name] = addr
	}
	return substitute(text, addrs)
}

// FillAll returns a text with a server's addresses, by name, in the places of its Placeholders.
func FillAll(text string, addrs map[string]string) string { return substitute(text, addrs) }

// addressNames returns the distinct names of the addresses that the texts use,
// "" being the default one, and an error that lists every unknown placeholder.
func addressNames(texts []string) ([]string, error) {
	var unknown []string
	names := map[string]bool{}
	for _, text := range texts {
		unknown = append(unknown, Unknown(text)...)
		for _, found := range InBraces(text) {
			if match := placeholder().FindStringSubmatch(found); match != nil && found != "{{host}}" {
				names[match[1]] = true
			}
		}
	}
	var err error
	if unknown != nil {
		err = fmt.Errorf("unknown placeholder %s; expected %s", strings.Join(unknown, ", "), Placeholders)
	}
	return slices.Sorted(maps.Keys(names)), err
}

// substitute replaces the placeholders, which addressNames has checked.
func substitute(text string, addrs map[string]string) string {
	return braces().ReplaceAllStringFunc(text, func(found string) string {
		if found == "{{host}}" {
			return hostOf(addrs)
		}
		addr := addrs[placeholder().FindStringSubmatch(found)[1]]
		if strings.HasPrefix(found, "{{port") {
			_, port, _ := net.SplitHostPort(addr) // it is one of ours
			return port
		}
		return addr
	})
}

// hostOf is that of the default address, or else of any: they have the same.
func hostOf(addrs map[string]string) string {
	if host, _, err := net.SplitHostPort(addrs[""]); err == nil {
		return host
	}
	for _, addr := range addrs {
		host, _, _ := net.SplitHostPort(addr) // it is one of ours
		return host
	}
	return loopback
}

// freeAddrs returns one address of a host per name, all different and each free
// for TCP and for UDP. They are free when found: until the subject binds them
// another process may, which Start answers by one more attempt. The ports are
// outside the range from which the kernel gives ports away, so that no client's
// connection takes one.
func freeAddrs(host string, names []string) (map[string]string, error) {
	addrs := make(map[string]string, len(names))
	for _, name := range names {
		listener, addr, err := reserve(host)
		if err != nil {
			return nil, err
		}
		defer listener.Close() // held until all are found, so that they differ
		addrs[name] = addr
	}
	return addrs, nil
}

// ownHost is an address of the loopback that nobody else has, as good as certainly.
func ownHost() netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(254)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
}

// ownAddr returns a loopback address that nobody else has just then, with a port
// that is free there.
func ownAddr(port int) (string, error) {
	var failed error
	for range 10 {
		addr := netip.AddrPortFrom(ownHost(), uint16(port)).String()
		listener, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, listener.Close()
		}
		failed = err
	}
	return "", fmt.Errorf("port %d is free on no address of the loopback, as when another program has it on all addresses: %w", port, failed)
}

// vacant returns an error if somebody listens at an address.
func vacant(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, probeTimeout)
	if err != nil {
		return nil
	}
	conn.Close()
	return failure.With(fmt.Errorf("another program listens at %s, on which the command insists: end that one", addr),
		failure.Failure{Kind: failure.AddressTaken, Address: addr})
}

func reserve(host string) (net.Listener, string, error) {
	var failed error
	low, high := quietPorts()
	for range 10 {
		addr := net.JoinHostPort(host, strconv.Itoa(low+rand.IntN(high-low)))
		tcp, err := net.Listen("tcp", addr)
		if err != nil {
			failed = err
			continue
		}
		udp, err := net.ListenPacket("udp", addr)
		if err == nil {
			udp.Close()
			return tcp, addr, nil
		}
		tcp.Close()
		failed = err
	}
	return nil, "", fmt.Errorf("no address free for TCP and UDP: %w", failed)
}

// quietPorts returns the range [low, high) of ports that need no privilege and
// that the kernel does not give to those who ask for any port.
func quietPorts() (low, high int) {
	const first, least = 10_000, 5_000
	given, last := 32_768, 65_535 // Linux; BSD, macOS and Windows give ports from 49,152
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(text), &given, &last)
	}
	switch {
	case given-first >= least:
		return first, given
	case 65_535-last >= least:
		return last + 1, 65_536
	}
	return first, 65_536 // the kernel gives away nearly all
}
