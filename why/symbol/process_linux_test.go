package symbol

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"contend/internal/perf"
	"contend/internal/testenv"
)

// A position is where a child says that one of its functions is.
type position struct {
	addr uint64
	Frame
}

// A child is a running program that has said where its functions are.
type child struct {
	*exec.Cmd
	maps      []perf.Map
	positions []position
}

// start runs a program of testdata, which lives until the test ends.
func start(t *testing.T, cmd *exec.Cmd) child {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	c := child{Cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "" {
		fields := strings.Split(lines.Text()+"\t\t", "\t")
		p := position{}
		if p.addr, err = strconv.ParseUint(fields[0], 16, 64); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		p.Function, p.File = fields[1], fields[2]
		p.Line, _ = strconv.Atoi(fields[3])
		c.positions = append(c.positions, p)
	}
	if len(c.positions) == 0 {
		t.Fatalf("%v said nothing: %v", cmd.Args, lines.Err())
	}
	c.maps = executable(t, cmd.Process.Pid)
	return c
}

// executable returns the executable mappings of a process.
func executable(t testing.TB, pid int) []perf.Map {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.ProcMaps()
	if err != nil {
		t.Fatal(err)
	}
	var maps []perf.Map
	for _, m := range all {
		if m.Perms.Execute {
			maps = append(maps, perf.Map{PID: pid, Start: uint64(m.StartAddr), End: uint64(m.EndAddr), Offset: uint64(m.Offset),
				Path: m.Pathname, Major: unix.Major(m.Dev), Minor: unix.Minor(m.Dev), Inode: m.Inode})
		}
	}
	return maps
}

// frames asks for where the child says its functions are. Of several at the same address
// the one counts that the child names in the same order, the outermost for all others.
func (c child) frames() map[string]Frame { return c.framesBy(new(Resolver)) }

func (c child) framesBy(r *Resolver) map[string]Frame {
	named := map[string]Frame{}
	addresses := make([]uint64, len(c.positions))
	for i, p := range c.positions {
		addresses[i] = p.addr
	}
	depth := 0
	for i, frames := range r.Frames(c.Process.Pid, c.maps, addresses, time.Time{}) {
		if depth++; i == 0 || addresses[i] != addresses[i-1] {
			depth = 0
		}
		named[c.positions[i].Function] = frames[min(depth, len(frames)-1)]
	}
	return named
}

// waitsInMain reports whether a thread waits in a system call that main.main has made.
func (c child) waitsInMain() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", c.Process.Pid))
	return slices.ContainsFunc(threads, func(path string) bool {
		text, _ := os.ReadFile(path)
		fields := strings.Fields(string(text))
		if len(fields) != 9 {
			return false
		}
		pointer, _ := strconv.ParseUint(fields[7], 0, 64)
		instruction, _ := strconv.ParseUint(fields[8], 0, 64)
		r := new(Resolver)
		memory := make([]byte, 8<<10)
		n, _ := unix.ProcessVMReadv(c.Process.Pid, []unix.Iovec{{Base: &memory[0], Len: uint64(len(memory))}}, []unix.RemoteIovec{{Base: uintptr(pointer), Len: len(memory)}}, 0)
		addresses := r.Calls(c.maps, time.Time{})(Thread{Instruction: instruction, Pointer: pointer, Stack: memory[:max(0, n)]})
		return slices.ContainsFunc(slices.Concat(r.Frames(c.Process.Pid, c.maps, addresses, time.Time{})...), func(f Frame) bool { return f.Function == "main.main" })
	})
}

// built are programs that were built before, by how.
var built = map[string][]byte{}

// build builds testdata/positions.
func build(t *testing.T, cgo string, flags ...string) string {
	t.Helper()
	program, how := filepath.Join(t.TempDir(), "positions"), fmt.Sprint(cgo, flags)
	if content, known := built[how]; known {
		testenv.Must(t, os.WriteFile(program, content, 0o755))
		return program
	}
	args := append(append([]string{"build", "-o", program}, flags...), "./testdata/positions")
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "go"), args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	built[how] = testenv.Read(t, program)
	return program
}

var typeArguments = regexp.MustCompile(`\[.*\]`)

