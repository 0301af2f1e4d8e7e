package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"contend/internal/testenv"
	"contend/systems/uplink/api"
)

// variables are those of the Makefile that the environment may set, as a make does
// for the tests that it calls.
var variables = regexp.MustCompile(`(?m)^([A-Z]+) *\?=`)

// runMake runs make in the root, as if no other make had called the tests. Programs
// of the folder first, if it is not empty, come before those of the PATH.
func runMake(t *testing.T, first string, args ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "make"), args...)
	cmd.Dir = root
	inherited := []string{"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}
	for _, m := range variables.FindAllStringSubmatch(readFile(t, root, "Makefile"), -1) {
		inherited = append(inherited, m[1])
	}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(inherited, name)
	})
	if first != "" {
		cmd.Env = append(cmd.Env, "PATH="+first+":"+os.Getenv("PATH"))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Every target runs the commands that it is there for. CI runs them for real; here
// another program says in place of Go how it was called.
func TestMakeTargets(t *testing.T) {
	const program = "#!/bin/sh\ncase $1 in list|mod) exec '%s' \"$@\";; esac\necho \"go[$CGO_ENABLED] $*.\"\n"
	bin, secrets := t.TempDir(), filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, program, testenv.Program(t, "go")), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CGO_ENABLED", "")
	out, err := exec.CommandContext(t.Context(), "./flags").Output()
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.TrimSpace(string(out)) + " -ldflags=-s -w"
	tests := []struct {
		args []string
		want string // in the output
	}{
		{[]string{}, "compose-up"},
		{[]string{"build"}, "go[0] build " + flags + " -o contend ./cmd/contend."},
		{[]string{"build", "OUT=/else/where"}, "go[0] build " + flags + " -o /else/where ./cmd/contend."},
		{[]string{"test"}, "go[] -C . test ./....\ngo[] -C deploy test ./...."},
		{[]string{"-s", "test", "lab", "PKG=./docs"}, "go[] -C . test ./docs.\ngo[0] run"},
		{[]string{"race"}, "go[1] test -race ./..."},
		{[]string{"race", "PKG=./probe"}, "go[1] test -race ./probe."},
		{[]string{"bench", "PKG=./stat", "BENCH=^none$$"}, "go[] test -run ^$ -bench ^none$ -benchmem ./stat."},
		{[]string{"-s", "lint", "PKG=./docs"}, "go[] -C . vet ./docs.\ngo[] -C . run honnef.co/go/tools/cmd/staticcheck@"},
		{[]string{"lab", "LAB=--list"}, "go[0] run " + flags + " ./cmd/contend lab --list."},
		{[]string{"compose-secrets", "SECRETS=" + secrets}, ""},
		{[]string{"kube-validate"}, "go[] -C deploy test -run Kubernetes .."},
		{[]string{"-n", "compose-down"}, "compose.yaml down --remove-orphans"},
		{[]string{"-n", "release"}, "--skip=publish --snapshot"},
		{[]string{"-n", "release", "REPOSITORY=github.com/somebody/contend", "PUBLISH="}, "REPOSITORY=github.com/somebody/contend OWNER=somebody"},
		{[]string{"-n", "fuzz"}, "./.ci/fuzz "},
		{[]string{"golden"}, "go[] test ./report ./experiment ./internal/cli -update."},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			out, err := runMake(t, bin, tt.args...)
			if err != nil || !strings.Contains(out, tt.want) {
				t.Errorf("%v, want an output with %q:\n%s", err, tt.want, out)
			}
		})
	}
}

// Without an engine the targets that need one say so.
func TestMakeWithoutEngine(t *testing.T) {
	for _, target := range []string{"image", "compose-up", "compose-down"} {
		out, err := runMake(t, "", target, "ENGINE=no-such-engine")
		if err == nil || !strings.Contains(out, "no no-such-engine on the PATH") {
			t.Errorf("make %s: %v, want it to miss the engine:\n%s", target, err, out)
		}
		out, err = runMake(t, "", target, "ENGINE=false")
		if err == nil || !strings.Contains(out, "no engine to talk to") {
			t.Errorf("make %s: %v, want it to miss what answers:\n%s", target, err, out)
		}
		if exec.CommandContext(t.Context(), "docker", "info").Run() == nil {
			continue // it would work, and take minutes
		}
		if out, err := runMake(t, "", target); err == nil || !strings.Contains(out, "ENGINE=podman") {
			t.Errorf("make %s: %v, want it to say what is missing:\n%s", target, err, out)
		}
	}
}

// Docker without Buildx is distinguished from what can build the image.
func TestMakeImage(t *testing.T) {
	for name, tt := range map[string]struct {
		version, buildx string // its exit code
		builds          bool
	}{
		"docker":         {"Docker version 29.1.3, build f52814d", "0", true},
		"without buildx": {"Docker version 29.1.3, build f52814d", "1", false},
		"podman":         {"podman version 5.4.0", "1", true},
	} {
		program := "#!/bin/sh\ncase $1 in\n--version) echo '" + tt.version + "';;\nbuildx) exit " + tt.buildx + ";;\nbuild) echo \"builds $*.\";;\nesac\n"
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "engine"), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := runMake(t, bin, "image", "ENGINE=engine", "IMAGE=x:1")
		if built := strings.Contains(out, "builds build -f deploy/Dockerfile -t x:1 .."); built != tt.builds || built != (err == nil) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if said := strings.Contains(out, "install the Buildx plugin"); said == tt.builds {
			t.Errorf("%s: it says %q", name, out)
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
	out, err := runMake(t, "", "help")
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

// The program of `make build` is the one of the image and of a release.
func TestMakeFlags(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^FLAGS\s*:= (.*)$`).FindStringSubmatch(readFile(t, root, "Makefile"))
	line, err := buildLine()
	if err != nil || flags == nil || !strings.Contains(line, "go build "+strings.ReplaceAll(flags[1], "$$", "$")+" ") {
		t.Errorf("the Makefile builds with %q, the Dockerfile with %q (%v)", flags, line, err)
	}
	linked := regexp.MustCompile(`\n *ldflags: \[(.*)\]`).FindStringSubmatch(readFile(t, "release/goreleaser.yaml"))
	if linked == nil || flags[1] != `$$flags -ldflags="`+linked[1]+`"` || !strings.Contains(readFile(t, root, "Makefile"), `flags=$$(deploy/flags); export GOPROXY=off GOFLAGS="$$flags"`) {
		t.Errorf("the Makefile builds with %q, a release links with %q", flags, linked)
	}
}

// The secrets are the ones that Compose mounts, and are made once.
func TestComposeSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	var before map[string]string
	for range 2 {
		if out, err := runMake(t, "", "compose-secrets", "SECRETS="+dir); err != nil {
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
