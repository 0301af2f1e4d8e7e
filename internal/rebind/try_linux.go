package rebind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// tryTimeout bounds Try, which takes as long as two programs take to start.
const tryTimeout = 10 * time.Second

// Try moves a bind, to find out whether that can be done here: command becomes its
// arguments by [Exec], and binder, followed by an address, calls [Bind]. The error
// says why binds cannot be moved.
func Try(command, binder []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", "127.9.9.9:0")
	if err != nil {
		return err
	}
	want := netip.MustParseAddrPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		return err
	}
	handover, err := NewHandover()
	if err != nil {
		return err
	}
	asked := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), want.Port()).String()
	cmd := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], binder, []string{asked})...)
	var said, lament bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &lament
	handover.Give(cmd)
	err = cmd.Start()
	handover.Started()
	if err != nil {
		handover.Close()
		return err
	}
	served := make(chan error, 1)
	go func() { served <- handover.Serve(want.Addr(), nil) }()
	err = cmd.Wait()
	unserved := <-served
	if err != nil && lament.Len() > 0 {
		return ofChild(lament.String())
	}
	if err = errors.Join(err, unserved); err != nil {
		return err
	}
	if got := strings.TrimSpace(said.String()); got != want.String() {
		return fmt.Errorf("a bind at %s came to be at %s, not at %v: this system does not let one program take a socket of another (pidfd_getfd), or read its memory (process_vm_readv)",
			asked, got, want)
	}
	return nil
}

// ofChild is the error that a program ended with, from the words of this package on.
func ofChild(lament string) error {
	line, _, _ := strings.Cut(strings.TrimSpace(lament), "\n")
	if at := strings.Index(line, "rebind: "); at > 0 {
		line = line[at:]
	}
	return errors.New(line)
}
