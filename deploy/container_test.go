package deploy_test

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"contend/internal/testenv"
)

// maxImage is the size that the image must not exceed, in bytes: CONTRIBUTING.md has what each module holds of it. A
// call of a method by a name that only the running program knows, as in html/template, makes the linker keep every
// exported method of what is converted to an interface: 20 MB.
const maxImage = 63e6

// certificates is where the image and its base have the authorities that are
// trusted.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

func readFile(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parseDockerfile reads it as BuildKit does; what BuildKit warns of is an error.
func parseDockerfile(text string) ([]instructions.Stage, error) {
	var warnings []error
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, text string, _ []parser.Range) {
		warnings = append(warnings, fmt.Errorf("%s: %s", rule, text))
	}})
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST, lint)
	for _, s := range stages {
		for _, run := range commands[*instructions.RunCommand](s) {
			warnings = append(warnings, run.Expand(func(word string) (string, error) { return word, nil })) // fills in the mounts
		}
	}
	return stages, errors.Join(append(warnings, err)...)
}

// commands are those of one kind in a stage.
func commands[C instructions.Command](s instructions.Stage) (found []C) {
	for _, command := range s.Commands {
		if c, ok := command.(C); ok {
			found = append(found, c)
		}
	}
	return found
}

func stage(stages []instructions.Stage, name string) (instructions.Stage, error) {
	i := slices.IndexFunc(stages, func(s instructions.Stage) bool { return s.Name == name })
	if i < 0 {
		return instructions.Stage{}, fmt.Errorf("there is no stage %q", name)
	}
	return stages[i], nil
}

// buildLine is the command that makes the program, with the folder $OUT for /out.
func buildLine() (string, error) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		return "", err
	}
	stages, err := parseDockerfile(string(text))
	if err != nil {
		return "", err
	}
	build, err := stage(stages, "build")
	if err != nil {
		return "", err
	}
	runs := commands[*instructions.RunCommand](build)
	if len(runs) != 1 {
		return "", fmt.Errorf("stage build has %d RUN, want 1", len(runs))
	}
	return strings.ReplaceAll(strings.Join(runs[0].CmdLine, " "), "/out/", `"$OUT"/`), nil
}

// checkDockerfile returns everything that is wrong with it.
func checkDockerfile(text string) error {
	stages, err := parseDockerfile(text)
	if err != nil || len(stages) == 0 {
		return errors.Join(err, errors.New("no stages"))
	}
	var errs []error
	failf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	names := []string{"scratch"}
	for _, s := range stages {
		if !slices.Contains(names, s.BaseName) && !strings.HasPrefix(s.BaseName, "golang:${GO_VERSION}") {
			failf("FROM %s: no such stage, and no image that we use", s.BaseName)
		}
		for _, c := range commands[*instructions.CopyCommand](s) {
			if c.From != "" && !slices.Contains(names, c.From) {
				failf("COPY --from=%s: no such stage before", c.From)
			}
			for _, source := range c.SourcePaths {
				if _, err := os.Stat(filepath.Join(root, source)); c.From == "" && err != nil {
					failf("COPY %s: %w", source, err)
				}
			}
		}
		for _, run := range commands[*instructions.RunCommand](s) {
			errs = append(errs, checkCaches(run))
		}
		names = append(names, s.Name)
	}
	if !slices.Contains(names, "test") {
		failf("no stage runs the tests")
	}
	return errors.Join(append(errs, checkFinal(stages[len(stages)-1]))...)
}

