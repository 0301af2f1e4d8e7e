package cli

import (
	"os"
	"runtime"
	"strings"
	"time"

	"contend/internal/cpu"
	"contend/internal/lazyregexp"
	"contend/report"
)

// environment describes this machine for the document.
func environment(started time.Time) report.Environment {
	e := report.Environment{Started: started, OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), Go: runtime.Version(),
		CPU: cpuModel(), CPULimit: cpu.Limit(os.DirFS("/"))}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		e.Kernel = strings.TrimSpace(string(text))
	}
	return e
}

var modelName = lazyregexp.New(`(?m)^model name\s*:\s*(.+)$`)

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	if m := modelName().FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return "unknown CPU"
}
