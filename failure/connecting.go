package failure

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"contend/errkind"
)

// Connecting returns why no connection was made.
func Connecting(err error) Failure {
	if f, ok := Of(err); ok {
		return f
	}
	return Failure{Kind: kindOf(err), Cause: cause(err)}
}

// bySystem are the errors of the system that have a kind of their own.
var bySystem = []struct {
	err  error
	kind Kind
}{
	{syscall.ECONNREFUSED, Refused},
	{syscall.EADDRNOTAVAIL, NoLocalPort},
	{syscall.ENOENT, NoSocket},
	{syscall.EACCES, Forbidden},
	{syscall.EPERM, Filtered},
	{syscall.ENETUNREACH, NoNetwork},
	{syscall.EHOSTUNREACH, NoRoute},
	{syscall.EMFILE, NoFiles},
	{syscall.ENFILE, NoFiles},
	{syscall.ECONNRESET, Ended},
}

func kindOf(err error) Kind {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound || name.IsTimeout {
			return NoHost
		}
		return NameServer
	}
	if at, ok := errors.AsType[*net.OpError](err); ok && at.Op == "read" && strings.HasPrefix(at.Net, "udp") {
		return NoQUIC
	}
	for _, one := range bySystem {
		if errors.Is(err, one.err) {
			return one.kind
		}
	}
	if alert, ok := errkind.AlertOf(err); ok && alert == errkind.NoProtocol {
		return NoALPN
	}
	switch errkind.Of(err) {
	case errkind.TLS:
		return Handshake
	case errkind.Closed:
		return Ended
	}
	return Unreached
}

// cause is the text of an error without the system call and the address, which the page shows already.
func cause(err error) string {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || dial.Op != "dial" {
		return err.Error()
	}
	err = dial.Err
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err.Error()
}
