package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// The image's command and health check work in an image with nothing else, for
// its user, who may write nowhere.
func TestImageRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing the root needs root")
	}
	stages, err := parseDockerfile(readFile(t, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	dir := imageRoot(t)
	inside := func(args ...string) *exec.Cmd {
		return &exec.Cmd{Path: args[0], Args: args, Dir: "/", Env: []string{}, SysProcAttr: confined(dir, 65532)}
	}
	entry, command := final(last)
	addresses := start(t, inside(anyPort(slices.Concat(entry, command))...))
	health := commands[*instructions.HealthCheckCommand](last)[0].Health.Test[1:]
	for _, tt := range []struct {
		from, to string
		exit     int
	}{{"127.0.0.1:8080", addresses["http"], 0}, {"127.0.0.1:8080/health", addresses["http"] + "/nothing-here", 1}} {
		args := slices.Clone(health)
		for i := range args {
			args[i] = strings.Replace(args[i], tt.from, tt.to, 1)
		}
		check := inside(args...)
		var out bytes.Buffer
		check.Stdout, check.Stderr = &out, &out
		if err := check.Run(); check.ProcessState == nil || check.ProcessState.ExitCode() != tt.exit {
			t.Errorf("%q: %v, want exit status %d: %s", args, err, tt.exit, &out)
		}
	}
}

// confined has a process see only a folder, as a user who is not root.
func confined(dir string, user uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
}
