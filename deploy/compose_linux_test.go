package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/uplink/table/tabletest"
)

// startComposed starts a service with the command of the Compose file, where only
// the addresses are those of this machine, and returns what it logs.
func startComposed(t *testing.T, service types.ServiceConfig, others map[string]string) map[string]string {
	t.Helper()
	args := slices.Clone([]string(service.Command))
	for i, arg := range args {
		for from, to := range others {
			arg = strings.Replace(arg, from, to, 1)
		}
		args[i] = regexp.MustCompile(`=:\d+$`).ReplaceAllString(arg, "=127.0.0.1:0")
	}
	cmd := exec.Command(contend(t), args...)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return start(t, cmd)
}

// startStack starts the counter and the router of the Compose file on a real Redis
// and a real PostgreSQL.
func startStack(t *testing.T) (project *types.Project, counter, router string) {
	t.Helper()
	project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("demo 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	others := map[string]string{
		"redis://redis:6379":               redistest.Start(t).TCP(),
		"postgres://ran@postgres:5432/ran": tabletest.Start(t).Fresh(t),
		"/run/secrets/router-tokens":       tokens,
	}
	return project, startComposed(t, project.Services["counter"], others)["http"], startComposed(t, project.Services["router"], others)["http"]
}

// The commands of the Compose file are understood by the program, its health
// checks are answered, and turn bad when the service is gone.
func TestComposeServices(t *testing.T) {
	t.Parallel()
	project, counter, router := startStack(t)
	for name, address := range map[string]string{"counter": counter, "router": router} {
		args := slices.Clone([]string(project.Services[name].HealthCheck.Test[2:]))
		for address, want := range map[string]int{address: 0, testenv.HeldAddress(t): 1} {
			args[1] = strings.Replace(healthURL(project.Services[name]), "127.0.0.1:8080", address, 1)
			cmd := exec.CommandContext(t.Context(), contend(t), args...)
			if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
				t.Errorf("%s: %q: %v, want exit status %d: %s", name, args, err, want, out)
			}
		}
	}
}
