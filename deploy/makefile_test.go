package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"contend/internal/uplink/api"
)

// makeProgram is the path of make.
func makeProgram(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("make")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no make on the PATH of CI")
		}
		t.Skip("no make on the PATH")
	}
	return program
}

// runMake runs make in the root, as if no other make had called the tests.
func runMake(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), makeProgram(t), args...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "MAKE") || strings.HasPrefix(entry, "MFLAGS=")
	})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Every target does what it says, on something small.
func TestMakeTargets(t *testing.T) {
	makeProgram(t)
	program, secrets := filepath.Join(t.TempDir(), "contend"), filepath.Join(t.TempDir(), "secrets")
	tests := []struct {
		args []string
		want string // in the output
	}{
		{[]string{}, "compose-up"},
		{[]string{"build", "OUT=" + program}, "go build"},
		{[]string{"test", "PKG=./docs"}, "contend/docs"},
		{[]string{"race", "PKG=./probe"}, "contend/probe"},
		{[]string{"bench", "PKG=./stat", "BENCH=^none$"}, "contend/stat"},
		{[]string{"lint", "PKG=./docs"}, "staticcheck"},
		{[]string{"lab", "LAB=--list"}, "http-guard"},
		{[]string{"compose-secrets", "SECRETS=" + secrets}, ""},
		{[]string{"kube-validate", "KUBE=TestKubernetesFiles"}, "contend/deploy"},
		{[]string{"-n", "fuzz"}, "fuzz"},
		{[]string{"-n", "golden"}, "-update"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			out, err := runMake(t, tt.args...)
			if err != nil || !strings.Contains(out, tt.want) {
				t.Errorf("%v, want an output with %q:\n%s", err, tt.want, out)
			}
		})
	}
	if out, err := exec.CommandContext(t.Context(), program, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "contend version") {
		t.Errorf("the program that was built answers %q, %v", out, err)
	}
}

// Where there is no engine, the targets that need one say so.
func TestMakeWithoutEngine(t *testing.T) {
	for _, target := range []string{"image", "compose-up", "compose-down"} {
		out, err := runMake(t, target, "ENGINE=no-such-engine")
		if err == nil || !strings.Contains(out, "no no-such-engine on the PATH") {
			t.Errorf("make %s: %v, want it to miss the engine:\n%s", target, err, out)
		}
		out, err = runMake(t, target, "ENGINE=false")
		if err == nil || !strings.Contains(out, "no engine to talk to") {
			t.Errorf("make %s: %v, want it to miss what answers:\n%s", target, err, out)
		}
		if exec.CommandContext(t.Context(), "docker", "info").Run() == nil {
			continue // it would work, and take minutes
		}
		if out, err := runMake(t, target); err == nil || !strings.Contains(out, "ENGINE=podman") {
			t.Errorf("make %s: %v, want it to say what is missing:\n%s", target, err, out)
		}
	}
}

// `make` lists every target but those that are parts of others.
func TestMakeHelp(t *testing.T) {
	text := readFile(t, root, "Makefile")
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(text)
	if phony == nil {
		t.Fatal("no .PHONY")
	}
	out, err := runMake(t, "help")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range strings.Fields(phony[1]) {
		if target != "engine" && !strings.Contains(out, "\n"+target+" ") && !strings.HasPrefix(out, target+" ") {
			t.Errorf("help does not name %s:\n%s", target, out)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(strings.Fields(phony[1]), m[1]) {
			t.Errorf("%s is not in .PHONY", m[1])
		}
	}
}

// The program of `make build` is the one of the image.
func TestMakeFlags(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^FLAGS\s*:= (.*)$`).FindStringSubmatch(readFile(t, root, "Makefile"))
	line, err := buildLine()
	if err != nil || flags == nil || !strings.Contains(line, "go build "+flags[1]+" ") {
		t.Errorf("the Makefile builds with %q, the Dockerfile with %q (%v)", flags, line, err)
	}
}

// The secrets are the ones that Compose mounts, and are made once.
func TestComposeSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	var before map[string]string
	for range 2 {
		if out, err := runMake(t, "compose-secrets", "SECRETS="+dir); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		now := make(map[string]string)
		project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for name, secret := range project.Secrets {
			now[name] = readFile(t, dir, filepath.Base(secret.File))
			if now[name] == "" || before != nil && now[name] != before[name] {
				t.Errorf("%s is %q, and was %q", name, now[name], before[name])
			}
		}
		before = now
	}
	project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", filepath.Join(dir, "pgpass"))
	for _, arg := range project.Services["router"].Command {
		if url, found := strings.CutPrefix(arg, "--db="); found {
			config, err := pgx.ParseConfig(url)
			if err != nil || config.Password != before["postgres-password"] {
				t.Errorf("%s is opened with the password %q, want %q (%v)", url, config.Password, before["postgres-password"], err)
			}
		}
	}
	if _, err := api.ParseTokens(strings.NewReader(before["router-tokens"])); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the secrets has the mode %v, want 0700 (%v)", info.Mode(), err)
	}
}
