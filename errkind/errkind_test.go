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
	"slices"
	"syscall"
	"testing"
)

func TestOf(t *testing.T) {
	tests := []struct {
		err  error
		want Kind
	}{
		{&Error{Kind: Protocol, Err: io.EOF}, Protocol}, // who made it knows best
		{context.Canceled, Cancelled},
		{context.DeadlineExceeded, Timeout},
		{os.ErrDeadlineExceeded, Timeout},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, Refused},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}, PortsExhausted},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, Dial},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, Reset},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, Reset},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x"}}, DNS},
		{io.ErrUnexpectedEOF, Closed},
		{io.ErrClosedPipe, Closed},
		{net.ErrClosed, Closed},
		{x509.UnknownAuthorityError{}, TLS},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, TLS},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, TLS},
		{&net.OpError{Op: "local error", Err: errors.New("tls: bad record MAC")}, TLS},
		{errors.New("something"), Other},
	}
	for _, tt := range tests {
		if got := Of(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
			t.Errorf("%v is of kind %s, want %s", tt.err, got, tt.want)
		}
		if !slices.Contains(All(), tt.want) {
			t.Errorf("kind %s is not listed", tt.want)
		}
	}
}
