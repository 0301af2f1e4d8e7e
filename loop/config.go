package loop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// A Config says what a Loop connects to and which VUs it drives.
type Config struct {
	// Network is "tcp" or "unix".
	Network string
	// Address is host:port, or the path of a unix socket. The name is resolved
	// once, when the loop is made. Connections use its addresses in turn; one
	// that does not answer is left for the next.
	Address string
	// VUs are the ids of the virtual users that the loop drives, in order.
	VUs []int
	// TLS, if not nil, is used on every connection.
	TLS *tls.Config
	// Connections is how many connections they share evenly: the i-th of the VUs
	// is slot i / Connections of connection i mod Connections. 0 means that each
	// has its own.
	Connections int
	// New makes the protocol's side of a connection for the VUs that are its
	// slots.
	New func(vus []int) Conversation
	// CloseEach opens a new connection for every iteration and closes it after
	// it; it is not possible with connections that are shared.
	CloseEach bool

	// SendBuffer and ReceiveBuffer are sizes of the socket's buffers in bytes; 0
	// leaves them to the system.
	SendBuffer, ReceiveBuffer int
	// Local is the IP address that TCP connections come from; the zero value
	// leaves it to the system.
	Local netip.Addr
}

// validate returns every mistake at once.
func (c *Config) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("loop: "+format, args...)) }
	switch c.Network {
	case "tcp":
		if _, _, err := net.SplitHostPort(c.Address); err != nil {
			wrong("address %q is not host:port: %w", c.Address, err)
		}
	case "unix":
		if c.Address == "" {
			wrong("address is empty, not the path of a socket")
		}
		if c.Local.IsValid() {
			wrong("local is %v, but a unix socket has no IP address", c.Local)
		}
	default:
		wrong("network is %q; expected tcp, unix", c.Network)
	}
	if len(c.VUs) == 0 {
		wrong("vus is empty")
	}
	if c.Connections < 0 {
		wrong("connections is %d; expected 0 or more", c.Connections)
	}
	if c.CloseEach && c.Connections > 0 {
		wrong("connections is %d, but a connection per iteration cannot be shared", c.Connections)
	}
	if c.New == nil {
		wrong("new is nil")
	}
	if c.SendBuffer < 0 || c.ReceiveBuffer < 0 {
		wrong("buffers are %d and %d bytes; expected 0 or more", c.SendBuffer, c.ReceiveBuffer)
	}
	return errors.Join(errs...)
}
