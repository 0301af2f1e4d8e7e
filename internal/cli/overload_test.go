package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/internal/testenv"
)

// If others have taken the cores of the machine, two real servers get no
// verdict, and the first line says so, and why.
func TestAnOverloadedMachineRefusesItsVerdict(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what others use of the machine is known on Linux only")
	}
	overload(t)
	const server = "contend serve counter --http {{addr}} --guard mutex"
	var stdout, stderr bytes.Buffer
	var exit *exec.ExitError
	compare := func() error {
		stdout.Reset()
		stderr.Reset()
		// On such a machine generators wait for hundreds of milliseconds before they begin. Callers that think do not saturate them, after
		// which all would be repeated at a constant rate.
		cmd := exec.CommandContext(t.Context(), "contend", "compare", "--full", "--block", "500ms", "--think", "5ms", "--warmup", "0s", "--rounds", "1", "--pairs", "1",
			"--url", "http://{{addr}}/status", "-c", "4", "--", server, server)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		return cmd.Run()
	}
	err := compare()
	for end := time.Now().Add(testenv.Patience); errors.As(err, &exit) && starved(exit.ExitCode(), stdout.String()+stderr.String()) && time.Now().Before(end); {
		err = compare()
	}
	if !errors.As(err, &exit) || exit.ExitCode() != exitUndecided {
		t.Fatalf("%v, want exit code %d\n%s%s", err, exitUndecided, &stdout, &stderr)
	}
	first, _, _ := strings.Cut(stdout.String(), "\n")
	t.Log(first)
	m := regexp.MustCompile(`(?m)^INVALID \((\w+)\): \S`).FindStringSubmatch(stdout.String())
	if m == nil {
		t.Fatalf("no line says why it is INVALID:\n%s", &stdout)
	}
	advice := finding.Advice(m[1])
	if text := strings.Join(strings.Fields(stdout.String()), " "); advice == "" || !strings.Contains(text, advice) {
		t.Errorf("what to do about %s (%q) is not said in\n%s", m[1], advice, &stdout)
	}
}

// overload keeps every core busy several times over until the test ends.
func overload(t *testing.T) {
	for range 3 * runtime.NumCPU() {
		burner := exec.Command("burn", (10 * testenv.Patience).String())
		if err := burner.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			burner.Process.Kill()
			burner.Wait()
		})
	}
}