// checkCaches asks that the go tool finds what it had the last time.
func checkCaches(run *instructions.RunCommand) error {
	want := []string{"/go/pkg/mod"}
	line := strings.Join(run.CmdLine, " ")
	if !strings.Contains(line, "go mod download") {
		want = append(want, "/root/.cache/go-build")
	}
	for _, m := range instructions.GetMounts(run) {
		if m.Type == instructions.MountTypeCache {
			want = slices.DeleteFunc(want, func(target string) bool { return target == m.Target })
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("RUN %s: no cache at %v", line, want)
	}
	return nil
}

// checkFinal checks the image itself.
func checkFinal(s instructions.Stage) error {
	var errs []error
	failf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.BaseName != "scratch" {
		failf("the image is based on %s, want scratch", s.BaseName)
	}
	if n := len(commands[*instructions.RunCommand](s)); n > 0 {
		failf("the image has %d RUN, and no shell", n)
	}
	users := commands[*instructions.UserCommand](s)
	if len(users) != 1 || !numericUser(users[0].User) {
		failf("USER must stand once, with numbers other than 0, so that Kubernetes can see that it is not root")
	}
	labels := make(map[string]string)
	for _, c := range commands[*instructions.LabelCommand](s) {
		for _, l := range c.Labels {
			labels[strings.Trim(l.Key, `"`)] = strings.Trim(l.Value, `"`)
		}
	}
	for _, name := range []string{"title", "description", "licenses"} {
		if labels["org.opencontainers.image."+name] == "" {
			failf("no label org.opencontainers.image.%s", name)
		}
	}
	health := commands[*instructions.HealthCheckCommand](s)
	if len(health) != 1 || len(health[0].Health.Test) < 4 || !slices.Equal(health[0].Health.Test[:3], []string{"CMD", "/contend", "health"}) {
		failf("HEALTHCHECK must be CMD /contend health URL")
	}
	entry, command := final(s)
	if !slices.Equal(entry, []string{"/contend"}) || len(command) == 0 {
		failf("ENTRYPOINT is %q and CMD %q, want /contend and its arguments", entry, command)
	}
	for _, c := range commands[*instructions.ExposeCommand](s) {
		for _, port := range c.Ports {
			if !slices.Contains(command, ":"+port) {
				failf("EXPOSE %s: CMD %q does not listen there", port, command)
			}
		}
	}
	return errors.Join(errs...)
}

func numericUser(user string) bool {
	var uid, gid uint32
	n, err := fmt.Sscanf(user, "%d:%d", &uid, &gid)
	return n == 2 && err == nil && uid > 0 && gid > 0 && user == fmt.Sprintf("%d:%d", uid, gid)
}

// final returns what the image runs.
func final(s instructions.Stage) (entry, command []string) {
	for _, c := range commands[*instructions.EntrypointCommand](s) {
		if !c.PrependShell {
			entry = c.CmdLine
		}
	}
	for _, c := range commands[*instructions.CmdCommand](s) {
		if !c.PrependShell {
			command = c.CmdLine
		}
	}
	return entry, command
}

func TestDockerfile(t *testing.T) {
	text := readFile(t, "Dockerfile")
	if err := checkDockerfile(text); err != nil {
		t.Error(err)
	}
	image := regexp.MustCompile(`(?m)^ARG GO_VERSION=(\d+\.\d+)`).FindStringSubmatch(text)
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, root, "go.mod"))
	if image == nil || module == nil || image[1] != module[1] {
		t.Errorf("the image is built with Go %q, go.mod wants %q", image, module)
	}
}

