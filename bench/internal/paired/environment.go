package paired

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// PrintEnvironment says what a reader must know to judge absolute figures.
func PrintEnvironment(w io.Writer) {
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
	fmt.Fprintf(w, "%d cores of %s, %s, %s, load average %s\n", runtime.NumCPU(), cpu, system, runtime.Version(), LoadAverage())
}

// LoadAverage is of one, five and fifteen minutes. Above the number of cores
// something else is at work.
func LoadAverage() string {
	line, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(line))[:3], " ")
}

// Find looks for a program on PATH, in ~/go/bin and in ~/.cargo/bin. The error
// is exec.ErrNotFound if it is nowhere.
func Find(name string) (path string, err error) {
	if path, err = exec.LookPath(name); err == nil {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	for _, dir := range []string{filepath.Join(home, "go/bin"), filepath.Join(home, ".cargo/bin"), "/usr/sbin"} {
		if path, err = exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// buildContend builds ./cmd/contend; the working directory is the project's
// root.
func buildContend(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/contend")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/contend (run this from the project's root): %w\n%s", err, out)
	}
	return nil
}
