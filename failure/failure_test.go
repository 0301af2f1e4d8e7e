package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"contend/errkind"
	"contend/failure"
)

// The failure of an error is found below whatever wraps it, and the wrapping error adds to it.
func TestAll(t *testing.T) {
	seven := 7
	exited := failure.With(errors.New("exit status 7; end of its stderr: oh"), failure.Failure{Kind: failure.Exited, Exit: &seven, Cause: "exit status 7", Stream: "stderr", LastWords: []string{"oh"}})
	whole := failure.Failure{Arm: "B", Server: "b", Kind: failure.Exited, Exit: &seven, Cause: "exit status 7", Stream: "stderr", LastWords: []string{"oh"}}
	named := failure.About("B: ", failure.About("server b: ", exited, failure.Failure{Server: "b"}), failure.Failure{Arm: "B"})
	early := whole
	early.Cause = "not ready: exit status 7"
	for name, tt := range map[string]struct {
		err  error
		text string
		want []failure.Failure
	}{
		"wrapped": {fmt.Errorf("part x: %w", named), "part x: B: server b: exit status 7; end of its stderr: oh", []failure.Failure{whole}},
		"outer words go first": {failure.With(named, failure.Failure{Cause: early.Cause}), "B: server b: exit status 7; end of its stderr: oh",
			[]failure.Failure{early}},
		"several": {errors.Join(failure.About("A: ", errors.New("no"), failure.Failure{Arm: "A"}), named), "A: no\nB: server b: exit status 7; end of its stderr: oh",
			[]failure.Failure{{Arm: "A", Kind: failure.Other, Cause: "no"}, whole}},
		"a consequence carries nothing": {errors.Join(io.EOF, named), "EOF\nB: server b: exit status 7; end of its stderr: oh", []failure.Failure{whole}},
		"nothing known":                 {errors.New("no\nreally"), "no\nreally", []failure.Failure{{Kind: failure.Other, Cause: "no", More: "really"}}},
		"none":                          {nil, "", nil},
	} {
		if tt.err != nil && tt.err.Error() != tt.text {
			t.Errorf("%s: text %q, want %q", name, tt.err, tt.text)
		}
		if got := failure.All(tt.err); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if !errors.Is(failure.With(io.EOF, failure.Failure{}), io.EOF) {
		t.Error("the error is lost")
	}
}

// Why connecting failed is decided by the system's error, not by its words.
func TestConnecting(t *testing.T) {
	dial := func(network, address string) error {
		conn, err := net.Dial(network, address)
		if err == nil {
			conn.Close()
			t.Fatalf("somebody listens at %s", address)
		}
		return err
	}
	call := func(no syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", no)}
	}
	lookup := func(e *net.DNSError) error { return &net.OpError{Op: "dial", Net: "tcp", Err: e} }
	for _, tt := range []struct {
		err   error
		kind  failure.Kind
		cause string // "": any
	}{
		{dial("tcp", "127.0.0.1:1"), failure.Refused, syscall.ECONNREFUSED.Error()},
		{dial("unix", filepath.Join(t.TempDir(), "none")), failure.NoSocket, syscall.ENOENT.Error()},
		{call(syscall.EADDRNOTAVAIL), failure.NoLocalPort, ""},
		{call(syscall.EACCES), failure.Forbidden, ""},
		{call(syscall.EPERM), failure.Filtered, ""},
		{call(syscall.ENETUNREACH), failure.NoNetwork, ""},
		{call(syscall.EHOSTUNREACH), failure.NoRoute, ""},
		{call(syscall.EMFILE), failure.NoFiles, ""},
		{call(syscall.ECONNRESET), failure.Ended, ""},
		{call(syscall.EINVAL), failure.Unreached, syscall.EINVAL.Error()},
		{lookup(&net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}), failure.NoHost, "lookup h: no such host"},
		{lookup(&net.DNSError{Err: "i/o timeout", Name: "h", IsTimeout: true}), failure.NoHost, ""},
		{lookup(&net.DNSError{Err: "server misbehaving", Name: "h"}), failure.NameServer, ""},
		{&net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("recvmmsg", syscall.ECONNREFUSED)}, failure.NoQUIC, ""},
		{&errkind.Error{Kind: errkind.TLS, Err: errors.New("TLS handshake: x")}, failure.Handshake, "TLS handshake: x"},
		{io.EOF, failure.Ended, "EOF"},
		{failure.With(context.Canceled, failure.Failure{Kind: failure.Proxy, Cause: "the proxy"}), failure.Proxy, "the proxy"},
	} {
		got := failure.Connecting(fmt.Errorf("connect: %w", tt.err))
		if tt.kind != got.Kind || tt.cause != "" && tt.cause != got.Cause && "connect: "+tt.cause != got.Cause {
			t.Errorf("%v: %+v, want %s, %q", tt.err, got, tt.kind, tt.cause)
		}
		if !got.Unreached() {
			t.Errorf("%v: counts as a server that contend starts", tt.err)
		}
	}
}
