package subject

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// rob listens at the address that is noted in the file args[0], once there is one.
func rob(args []string) {
	for {
		if addr, _ := os.ReadFile(args[0]); len(addr) > 0 {
			serve([]string{strings.TrimSpace(string(addr))})
		}
		time.Sleep(pollEvery)
	}
}

// robbed notes its address in the file args[0] and waits for another program to listen there. Then it tries to do so itself,
// or with another word than "late" as args[2] listens at another address. If there is such a file already it serves.
func robbed(args []string) {
	notes, addr := args[0], args[1]
	if _, err := os.Stat(notes); err == nil {
		serve([]string{addr})
	}
	must(0, os.WriteFile(notes+"~", []byte(addr), 0o600))
	must(0, os.Rename(notes+"~", notes))
	for conn, err := net.Dial("tcp", addr); ; conn, err = net.Dial("tcp", addr) {
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(pollEvery)
	}
	if args[2] != "late" {
		astray(nil)
	}
	time.Sleep(4 * settleTime) // for a probe to reach the other program
	serve([]string{addr})
}

// daemon has a process serve at args[0] once it is outside of its tree: without args[2], its parent.
func daemon(args []string) {
	switch len(args) {
	case 1:
		must(0, relative("daemon", args[0], "parent").Run())
		hang()
	case 3:
		for args[2] == fmt.Sprint(os.Getppid()) {
			time.Sleep(pollEvery)
		}
		serve(args[:1])
	}
	child := relative("daemon", args[0], "child", fmt.Sprint(os.Getpid()))
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(0, child.Start())
	fmt.Println("pids", child.Process.Pid)
}

// A subject is not ready because another program listens at its address: it is started at another one, whether it notices,
// as late as it may, or not.
func TestAddressIsTaken(t *testing.T) {
	t.Parallel()
	for _, noticed := range []string{"late", "never"} {
		t.Run(noticed, func(t *testing.T) {
			t.Parallel()
			notes := filepath.Join(t.TempDir(), "notes")
			robber := relative("rob", notes)
			testenv.Must(t, robber.Start())
			defer robber.Wait()
			defer robber.Process.Kill()
			time.Sleep(2 * userTick) // the unit in which the kernel has its age
			s := started(t, role("robbed", notes, "{{addr}}", noticed))
			taken := string(testenv.Read(t, notes))
			if s.Addr("") == taken {
				t.Errorf("it is ready at %s, where another program listens", taken)
			}
			if places, there := s.listens(must(netip.ParseAddrPort(s.Addr(""))), true); !there {
				t.Errorf("it listens at %v, and not at %s", places, s.Addr(""))
			}
		})
	}
}

// A subject whose daemon serves is ready, although nothing in its tree listens.
func TestDaemonListens(t *testing.T) {
	t.Parallel()
	s := started(t, role("daemon", "{{addr}}"))
	defer func() {
		for _, pid := range pids(t, s.stdout.text()) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	if places, there := s.listens(netip.MustParseAddrPort(s.Addr("")), true); there {
		t.Errorf("it listens itself, at %v", places)
	}
	get(t, "http://"+s.Addr("")+"/env")
}

// The kernel tells of the same sockets as its tables do.
func TestListeners(t *testing.T) {
	var own []string
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0", "127.9.8.7:0"} {
		if l, err := net.Listen("tcp", at); err == nil { // else there is no IPv6
			defer l.Close()
			own = append(own, must(netip.ParseAddrPort(l.Addr().String())).String())
		}
	}
	chosen := func(all []socket, err error) (found []string) {
		testenv.Must(t, err)
		for _, s := range all {
			if slices.Contains(own, s.local.String()) {
				found = append(found, fmt.Sprint(s))
			}
		}
		slices.Sort(found)
		return found
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		testenv.Hardware(t, err)
	}
	defer unix.Close(fd)
	four, err := diagnosed(fd, unix.AF_INET, nil)
	testenv.Must(t, err)
	got, want := chosen(diagnosed(fd, unix.AF_INET6, four)), chosen(readSockets(parseSockets))
	if len(got) != len(own) || !slices.Equal(got, want) {
		t.Errorf("%v, in the tables %v; want those at %v", got, want, own)
	}
}
