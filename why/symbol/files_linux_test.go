package symbol

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"contend/internal/perf"
	"contend/internal/testenv"
)

// writeELF makes an ELF file whose only function has a name, and returns how a process that runs
// maps it.
func writeELF(t *testing.T, path, function string) perf.Map {
	t.Helper()
	content := image(0, symbolTable(elf.SHT_SYMTAB, sym{function, elf.STB_GLOBAL, elf.STT_FUNC, 1, 0, codeSize})...)
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return perf.Map{PID: os.Getpid(), Start: codeAddr, End: codeAddr + codeSize, Offset: codeOffset, Path: path, Inode: stat(t, path).Ino}
}

func stat(t *testing.T, path string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}

// replace rewrites the file until its times differ from those of the one before, as they do
// when a process ran in between: the clock of a file system ticks a few hundred times a
// second.
func replace(t *testing.T, path, function string) perf.Map {
	t.Helper()
	for before := stat(t, path).Ctim; ; time.Sleep(time.Millisecond) {
		m := writeELF(t, path, function)
		if stat(t, path).Ctim != before {
			return m
		}
	}
}

// name is the function in which a resolver sees the address that a mapping starts at.
func name(r *Resolver, m perf.Map, since time.Time) string {
	return r.Frames(m.PID, []perf.Map{m}, []uint64{m.Start}, since)[0][0].String()
}

// The program of each round may be a copy that is removed at its end: the next copy gets its
// inode, and is another program all the same.
func TestInodesAreUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy")
	var r Resolver
	if got := name(&r, writeELF(t, path, "of_a"), time.Time{}); got != "of_a" {
		t.Fatalf("A: %s", got)
	}
	for _, want := range []string{"of_b", "of_a", "of_c"} { // names of one length
		if got := name(&r, replace(t, path, want), time.Time{}); got != want {
			t.Errorf("after another file with its inode: %s, want %s", got, want)
		}
	}
}

// So it is with processes, on a file system that gives an inode out again at once.
func TestProgramsAreCopiedAndRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy")
	var r Resolver
	for _, p := range []struct{ program, function string }{{build(t, "0"), "main.main"}, {native(t, "native.c"), "hidden"}, {build(t, "0", "-ldflags=-s"), "main.main"}} {
		testenv.Must(t, os.WriteFile(path, testenv.Read(t, p.program), 0o755))
		c := start(t, exec.Command(path))
		if got := c.framesBy(&r)[p.function]; got.Function != p.function {
			t.Errorf("%s in inode %d: %#v", p.function, stat(t, path).Ino, got)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Within a process a library may be loaded from a file that takes the inode of another, which was
// unloaded and removed.
func TestInodesOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	second := writeELF(t, filepath.Join(dir, "second.so"), "of_second")
	first := second
	first.Path, first.Start, first.End = filepath.Join(dir, "first.so"), codeAddr+codeSize, codeAddr+2*codeSize
	frames := new(Resolver).Frames(os.Getpid(), []perf.Map{first, second}, []uint64{second.Start, first.Start}, time.Time{})
	if got, want := frames[0][0].String(), "of_second"; got != want {
		t.Errorf("the file: %s, want %s", got, want)
	}
	if got, want := frames[1][0].String(), "[unknown] in first.so"; got != want {
		t.Errorf("the file that is gone: %s, want %s", got, want)
	}
}

// A known file is read once, by however many processes it is mapped.
func TestFilesAreReadOnce(t *testing.T) {
	m := writeELF(t, filepath.Join(t.TempDir(), "program"), "of_a")
	var r Resolver
	name(&r, m, time.Time{})
	f, err := openMapped(m)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	known := r.files.of(f, nil)
	if name(&r, m, time.Time{}); r.files.of(f, nil) != known || len(r.files.kept) != 1 {
		t.Errorf("it was read again: %v", r.files.kept)
	}
}

// The files of a process that has ended are only used if they were there before, so that nobody
// can have replaced them.
func TestEndedProcess(t *testing.T) {
	ended := exec.Command(testenv.Program(t, "true"))
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	living := writeELF(t, filepath.Join(t.TempDir(), "program"), "of_a")
	own := living
	own.PID = ended.Process.Pid
	var r Resolver
	const unknown = "[unknown] in program"
	later := time.Now().Add(time.Minute)
	if got := name(&r, own, later); got != unknown {
		t.Errorf("a file that no other process has shown: %s", got)
	}
	name(&r, living, later)
	for _, tt := range []struct {
		since time.Time
		want  string
	}{{later, "of_a"}, {time.Now().Add(-time.Minute), unknown}, {time.Now(), unknown}, {time.Time{}, unknown}} {
		if got := name(&r, own, tt.since); got != tt.want {
			t.Errorf("sampled since %v: %s, want %s", tt.since, got, tt.want)
		}
	}
}

// The file that has not been used for longest is forgotten when too much is kept.
func TestFilesAreForgotten(t *testing.T) {
	var kept files
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	for _, name := range []string{"a", "b", "c"} {
		writeELF(t, filepath.Join(dir, name), "of_"+name)
		kept.of(open(name), noDebug)
	}
	a := kept.of(open("a"), noDebug)
	if a.size() <= 0 || kept.size != 3*a.size() {
		t.Errorf("three files of %d bytes each: %d", a.size(), kept.size)
	}
	kept.forget(2 * a.size())
	if _, ok := kept.kept[identityOf(t, open("b"))]; ok || len(kept.kept) != 2 || kept.size != 2*a.size() {
		t.Errorf("b was not forgotten, or others were: %v", kept.kept)
	}
	if kept.forget(0); len(kept.kept) != 1 {
		t.Errorf("what was read last is needed: %v", kept.kept)
	}
}

func identityOf(t *testing.T, f *os.File) fileID {
	t.Helper()
	id, err := identify(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
