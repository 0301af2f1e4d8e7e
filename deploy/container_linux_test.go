package deploy_test

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The command and the health check of a release's image, which are those of the Dockerfile, work in it, for its user,
// who may write nowhere.
func TestImageRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing the root needs root")
	}
	config, dir := unpackedImage(t)
	if config.User != "65532:65532" || len(config.ExposedPorts) != 2 || config.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" || config.Healthcheck.Interval != 10*time.Second {
		t.Errorf("the image is not that of the Dockerfile: %+v", config)
	}
	if trusted := x509.NewCertPool(); !trusted.AppendCertsFromPEM([]byte(readFile(t, dir, certificates))) {
		t.Error("the image trusts nobody")
	}
	inside := func(args ...string) *exec.Cmd {
		return &exec.Cmd{Path: args[0], Args: args, Dir: "/", Env: []string{}, SysProcAttr: confined(dir, 65532)}
	}
	addresses := start(t, inside(anyPort(slices.Concat(config.Entrypoint, config.Cmd))...))
	health := config.Healthcheck.Test[1:]
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
