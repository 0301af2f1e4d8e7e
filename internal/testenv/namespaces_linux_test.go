package testenv_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

const callVariable = "TESTENV_CALL"

// A command of these tests: it calls an address and says what it heard there and which boot this is, or why
// it could not.
func TestMain(m *testing.M) {
	address := os.Getenv(callVariable)
	if address == "" {
		os.Exit(m.Run())
	}
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	heard, _ := io.ReadAll(conn)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	os.Stdout.WriteString(string(heard) + " " + string(boot))
}

// A process in a namespace reaches the test and nothing on its loopback, by an address of its own; with
// the cable pulled nothing. It alone sees the boot that it is given.
func TestNamespaces(t *testing.T) {
	host, all := testenv.Namespaces(t, 2)
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			caller, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
			io.WriteString(conn, "hello "+caller)
			conn.Close()
		}
	}()
	own, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	all[1].BootID = "another"
	for _, c := range []struct {
		ns   *testenv.Namespace
		want string
	}{{all[0], "hello " + all[0].Address + " " + string(own)}, {all[1], "hello " + all[1].Address + " another\n"}} {
		call := func() string { return call(t, c.ns.Command(os.Args[0]), listener.Addr().String()) }
		if got := call(); got != c.want {
			t.Errorf("heard %q; want %q", got, c.want)
		}
		c.ns.Link(false)
		if got := call(); strings.Contains(got, "hello") {
			t.Errorf("heard %q over a cable that is pulled", got)
		}
		c.ns.Link(true)
		for deadline := time.Now().Add(testenv.Patience); call() != c.want; { // the switch first learns the addresses
			if time.Now().After(deadline) {
				t.Fatal("nothing is heard after the cable was plugged in again")
			}
		}
	}
	if now, _ := os.ReadFile("/proc/sys/kernel/random/boot_id"); !bytes.Equal(now, own) {
		t.Errorf("the machine has become %q", now)
	}
}

func call(t *testing.T, cmd *exec.Cmd, address string) string {
	t.Helper()
	cmd.Env = append(os.Environ(), callVariable+"="+address)
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
