package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// printEnvironment says what a reader must know to judge absolute figures.
func printEnvironment(w io.Writer) {
	cpu := "unknown CPU"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info); found != nil {
			cpu = string(found[1])
		}
	}
	system := runtime.GOOS
	if out, err := exec.Command("uname", "-sr").Output(); err == nil {
		system = strings.TrimSpace(string(out))
	}
	fmt.Fprintf(w, "%d cores of %s, %s, %s, load average %s\n", runtime.NumCPU(), cpu, system, runtime.Version(), loadAverage())
}

// loadAverage is of one, five and fifteen minutes. Above the number of cores
// something else is at work.
func loadAverage() string {
	line, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(line))[:3], " ")
}
