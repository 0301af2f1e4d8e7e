package subject

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	host = "127.0.0.1"

	allowedPlaceholders = "{{addr}}, {{port}}, {{addr.NAME}}, {{port.NAME}} " +
		"(NAME of letters, digits, _ and -) and {{host}}"
)

var (
	braces      = regexp.MustCompile(`\{\{.*?\}\}`)
	placeholder = regexp.MustCompile(`^\{\{(?:host|(?:addr|port)(?:\.([A-Za-z0-9_-]+))?)\}\}$`)
)

// addressNames returns the distinct names of the addresses that the texts use,
// "" being the default one, or an error that lists every unknown placeholder.
func addressNames(texts []string) ([]string, error) {
	var unknown []string
	names := map[string]bool{}
	for _, text := range texts {
		for _, found := range braces.FindAllString(text, -1) {
			match := placeholder.FindStringSubmatch(found)
			switch {
			case match == nil:
				unknown = append(unknown, found)
			case found != "{{host}}":
				names[match[1]] = true
			}
		}
	}
	if unknown != nil {
		return nil, fmt.Errorf("unknown placeholder %s, allowed: %s",
			strings.Join(unknown, ", "), allowedPlaceholders)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// substitute replaces the placeholders, which addressNames has checked.
func substitute(text string, addrs map[string]string) string {
	return braces.ReplaceAllStringFunc(text, func(found string) string {
		if found == "{{host}}" {
			return host
		}
		addr := addrs[placeholder.FindStringSubmatch(found)[1]]
		if strings.HasPrefix(found, "{{port") {
			return strings.TrimPrefix(addr, host+":")
		}
		return addr
	})
}

// freeAddrs returns one loopback address per name, all different and each free
// for TCP and for UDP. They are free when found: until the subject binds them
// another process may, which Start answers by one more attempt.
func freeAddrs(names []string) (map[string]string, error) {
	addrs := make(map[string]string, len(names))
	for _, name := range names {
		listener, addr, err := reserve()
		if err != nil {
			return nil, err
		}
		defer listener.Close() // held until all are found, so that they differ
		addrs[name] = addr
	}
	return addrs, nil
}

func reserve() (net.Listener, string, error) {
	var failed error
	for range 10 {
		tcp, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, "", fmt.Errorf("no free address: %w", err)
		}
		addr := net.JoinHostPort(host, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port))
		udp, err := net.ListenPacket("udp", addr)
		if err == nil {
			udp.Close()
			return tcp, addr, nil
		}
		tcp.Close()
		failed = errors.Join(failed, err)
	}
	return nil, "", fmt.Errorf("no address free for TCP and UDP: %w", failed)
}
