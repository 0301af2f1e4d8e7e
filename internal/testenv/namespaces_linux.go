package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A Namespace is a network namespace: what runs in it has the loopback and a network card of its own, by which
// it reaches the other namespaces of its test and the test itself, and nothing else.
type Namespace struct {
	Address string // without a port
	// BootID, if not empty, is what /proc/sys/kernel/random/boot_id shows to commands that are made from
	// now on, so that they think this a machine of its own.
	BootID string

	t      testing.TB
	holder *exec.Cmd  // keeps it
	port   string     // of the switch, where its cable ends
	at     *Namespace // the switch
}

// Namespaces makes n network namespaces that are cabled to one switch, and the test process with them, whose
// address is host. They are gone after the test, also after one that is killed. The test is skipped
// where they cannot be made; with CI=true only where the system refuses them to root.
func Namespaces(t testing.TB, n int) (host string, all []*Namespace) {
	t.Helper()
	Program(t, "ip")
	Program(t, "nsenter")
	if os.Geteuid() != 0 {
		Missing(t, errors.New("root, who may make network namespaces"))
	}
	hub := newNamespace(t)
	hub.ip("link add hub type bridge", "link set hub up")
	subnet := plugIn(t, hub)
	for i := range n {
		ns := newNamespace(t)
		ns.Address, ns.port, ns.at = fmt.Sprintf("%s.%d", subnet, i+2), fmt.Sprintf("port%d", i+1), hub
		hub.ip(fmt.Sprintf("link add %s type veth peer name card netns %d", ns.port, ns.holder.Process.Pid),
			fmt.Sprintf("link set %s master hub up", ns.port))
		ns.ip(fmt.Sprintf("addr add %s/24 dev card", ns.Address), "link set card up")
		all = append(all, ns)
	}
	return subnet + ".1", all
}

// plugIn cables the test process to the switch and returns the first three bytes of the subnet, which is one of
// those for tests of networks (RFC 2544) that no other test has: the name of the card tells.
func plugIn(t testing.TB, hub *Namespace) (subnet string) {
	t.Helper()
	var err error
	for i := range 256 {
		card := fmt.Sprintf("testenv%d", i)
		if err = ip(nil, fmt.Sprintf("link add %s type veth peer name port0 netns %d", card, hub.holder.Process.Pid)); err != nil {
			continue
		}
		hub.ip("link set port0 master hub up")
		subnet = fmt.Sprintf("198.18.%d", i)
		if err := ip(nil, fmt.Sprintf("addr add %s.1/24 dev %s", subnet, card), fmt.Sprintf("link set %s up", card)); err != nil {
			t.Fatal(err)
		}
		return subnet
	}
	t.Fatal(err)
	return ""
}

// newNamespace makes a namespace without cables, which lives as long as the test, or the test's process.
func newNamespace(t testing.TB) *Namespace {
	t.Helper()
	holder := exec.Command("cat")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	input, err := holder.StdinPipe()
	if err == nil {
		err = holder.Start()
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) {
		Hardware(t, fmt.Errorf("one whose system lets root make network namespaces: %w", err))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = holder.Wait() // it ends with its input
	})
	ns := &Namespace{t: t, holder: holder}
	ns.ip("link set lo up")
	return ns
}

// Command is a command that runs in the namespace.
func (n *Namespace) Command(name string, arg ...string) *exec.Cmd {
	n.t.Helper()
	argv := append(n.enter(), name)
	if n.BootID != "" {
		file := filepath.Join(n.t.TempDir(), "boot_id")
		if err := os.WriteFile(file, []byte(n.BootID+"\n"), 0o644); err != nil {
			n.t.Fatal(err)
		}
		argv = append(n.enter(), "/bin/sh", "-c", `mount --make-rprivate / && mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, file, name)
	}
	cmd := exec.Command(argv[0], append(argv[1:], arg...)...)
	if n.BootID != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	return cmd
}

// Link plugs the namespace's cable in or pulls it.
func (n *Namespace) Link(up bool) {
	n.t.Helper()
	state := "down"
	if up {
		state = "up"
	}
	n.at.ip(fmt.Sprintf("link set %s %s", n.port, state))
}

// enter is what puts a command into the namespace.
func (n *Namespace) enter() []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", n.holder.Process.Pid)}
}

func (n *Namespace) ip(commands ...string) {
	n.t.Helper()
	if err := ip(n.enter(), commands...); err != nil {
		n.t.Fatal(err)
	}
}

// ip gives commands to the program of that name, after words that say where it runs.
func ip(before []string, commands ...string) error {
	argv := append(before, "ip", "-batch", "-")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(commands, "; "), err, said)
	}
	return nil
}
