package subject

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// statOf reads what this package uses of /proc/PID/stat; all else in a ProcStat stays zero.
// descent reads the file of every process there is, and to scan its 52 fields with fmt, as
// procfs does, takes more CPU time than all else.
func statOf(pid int) (procfs.ProcStat, error) {
	text, err := readProc("/proc/%d/stat", pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return parseStat(pid, text)
}

// parseStat reads the text of a stat (proc_pid_stat(5)). The name of the program, between
// parentheses, may have any character in it.
func parseStat(pid int, text string) (procfs.ProcStat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return procfs.ProcStat{}, fmt.Errorf("/proc/%d/stat names no program: %q", pid, text)
	}
	const first = 3 // the field after the name, as the manual counts them
	fields := strings.Fields(text[end+1:])
	if last := 24; len(fields) <= last-first {
		return procfs.ProcStat{}, fmt.Errorf("/proc/%d/stat has %d fields behind the name", pid, len(fields))
	}
	var wrong error
	number := func(field int) int {
		n, err := strconv.Atoi(fields[field-first])
		wrong = cmp.Or(wrong, err)
		return n
	}
	s := procfs.ProcStat{
		PID: pid, Comm: text[open+1 : end], State: fields[0], PPID: number(4), PGRP: number(5), Session: number(6),
		MinFlt: uint(number(10)), CMinFlt: uint(number(11)), MajFlt: uint(number(12)), CMajFlt: uint(number(13)),
		CUTime: number(16), CSTime: number(17), NumThreads: number(20), Starttime: uint64(number(22)), RSS: number(24),
	}
	return s, wrong
}

// mostOfProc bounds what is read of a file of /proc.
const mostOfProc = 1024

// readProc reads a file of /proc, or its beginning.
func readProc(path string, numbers ...any) (string, error) {
	fd, err := unix.Open(fmt.Sprintf(path, numbers...), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [mostOfProc]byte
	n, err := unix.Read(fd, buf[:])
	return string(buf[:max(0, n)]), err
}
