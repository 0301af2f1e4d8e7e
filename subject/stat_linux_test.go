package subject

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/procfs"

	"contend/internal/testenv"
)

// What is read is what procfs reads, even for a program whose name is hard to read.
func TestStatOf(t *testing.T) {
	program := filepath.Join(t.TempDir(), "a) R 1 (b")
	testenv.Must(t, os.Symlink(must(exec.LookPath("sleep")), program))
	sleeping := exec.Command(program, "3600")
	testenv.Must(t, sleeping.Start())
	t.Cleanup(func() {
		_ = sleeping.Process.Kill()
		_ = sleeping.Wait()
	})
	pid := sleeping.Process.Pid
	testenv.Eventually(t, "it sleeps, and both read the same", func() bool {
		got, err := statOf(pid)
		testenv.Must(t, err)
		all := must(must(procfs.NewProc(pid)).Stat())
		want := procfs.ProcStat{PID: all.PID, Comm: all.Comm, State: all.State, PPID: all.PPID, PGRP: all.PGRP, Session: all.Session,
			MinFlt: all.MinFlt, CMinFlt: all.CMinFlt, MajFlt: all.MajFlt, CMajFlt: all.CMajFlt, CUTime: all.CUTime, CSTime: all.CSTime,
			NumThreads: all.NumThreads, Starttime: all.Starttime, RSS: all.RSS}
		return got == want && got.State == "S" && got.Comm == filepath.Base(program)
	})
	if _, err := statOf(1 << 22); err == nil { // pid_max is at most 2^22
		t.Error("the stat of nobody")
	}
}

func FuzzStat(f *testing.F) {
	f.Add("7 (a b) S 1 2 3 0 -1 4194560 10 11 12 13 14 15 16 17 20 0 1 0 22 23 24 25")
	f.Add("7 (a) b) Z 1")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStat(7, text)
		if err == nil && (s.State == "" || !strings.Contains(text, "("+s.Comm+")")) {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}

func BenchmarkProcesses(b *testing.B) {
	for b.Loop() {
		if _, err := processes(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		if _, err := tree(os.Getppid()); err != nil {
			b.Fatal(err)
		}
	}
}