// The functions that a Go program's runtime names are those that we name.
func TestGoPrograms(t *testing.T) {
	tests := []struct {
		cgo   string
		flags []string
	}{
		{"0", nil},
		{"0", []string{"-ldflags=-s -w"}},
		{"0", []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{"1", []string{"-ldflags=-linkmode=external"}},
		{"1", []string{"-ldflags=-linkmode=external -s -w"}},
		{"1", []string{"-buildmode=pie"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("cgo=%s %s", tt.cgo, strings.Join(tt.flags, " ")), func(t *testing.T) {
			if tt.cgo == "1" {
				testenv.Program(t, "cc")
			}
			c := start(t, exec.Command(build(t, tt.cgo, tt.flags...)))
			got := c.frames()
			for _, p := range c.positions {
				want := Frame{Package: "positions"}
				switch isC := p.File == ""; {
				case !isC:
					want = p.Frame
					want.Package, _, _ = strings.Cut(p.Function, ".")
				case !strings.Contains(strings.Join(tt.flags, " "), "-s -w"):
					want.Function = p.Function
				}
				f := got[p.Function]
				f.Code = Code{}
				f.Function = typeArguments.ReplaceAllString(f.Function, "[...]") // as the runtime shows them
				if f != want {
					t.Errorf("at %#x: %#v, want %#v", p.addr, f, want)
				}
			}
			if len(got) < 5 {
				t.Errorf("the program told of %d functions only", len(got))
			}
			if runtime.GOARCH == "amd64" && !strings.Contains(strings.Join(tt.flags, " "), "-s -w") {
				testenv.Eventually(t, "main.main waits for input", c.waitsInMain)
			}
		})
	}
}

// This process, as any other.
func TestOwnProcess(t *testing.T) {
	pc, _, _, _ := runtime.Caller(0)
	want := runtime.FuncForPC(pc)
	got := new(Resolver).Frames(os.Getpid(), executable(t, os.Getpid()), []uint64{uint64(pc), 8}, time.Time{})
	if got[0][0].Function != want.Name() || got[0][0].Package != "contend/why/symbol" {
		t.Errorf("%#v, want %s", got[0], want.Name())
	}
	if got[1][0] != (Frame{}) || got[1][0].String() != "[unknown]" {
		t.Errorf("where nothing is: %#v", got[1])
	}
	none := []perf.Map{{PID: os.Getpid(), Start: 0x1000, End: 0x2000, Path: "[vdso]"}, {PID: os.Getpid(), Start: 0x1800, End: 0x1900, Path: "/gone/lib.so"}}
	for addr, want := range map[uint64]string{0x1000: "[vdso]", 0x1800: "[unknown] in lib.so"} {
		if got := new(Resolver).Frames(os.Getpid(), none, []uint64{addr}, time.Time{})[0][0].String(); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}

// native compiles a program of testdata in C.
func native(t *testing.T, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "native")
	args := append(append([]string{"-O0", "-o", program}, flags...), "testdata/"+source, "-ldl")
	if out, err := exec.CommandContext(t.Context(), testenv.Program(t, "cc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("cc %v: %v\n%s", args, err, out)
	}
	return program
}

func TestNativePrograms(t *testing.T) {
	tests := []struct {
		flags []string
		want  string // the functions that have a name
	}{
		{nil, "hidden exported main sizeless"},
		{[]string{"-no-pie"}, "hidden exported main sizeless"},
		{[]string{"-s"}, ""},
		{[]string{"-s", "-rdynamic"}, "exported main"},
	}
	for _, tt := range tests {
		c := start(t, exec.Command(native(t, "native.c", tt.flags...)))
		for name, got := range c.frames() {
			want := Frame{Package: "native"}
			if strings.Contains(tt.want, name) {
				want.Function = name
			}
			if name == "getenv" {
				want = Frame{Function: "getenv", Package: got.Package}
				if !strings.HasPrefix(got.Package, "libc") {
					t.Errorf("getenv is in %s", got.Package)
				}
			}
			if got.Code = (Code{}); got != want {
				t.Errorf("cc %v: %s: %#v, want %#v", tt.flags, name, got, want)
			}
		}
	}
}

// Calls that the compiler put into their callers are known by debug information alone.
func TestInlinedCalls(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"-g"}, "innermost between outermost"},
		{[]string{"-g", "-O2"}, "innermost between outermost"},
		{[]string{"-g", "-gz=zlib"}, "innermost between outermost"},
		{[]string{"-gdwarf-4"}, "innermost between outermost"},
		{nil, "outermost"},
		{[]string{"-g", "-s"}, "[unknown] in native"},
	} {
		c := start(t, exec.Command(native(t, "inlined.c", tt.flags...)))
		var got []string
		for _, f := range new(Resolver).Frames(c.Process.Pid, c.maps, []uint64{c.positions[0].addr}, time.Time{})[0] {
			got = append(got, f.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("cc %v: %q, want %q", tt.flags, got, tt.want)
		}
	}
}

// A program is read as long as it runs, also when its file was deleted, or replaced by
// another one, which is not taken for it.
func TestDeletedProgram(t *testing.T) {
	program, other := build(t, "0"), build(t, "0", "-ldflags=-s")
	c := start(t, exec.Command(program))
	want := c.frames()
	if got := want["main.main"]; got.Function != "main.main" {
		t.Fatalf("main.main is %#v", got)
	}
	maps := c.maps
	check := func(when string) {
		t.Helper()
		split := slices.Clone(maps) // since then, so that the mapping has no link in /proc
		for i := range split {
			split[i].End += 0x1000
		}
		told := executable(t, c.Process.Pid)
		for _, c.maps = range [][]perf.Map{maps, told, split} {
			if got := c.frames(); got["main.main"] != want["main.main"] {
				t.Errorf("%s: %#v, want %#v", when, got["main.main"], want["main.main"])
			}
		}
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	check("deleted")
	if err := os.Rename(other, program); err != nil {
		t.Fatal(err)
	}
	check("replaced")
	_ = c.Process.Kill()
	_ = c.Wait()
	c.maps = maps
	if got, want := c.frames()["main.main"].String(), "[unknown] in positions"; got != want {
		t.Errorf("when the program has ended: %s, want %s", got, want)
	}
}

// A process that has its own view of files: what we have under the path is another file,
// or none.
func TestContainer(t *testing.T) {
	sh, program := testenv.Program(t, "sh"), build(t, "0")
	own := t.TempDir()
	copied := filepath.Join(own, "positions")
	if err := os.WriteFile(copied, []byte("ours"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sh, "-c", `mount -t tmpfs none "$0" && cp "$1" "$0/positions" && cp "$1" "$0/library" && exec "$0/positions"`, own, program)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	try := exec.Command(sh, "-c", `mount -t tmpfs none "$0"`, own)
	try.SysProcAttr = cmd.SysProcAttr
	if err := try.Run(); err != nil {
		testenv.Hardware(t, fmt.Errorf("a mount of one's own: %w", err))
	}
	c := start(t, cmd)
	if got := c.frames()["main.main"]; got.Function != "main.main" {
		t.Errorf("in a container: %#v (%#v)", got, c.maps)
	}
	library := perf.Map{PID: c.Process.Pid, Path: filepath.Join(own, "library")}
	seen, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", library.PID, library.Path))
	if err != nil {
		t.Fatal(err)
	}
	library.Inode = seen.Sys().(*syscall.Stat_t).Ino
	f, err := openMapped(library)
	if err != nil {
		t.Fatalf("a library in a container: %v", err)
	}
	f.Close()
}

// What a process compiled itself comes from a file that everybody could write.
func TestCompiled(t *testing.T) {
	pid := os.Getpid()
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	_ = os.Remove(path) // of an ended process that had the same number
	addresses, made := []uint64{0x1010}, []perf.Map{{PID: pid, Start: 0x1000, End: 0x2000}}
	frame := func() Frame { return new(Resolver).Frames(pid, made, addresses, time.Time{})[0][0] }
	if got := frame(); got != (Frame{}) {
		t.Errorf("without a map: %#v", got)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	if _, err := f.WriteString("1000 100 JS:*handle /app/node_modules/@scope/parse.cold.js:12\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	want := Frame{Function: "handle (@scope/parse.cold.js)", Package: "[jit]", File: "/app/node_modules/@scope/parse.cold.js"}
	for where, inode := range map[string]uint64{"": 0, "//anon": 0, "/memfd:doublemapper (deleted)": 1} {
		made[0].Path, made[0].Inode = where, inode
		if got := frame(); got != want {
			t.Errorf("in %q: %#v, want %#v", where, got, want)
		}
	}
	made[0].Path, made[0].Inode = "/gone/lib.so", 1
	if got := frame(); got.Function != "" {
		t.Errorf("in a library that is not there: %#v", got)
	}
	made[0] = perf.Map{PID: pid, Start: 0x1000, End: 0x2000}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if got := frame(); got != (Frame{}) {
			t.Errorf("of another user: %#v", got)
		}
	}
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := openIn("/", path, func(*syscall.Stat_t) bool { return true }); err == nil {
		f.Close()
		t.Error("a pipe was opened")
	}
}

// BenchmarkFrames asks for 10 000 addresses of this program, which it reads each time.
func BenchmarkFrames(b *testing.B) {
	maps := executable(b, os.Getpid())
	pc, _, _, _ := runtime.Caller(0)
	var text perf.Map
	for _, m := range maps {
		if m.Start <= uint64(pc) && uint64(pc) < m.End {
			text = m
		}
	}
	addresses := make([]uint64, 10000)
	for i := range addresses {
		addresses[i] = text.Start + (text.End-text.Start)/uint64(len(addresses))*uint64(i)
	}
	for b.Loop() {
		if frames := new(Resolver).Frames(os.Getpid(), maps, addresses, time.Time{}); frames[5000][0].Function == "" {
			b.Fatalf("%#v", frames[5000])
		}
	}
}
