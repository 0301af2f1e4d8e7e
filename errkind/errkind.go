// Package errkind classifies why an iteration got no valid response.
package errkind

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// A Kind is one of the closed set of reasons why an iteration got no valid
// answer.
type Kind string

// The error kinds.
const (
	DNS            Kind = "dns"             // the name did not resolve
	Dial           Kind = "dial"            // no connection, for another reason than those below
	PortsExhausted Kind = "ports_exhausted" // no local port or address left
	TLS            Kind = "tls"             // handshake or certificate
	Timeout        Kind = "timeout"         // the plan's timeout ran out
	Refused        Kind = "refused"         // connection refused
	Reset          Kind = "reset"           // connection reset by the peer
	Closed         Kind = "closed"          // connection closed before a complete answer
	Stale          Kind = "stale"           // idle connection closed by the peer when it was used again
	Protocol       Kind = "protocol"        // the answer was not of the protocol
	Cancelled      Kind = "cancelled"       // the run was cancelled
	Other          Kind = "other"           // anything else
)

// All returns all kinds in the order in which reports list them.
func All() []Kind {
	return []Kind{DNS, Dial, PortsExhausted, TLS, Timeout, Refused, Reset, Closed, Stale, Protocol, Cancelled, Other}
}

// IsLost reports whether an error is the end of a connection.
func IsLost(err error) bool {
	kind := Of(err)
	return kind == Closed || kind == Reset
}

// StaleError is the error of a connection that the peer closed, or reset, when it had been idle
// and was used again.
func StaleError(err error) error {
	return &Error{Stale, fmt.Errorf("server closed an idle connection while it was reused: %w", err)}
}

// An Error is an error whose kind its maker knows.
type Error struct {
	Kind Kind
	Err  error
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Of classifies any error. An *Error in its chain decides; otherwise the
// operating system's and the standard library's errors are recognised.
func Of(err error) Kind {
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Kind
	}
	for _, known := range sentinelKinds {
		if errors.Is(err, known.err) {
			return known.kind
		}
	}
	return kindByType(err)
}

// Or gives an error a kind, unless it has one.
func Or(kind Kind, err error) error {
	if Of(err) == Other {
		return &Error{kind, err}
	}
	return err
}

var sentinelKinds = []struct {
	err  error
	kind Kind
}{
	{context.Canceled, Cancelled},
	{context.DeadlineExceeded, Timeout},
	{os.ErrDeadlineExceeded, Timeout},
	{syscall.ETIMEDOUT, Timeout},
	{syscall.EADDRNOTAVAIL, PortsExhausted},
	{syscall.EADDRINUSE, PortsExhausted},
	{syscall.ECONNREFUSED, Refused},
	{syscall.ECONNRESET, Reset},
	{syscall.EPIPE, Reset},
	{io.EOF, Closed},
	{io.ErrUnexpectedEOF, Closed},
	{net.ErrClosed, Closed},
	{io.ErrClosedPipe, Closed},
}

func kindByType(err error) Kind {
	var (
		dns       *net.DNSError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		network   net.Error
		operation *net.OpError
	)
	switch {
	case errors.As(err, &dns):
		return DNS
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &verify),
		errors.As(err, &authority), errors.As(err, &hostname):
		return TLS
	case errors.As(err, &network) && network.Timeout():
		return Timeout
	case errors.As(err, &operation) && (operation.Op == "remote error" || operation.Op == "local error"): // alerts of crypto/tls
		return TLS
	case errors.As(err, &operation) && operation.Op == "dial":
		return Dial
	}
	return Other
}
