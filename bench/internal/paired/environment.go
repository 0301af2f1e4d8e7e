package paired

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
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
	for _, dir := range []string{"go", ".cargo"} {
		if path, err = exec.LookPath(filepath.Join(home, dir, "bin", name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// BuildContend builds ./cmd/contend; the working directory is the project's
// root.
func BuildContend(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "./cmd/contend")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/contend (run this from the project's root): %w\n%s", err, out)
	}
	return nil
}

// CountContend reads the document of contend run --json.
func CountContend(report []byte) (completed, wrong int64, err error) {
	var document struct {
		Results []struct {
			Completed, Failed int64
			Errored           map[string]int64
		}
	}
	if err := json.Unmarshal(report, &document); err != nil {
		return 0, 0, err
	}
	if len(document.Results) != 1 {
		return 0, 0, errors.New("want one result")
	}
	wrong = document.Results[0].Failed
	for _, n := range document.Results[0].Errored {
		wrong += n
	}
	return document.Results[0].Completed, wrong, nil
}

// FreeAddress returns a loopback address with a port that was free just now.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitListener returns once the address accepts connections.
func awaitListener(address string) error {
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("nothing listens on %s", address)
}