// Each check finds what it is there for.
func TestDockerfileChecks(t *testing.T) {
	good := readFile(t, "Dockerfile")
	tests := []struct{ name, old, new, want string }{
		{"syntax", "FROM scratch", "FORM scratch", "unknown instruction"},
		{"stage", "FROM source AS build", "FROM sources AS build", "FROM sources"},
		{"copy from", "--from=build /out", "--from=biuld /out", "--from=biuld"},
		{"copy of nothing", "COPY LICENSE /", "COPY LICENCE /", "LICENCE"},
		{"base", "FROM scratch", "FROM source", "want scratch"},
		{"shell", "USER 65532", "RUN true\nUSER 65532", "no shell"},
		{"root", "USER 65532:65532", "USER 0:0", "USER must"},
		{"named user", "USER 65532:65532", "USER nobody", "USER must"},
		{"no user", "USER 65532:65532\n", "", "USER must"},
		{"label", `image.licenses="Apache-2.0"`, `image.license="Apache-2.0"`, "image.licenses"},
		{"health", `"health", "http`, `"version", "http`, "HEALTHCHECK"},
		{"shell form", `ENTRYPOINT ["/contend"]`, "ENTRYPOINT /contend", "ENTRYPOINT"},
		{"port", "EXPOSE 8080", "EXPOSE 8081", "EXPOSE 8081"},
		{"modules not cached", "    --mount=type=cache,target=/root/.cache/go-build \\\n    go vet", "    go vet", "no cache at [/root/.cache/go-build]"},
		{"no tests", "FROM source AS test", "FROM source AS tests", "no stage runs the tests"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			broken := strings.ReplaceAll(good, tt.old, tt.new)
			if broken == good {
				t.Fatalf("%q does not occur", tt.old)
			}
			if err := checkDockerfile(broken); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// The program needs no library of the system and leaves room in the image.
func TestProgramIsStaticAndSmall(t *testing.T) {
	file, err := elf.Open(contend(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it is not static", p.Type)
		}
	}
	info, err := os.Stat(contend(t))
	if err != nil {
		t.Fatal(err)
	}
	const others = 0.5e6 // certificates and licence have 0.24 MB
	if info.Size() > maxImage-others {
		t.Errorf("the program has %.1f MB, and the image may have %.0f", float64(info.Size())/1e6, maxImage/1e6)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	if out, err := exec.CommandContext(t.Context(), contend(t), "--version").Output(); err != nil || !strings.HasPrefix(string(out), "contend version") {
		t.Errorf("the program answers %q, %v", out, err)
	}
}

// imageRoot is a folder with what the image has, and no more.
func imageRoot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	reachable(t, dir)
	program, err := os.ReadFile(contend(t))
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := os.ReadFile(certificates)
	if err != nil {
		trusted = []byte("none here\n")
	}
	files := map[string][]byte{"contend": program, "LICENSE": []byte(readFile(t, root, "LICENSE")), certificates: trusted}
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reachable has any user get to a folder.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != filepath.Dir(scratch) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// anyPort has a service listen on free ports of this machine alone.
func anyPort(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, ":") {
			args[i] = "127.0.0.1:0"
		}
	}
	return args
}

// Nothing that is in the repository is left out: Go would call the build dirty.
func TestDockerignore(t *testing.T) {
	list := exec.CommandContext(t.Context(), "git", "ls-files")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		testenv.Missing(t, fmt.Errorf("git ls-files: %w", err))
	}
	var patterns []string
	for line := range strings.Lines(readFile(t, root, ".dockerignore")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	for file := range strings.Lines(string(out)) {
		if p := ignoredBy(patterns, strings.TrimSpace(file)); p != "" {
			t.Errorf("%s leaves out %s", p, file)
		}
	}
	for file, want := range map[string]bool{"contend": true, "cmd/contend/main.go": false, "deploy/compose/secrets/pgpass": true,
		"trial/cpu.prof": true, ".git/HEAD": false} {
		if got := ignoredBy(patterns, file) != ""; got != want {
			t.Errorf("%s is left out: %v, want %v", file, got, want)
		}
	}
}

// ignoredBy returns the pattern that matches a file or a folder that holds it.
func ignoredBy(patterns []string, file string) string {
	for _, pattern := range patterns {
		anywhere := strings.HasPrefix(pattern, "**/")
		glob := strings.TrimPrefix(strings.TrimPrefix(pattern, "**/"), "/")
		for name := file; name != "."; name = path.Dir(name) {
			if ok, _ := path.Match(glob, name); ok {
				return pattern
			}
			if ok, _ := path.Match(glob, path.Base(name)); ok && anywhere {
				return pattern
			}
		}
	}
	return ""
}

// buildah really makes the last stage, from a stand-in for the stage that builds.
func TestImageByBuildah(t *testing.T) {
	buildah, err := exec.LookPath("buildah")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs buildah, and root")
	}
	text := readFile(t, "Dockerfile")
	at := strings.Index(text, "FROM scratch")
	dir := imageRoot(t)
	standIn := "FROM scratch AS build\nCOPY contend /out/contend\nCOPY ca-certificates.crt " + certificates + "\n"
	if err := os.Rename(filepath.Join(dir, certificates), filepath.Join(dir, "ca-certificates.crt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(standIn+text[at:]), 0o644); err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	run := func(args ...string) string {
		args = append([]string{"--storage-driver", "vfs", "--root", store, "--runroot", store + "/run"}, args...)
		out, err := exec.CommandContext(t.Context(), buildah, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("bud", "--isolation", "chroot", "--format", "docker", "-t", "contend:test", dir)
	id := run("from", "contend:test")
	size, err := treeSize(run("mount", id))
	run("umount", id)
	if err != nil || size > maxImage {
		t.Errorf("the image has %.1f MB, want at most %.0f (%v)", float64(size)/1e6, maxImage/1e6, err)
	}
	t.Logf("%.1f MB", float64(size)/1e6)
}

// treeSize adds up the sizes of all files below a folder.
func treeSize(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
