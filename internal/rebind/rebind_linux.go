package rebind

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// handover is the descriptor of the program that Exec becomes over which it hands the
// listener of its filter to us.
const handover = 3

// Exec becomes the program of argv, found as a shell finds it, under a filter whose
// listener goes to descriptor 3. It returns only if that cannot be. With connects, which
// slows each of them, the listener is also asked about these.
func Exec(argv []string, connects bool) error {
	if len(argv) == 0 {
		return errors.New("no program to become")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is this thread's, which exec makes the only one
	calls := []uint32{unix.SYS_BIND}
	if connects {
		calls = append(calls, unix.SYS_CONNECT)
	}
	listener, err := filter(calls)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(handover, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("handing over the listener: %w", err)
	}
	if err := unix.Close(handover); err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// filter has the kernel ask about each of the calls of this thread and what it becomes.
func filter(calls []uint32) (listener int, err error) {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return 0, fmt.Errorf("not built for %s", runtime.GOARCH)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("no_new_privs: %w", err)
	}
	// In seccomp_data the number of the call is at 0 and the architecture at 4.
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 4},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jf: uint8(len(calls) + 1)},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
	}
	for i, call := range calls {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: uint8(len(calls) - i)})
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, fmt.Errorf("this system does not let a program be asked about its binds (seccomp): %w", errno)
	}
	return int(fd), nil
}

// A Handover is the way of a listener from a program that is to be started to us.
type Handover struct{ ours, theirs *os.File }

// NewHandover returns one; Close it.
func NewHandover() (*Handover, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Handover{os.NewFile(uintptr(pair[0]), "handover"), os.NewFile(uintptr(pair[1]), "handover")}, nil
}

// Give makes the program of cmd, which has no other files yet, the one to hand over.
func (h *Handover) Give(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{h.theirs} }

// Started is called when the program has been started, or cannot be.
func (h *Handover) Started() { h.theirs.Close() }

// Close closes both ends.
func (h *Handover) Close() {
	h.theirs.Close()
	h.ours.Close()
}

// Serve waits for the listener and then moves what the program and its descendants
// bind to an address, until none of them is alive. Where they are about to connect over
// TCP, if we are asked about that, connects gets to know first. It closes the Handover.
func (h *Handover) Serve(to netip.Addr, connects func(at netip.AddrPort)) error {
	defer h.Close()
	listener, err := h.receive()
	if err != nil {
		return err
	}
	defer unix.Close(listener)
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		switch {
		case poll[0].Revents&unix.POLLIN != 0:
			answer(listener, to, connects)
		case poll[0].Revents != 0:
			return nil // nobody is left
		}
	}
}

func (h *Handover) receive() (listener int, err error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(h.ours.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.New("the program ended before it could be asked")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// What the kernel asks and is answered, as in Linux' include/uapi/linux/seccomp.h.
type (
	question struct {
		id         uint64
		thread     uint32
		_          uint32
		call, arch uint32
		_          uint64
		args       [6]uint64
	}
	reply struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// answer answers one question. One that has gone, with its thread, needs none.
func answer(listener int, to netip.Addr, connects func(at netip.AddrPort)) {
	var q question
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
		return
	}
	r := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if socket, err := q.socket(); err == nil {
		sockaddr := q.address(listener)
		if q.call == unix.SYS_CONNECT {
			kind, _ := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE)
			if at, ok := endOf(sockaddr); ok && kind == unix.SOCK_STREAM {
				connects(at)
			}
		} else if errno, done := bind(socket, sockaddr, to); done {
			r.flags, r.errno = 0, -int32(errno)
		}
		unix.Close(socket)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

// address is that of a question about a bind or a connect, in their form; nil: it cannot be read.
func (q *question) address(listener int) []byte {
	sockaddr := make([]byte, min(q.args[2], unix.SizeofSockaddrAny))
	if len(sockaddr) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &sockaddr[0]}
	local.SetLen(len(sockaddr))
	n, err := unix.ProcessVMReadv(int(q.thread), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(q.args[1]), Len: len(sockaddr)}}, 0)
	if err != nil || n != len(sockaddr) {
		return nil
	}
	// The thread may have ended, and its number and socket be a stranger's.
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&q.id))); errno != 0 {
		return nil
	}
	return sockaddr
}

// bind binds for the process that asked; done is false if that one is to do it.
func bind(socket int, sockaddr []byte, to netip.Addr) (result unix.Errno, done bool) {
	only6, _ := unix.GetsockoptInt(socket, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY) // not of IPv4: 0
	other, ok := moved(sockaddr, to, only6 != 0)
	if !ok {
		return 0, false
	}
	_, _, errno := unix.Syscall(unix.SYS_BIND, uintptr(socket), uintptr(unsafe.Pointer(&other[0])), uintptr(len(other)))
	return errno, true
}

// socket duplicates the socket that the question is about.
func (q *question) socket() (int, error) {
	thread, err := procfs.NewProc(int(q.thread))
	if err != nil {
		return 0, err
	}
	status, err := thread.NewStatus()
	if err != nil {
		return 0, err
	}
	process, err := unix.PidfdOpen(status.TGID, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(process)
	return unix.PidfdGetfd(process, int(int32(q.args[0])), 0)
}
