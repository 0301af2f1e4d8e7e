package cpu

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestLimited is the process that TestLimitOfARealGroup limits.
func TestLimited(t *testing.T) {
	if os.Getenv("CPU_TEST_LIMITED") == "" {
		t.Skip("only as a child")
	}
	fmt.Printf("limit %v gomaxprocs %d\n", Limit(os.DirFS("/")), runtime.GOMAXPROCS(0))
}

// The runtime takes the limit, rounded up, but at least 2 (package runtime), so
// this can see it follow on more than two cores only.
func TestLimitOfARealGroup(t *testing.T) {
	for _, percent := range []int{50, 150, 250} {
		t.Run(strconv.Itoa(percent), func(t *testing.T) {
			group := limitedGroup(t, percent)
			child := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(group, "cgroup.procs"),
				os.Args[0], "-test.run=^TestLimited$", "-test.v")
			child.Env = append(os.Environ(), "CPU_TEST_LIMITED=yes", "GOMAXPROCS=")
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			want := float64(percent) / 100
			procs := min(Allowed(), max(2, int(math.Ceil(want))))
			var limit float64
			var got int
			for line := range strings.Lines(string(out)) {
				if n, _ := fmt.Sscanf(line, "limit %v gomaxprocs %d", &limit, &got); n == 2 {
					break
				}
			}
			if limit != want || got != procs {
				t.Errorf("limit %v with GOMAXPROCS %d, want %v with %d:\n%s", limit, got, want, procs, out)
			}
		})
	}
}

// limitedGroup makes a control group with a limit, of version 1 or 2, for the
// time of the test.
func limitedGroup(t *testing.T, percent int) string {
	t.Helper()
	const period = 100_000 // µs
	quota := period * percent / 100
	name := fmt.Sprintf("contend-test-%d-%d", os.Getpid(), percent)
	var errs []error
	for _, v := range []struct {
		parent string
		files  map[string]string
	}{
		{"/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": strconv.Itoa(quota)}},
		{"/sys/fs/cgroup", map[string]string{"cpu.max": fmt.Sprintf("%d %d", quota, period)}},
	} {
		if _, err := os.Stat(v.parent); err != nil {
			errs = append(errs, err)
			continue
		}
		dir := filepath.Join(v.parent, name)
		err := os.Mkdir(dir, 0o755)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		for file, text := range v.files {
			err = errors.Join(err, writeExisting(filepath.Join(dir, file), text))
		}
		if err == nil {
			return dir
		}
		errs = append(errs, err)
	}
	t.Skipf("no control group can be limited here: %v", errors.Join(errs...))
	return ""
}

// writeExisting writes to a file of the kernel, which it does not create.
func writeExisting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
