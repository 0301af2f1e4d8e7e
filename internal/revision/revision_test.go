package revision_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/revision"
	"contend/internal/testenv"
	"contend/setting"
)

// A checkout is a git repository of a test, with a cache of its own.
type checkout struct {
	*testing.T
	top, cache string
	env        []string
}

// newCheckout makes a repository with two commits of the file "source": one, tagged
// v1, and two on main.
func newCheckout(t *testing.T) *checkout {
	t.Helper()
	testenv.Program(t, "git")
	testenv.Program(t, "sh")
	c := &checkout{T: t, top: folder(t), cache: filepath.Join(folder(t), "not", "yet"), env: append(os.Environ(), "GIT_TEMPLATE_DIR=", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")}
	c.git("init", "-q", "-b", "main")
	c.commit("the first", map[string]string{"source": "one"})
	c.git("tag", "v1")
	c.commit("the second", map[string]string{"source": "two"})
	return c
}

// folder is a temporary one by its real path, as git names it.
func folder(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *checkout) gitIn(folder string, args ...string) string {
	c.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Env = folder, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c *checkout) git(args ...string) string {
	c.Helper()
	return c.gitIn(c.top, args...)
}

func (c *checkout) write(files map[string]string) {
	c.Helper()
	for name, text := range files {
		path := filepath.Join(c.top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *checkout) commit(message string, files map[string]string) {
	c.Helper()
	c.write(files)
	c.git("add", "-A")
	c.git("commit", "-q", "-m", message)
}

func (c *checkout) open(within string) *revision.Repository {
	c.Helper()
	r, err := revision.Open(c.Context(), revision.Place{Folder: filepath.Join(c.top, within), Cache: c.cache, Env: c.env})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// build builds what a name stands for in a folder of the checkout with a shell script.
func (c *checkout) build(within, name, script string) (*revision.Build, error) {
	c.Helper()
	r := c.open(within)
	v, err := r.Resolve(c.Context(), name)
	if err != nil {
		c.Fatal(err)
	}
	return r.Build(c.Context(), v, []string{"sh", "-c", script})
}

// built returns what a build made, which must succeed.
func (c *checkout) built(within, name, script string) string {
	c.Helper()
	b, err := c.build(within, name, script)
	if err != nil {
		c.Fatal(err)
	}
	text, err := os.ReadFile(b.Program)
	if err := errors.Join(err, b.Remove()); err != nil {
		c.Fatal(err)
	}
	return string(text)
}

// counted is a script that writes a line into a file outside for each time it runs.
func (c *checkout) counted(script string) (whole string, runs func() int) {
	file := filepath.Join(folder(c.T), "runs")
	return "echo >>" + file + "; " + script, func() int {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "\n")
	}
}

// clean checks that an unfinished build has left nothing in the repository and the
// cache.
func (c *checkout) clean() {
	c.Helper()
	if list := c.git("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
		c.Errorf("work trees are left:\n%s", list)
	}
	if left := c.entries("making"); len(left) > 0 {
		c.Errorf("%q are left", left)
	}
}

func (c *checkout) entries(of string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(c.cache, of))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestResolve(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	r := c.open("")
	second, first := c.git("rev-parse", "HEAD"), c.git("rev-parse", "v1")
	check := func(name, commit, subject, text string) {
		t.Helper()
		v, err := r.Resolve(t.Context(), name)
		if err != nil || v.Commit != commit || v.Subject != subject || v.Name != name || v.String() != text {
			t.Errorf("%s is %+v, %v, %v", name, v, v, err)
		}
	}
	check("main", second, "the second", "main ("+second[:7]+")")
	check("HEAD~1", first, "the first", "HEAD~1 ("+first[:7]+")")
	check(first[:9], first, "the first", first[:9]+" ("+first[:7]+")")
	check("worktree", second, "the second", "worktree ("+second[:7]+")")
	c.write(map[string]string{"untracked": ""})
	check("worktree", second, "the second", "worktree ("+second[:7]+"+)")

	c.git("update-ref", "refs/remotes/origin/topic", first)
	for name, want := range map[string]string{
		"mian":   `names "mian", which does not exist; expected branches, tags and commits of ` + c.top + `, as in main, v1.2.0, HEAD~1 or 1a2b3c4, and worktree (did you mean "main"?)`,
		"topic":  `(did you mean "origin/topic"?)`,
		"--all":  `names "--all", which does not exist`,
		"v1^{}x": `names "v1^{}x"`,
		"":       `names ""`,
	} {
		_, err := r.Resolve(t.Context(), name)
		var mistake *setting.Mistake
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want a mistake with %q", name, err, want)
		}
	}

	shallow := folder(t)
	c.gitIn(shallow, "clone", "-q", "--depth", "1", "file://"+c.top, "here")
	c.top = filepath.Join(shallow, "here")
	if _, err := c.open("").Resolve(t.Context(), "HEAD~1"); err == nil || !strings.Contains(err.Error(), "shallow clone (git fetch --unshallow") {
		t.Errorf("a commit that a shallow clone lacks: %v", err)
	}
	if got := c.built("", "HEAD", "cat source >{{out}}"); got != "two" {
		t.Errorf("a shallow clone has %q", got)
	}
}

func TestOpenElsewhere(t *testing.T) {
	testenv.Program(t, "git")
	place := revision.Place{Folder: t.TempDir(), Env: append(os.Environ(), "GIT_CEILING_DIRECTORIES=/")}
	if _, err := revision.Open(t.Context(), place); err == nil || !strings.Contains(err.Error(), place.Folder+": git rev-parse: fatal: not a git repository") {
		t.Errorf("no repository: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := revision.Open(t.Context(), place); err == nil || !strings.Contains(err.Error(), "git, which is not installed") {
		t.Errorf("no git: %v", err)
	}
}

func TestBuildsAreKept(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	script, runs := c.counted("cat source >{{out}}")
	for i, step := range []struct {
		name, want string
		runs       int
	}{
		{"v1", "one", 1}, {"main", "two", 2},
		{"v1", "one", 2}, {"HEAD", "two", 2}, {"HEAD~1", "one", 2}, // other names of these commits
	} {
		if got := c.built("", step.name, script); got != step.want || runs() != step.runs {
			t.Errorf("%d: %s has %q after %d builds, want %q after %d", i, step.name, got, runs(), step.want, step.runs)
		}
	}
	b, err := c.build("", "v1", script)
	if err != nil || !b.Kept || time.Since(b.Built) > testenv.Patience {
		t.Errorf("%+v, %v is not a kept build", b, err)
	}
	c.built("", "v1", script+" ")
	c.env = append(c.env, "GOFLAGS=-race")
	c.built("", "v1", script)
	c.env = append(c.env, "GORACE_OF_NOBODY=", "SHLVL=7")
	c.built("", "v1", script)
	if n := runs(); n != 5 {
		t.Errorf("%d builds, want 5: of 2 commits, with another command, and twice with another environment", n)
	}
	c.clean()
}

// A tool that was exchanged builds anew.
func TestToolOfABuild(t *testing.T) {
	c := newCheckout(t)
	bin := folder(t)
	tool := filepath.Join(bin, "tool")
	write := func(text string, when time.Time) {
		if err := errors.Join(os.WriteFile(tool, []byte("#!/bin/sh\necho "+text+" >$1\n"), 0o755), os.Chtimes(tool, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	r := c.open("")
	v, err := r.Resolve(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"old", "new"} {
		write(want, time.Unix(int64(1e9+i), 0))
		b, err := r.Build(t.Context(), v, []string{"tool", "{{out}}"})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(b.Program); string(text) != want+"\n" {
			t.Errorf("the %s tool made %q, %v", want, text, err)
		}
	}
}

func TestFolderOfABuild(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("with a folder", map[string]string{"cmd/app/source": "in app"})
	if got := c.built("cmd/app", "HEAD", "cat source ../../source >{{out}}; test $PWD = $(pwd)"); got != "in apptwo" {
		t.Errorf("built %q", got)
	}
	if _, err := c.build("cmd/app", "v1", "echo >{{out}}"); err == nil || !strings.Contains(err.Error(), "v1 (") || !strings.Contains(err.Error(), "has no folder cmd/app/") {
		t.Errorf("a folder that is not there: %v", err)
	}
	c.clean()
}

// Builds see a repository: its commit, its tags and its configuration.
func TestGitInABuild(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.git("config", "filter.shout.smudge", "tr a-z A-Z")
	c.git("config", "filter.shout.clean", "tr A-Z a-z")
	c.git("config", "core.fsmonitor", "true")
	c.commit("filtered", map[string]string{".gitattributes": "loud filter=shout", "loud": "quiet"})
	if got, want := c.built("", "HEAD", "cat loud >{{out}}; git describe --tags --dirty >>{{out}}; git config core.fsmonitor >>{{out}}"),
		"QUIETv1-2-g"; !strings.HasPrefix(got, want) || strings.Contains(got, "dirty") || !strings.HasSuffix(got, "false\n") {
		t.Errorf("got %q, want %q…", got, want)
	}
	// From a linked work tree, whose objects are in the main one.
	linked := filepath.Join(folder(t), "linked")
	c.git("worktree", "add", "-q", "--detach", linked, "v1")
	c.top = linked
	if got := c.built("", "HEAD", "cat source >{{out}}"); got != "one" {
		t.Errorf("a linked work tree has %q", got)
	}
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("more", map[string]string{"deleted": "", ".gitignore": "ignored", "script": "#!/bin/sh\n"})
	if got := c.built("", "worktree", "git status --porcelain >{{out}}"); got != "" {
		t.Errorf("without changes there are %q", got)
	}
	c.write(map[string]string{"source": "three", "untracked": "u", "ignored": "i", "sub/untracked": "s"})
	if err := errors.Join(os.Remove(filepath.Join(c.top, "deleted")), os.Chmod(filepath.Join(c.top, "script"), 0o755),
		os.Symlink("source", filepath.Join(c.top, "link"))); err != nil {
		t.Fatal(err)
	}
	script, runs := c.counted(`cat link untracked sub/untracked >{{out}}; ls >>{{out}}; test -x script && git describe --tags --dirty >>{{out}}; echo >made`)
	for range 2 {
		got := c.built("", "worktree", script)
		if !strings.HasPrefix(got, "threeuslink\nscript\nsource\nsub\nuntracked\nv1-2-g") || !strings.HasSuffix(got, "-dirty\n") {
			t.Errorf("got %q", got)
		}
	}
	if n := runs(); n != 2 {
		t.Errorf("%d builds, want 2: a checkout as it is is built each time", n)
	}
	if _, err := os.Stat(filepath.Join(c.top, "made")); err == nil {
		t.Error("the build ran in the checkout")
	}
	if kept := c.entries("builds"); len(kept) > 0 {
		t.Errorf("%q are kept", kept)
	}
	for name, want := range map[string]string{"HEAD": "two", "worktree": "three"} {
		for range 2 {
			if got := c.built("", name, "cat source >{{out}}"); got != want {
				t.Errorf("%s has %q, want %q", name, got, want)
			}
		}
	}
	c.clean()
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	inner, middle, c := newCheckout(t), newCheckout(t), newCheckout(t)
	middle.git("submodule", "--quiet", "add", inner.top, "inner")
	middle.commit("with inner", nil)
	c.git("submodule", "--quiet", "add", "--name", "named", middle.top, "lib/middle")
	c.git("submodule", "--quiet", "update", "--init", "--recursive")
	c.commit("with middle", nil)
	const script = "cat source lib/middle/source lib/middle/inner/source >{{out}}; git submodule status --recursive >>{{out}}"
	c.gitIn(filepath.Join(c.top, "lib/middle/inner"), "checkout", "-q", "v1") // not what the commit has
	// Gone, so that only the clones in the repository are left.
	for _, origin := range []*checkout{inner, middle} {
		if err := os.Rename(origin.top, origin.top+".gone"); err != nil {
			t.Fatal(err)
		}
	}
	got := c.built("", "HEAD", script)
	if !strings.HasPrefix(got, "twotwotwo "+c.git("rev-parse", "HEAD:lib/middle")+" lib/middle") {
		t.Errorf("HEAD has %q", got)
	}
	if got := c.built("", "worktree", "cat source lib/middle/source lib/middle/inner/source >{{out}}"); got != "twotwoone" {
		t.Errorf("the checkout has %q", got)
	}
	// From their addresses, and without one.
	for _, origin := range []*checkout{inner, middle} {
		if err := os.Rename(origin.top+".gone", origin.top); err != nil {
			t.Fatal(err)
		}
	}
	alone := folder(t)
	c.gitIn(alone, "clone", "-q", c.top, "here")
	c.top = filepath.Join(alone, "here")
	c.env = append(c.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	if got := c.built("", "HEAD", script+"; #"); !strings.HasPrefix(got, "twotwotwo ") {
		t.Errorf("a clone has %q", got)
	}
	if config := c.git("config", "--list", "--local"); strings.Contains(config, "submodule") {
		t.Errorf("the repository was changed: %s", config)
	}
	if err := os.Rename(inner.top, inner.top+".gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.build("", "HEAD", script+"; ##"); err == nil || !strings.Contains(err.Error(), "submodule lib/middle: submodule inner: git submodule: ") {
		t.Errorf("a submodule that is nowhere: %v", err)
	}
	c.clean()
}

func TestFailedBuilds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	script, runs := c.counted("seq 1 30; echo no such luck >&2; echo >{{out}}; exit 3")
	for range 2 {
		_, err := c.build("", "v1", script)
		if err == nil {
			t.Fatal("it succeeded")
		}
		lines := strings.Split(err.Error(), "\n")
		if first := lines[0]; !strings.HasPrefix(first, "v1 (") || !strings.Contains(first, "sh -c echo") || !strings.HasSuffix(first, "exit status 3") {
			t.Errorf("it says %q", first)
		}
		if last := lines[1:]; len(last) != 20 || last[0] != "12" || last[19] != "no such luck" {
			t.Errorf("its last lines are %q, want 12 to 30 and the complaint", last)
		}
	}
	if n := runs(); n != 2 || len(c.entries("builds")) > 0 {
		t.Errorf("%d builds, want 2: a failed one is not kept", n)
	}
	if _, err := c.build("", "v1", "echo so far so good"); err == nil || !strings.Contains(err.Error(), "ended well and left nothing at {{out}}\nso far so good") {
		t.Errorf("nothing was made: %v", err)
	}
	r := c.open("")
	v, _ := r.Resolve(t.Context(), "v1")
	if _, err := r.Build(t.Context(), v, []string{"no-such-compiler", "{{out}}"}); err == nil || !strings.Contains(err.Error(), "no-such-compiler {{out}}: ") {
		t.Errorf("no such compiler: %v", err)
	}
	c.clean()
}

// An interrupted build ends with what it started, and leaves nothing.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	began := filepath.Join(folder(t), "began")
	testenv.Program(t, "mkfifo")
	if out, err := exec.Command("mkfifo", began).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := c.open("")
	v, err := r.Resolve(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var built error
	var build sync.WaitGroup
	// Whoever reads the pipe waits until the build has opened it, and for its end until
	// the last process of the build has ended.
	build.Go(func() {
		_, built = r.Build(ctx, v, []string{"sh", "-c", "exec 7>" + began + "; echo go >&7; touch made; (sleep 1000; sleep 1000) & sleep 1000; echo >{{out}}"})
	})
	pipe, err := os.Open(began)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	interrupt()
	build.Wait()
	if !errors.Is(built, context.Canceled) || !strings.Contains(built.Error(), "v1 (") {
		t.Errorf("it ended with %v", built)
	}
	if n, err := pipe.Read(make([]byte, 3)); n != 0 {
		t.Errorf("read %d, %v", n, err)
	}
	if len(c.entries("builds")) > 0 {
		t.Error("it is kept")
	}
	c.clean()
}

func TestConcurrentBuilds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	script, runs := c.counted("cat source >{{out}}")
	const n = 6
	made := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := revision.Open(t.Context(), revision.Place{Folder: c.top, Cache: c.cache, Env: c.env})
			if err != nil {
				t.Error(err)
				return
			}
			v, err := r.Resolve(t.Context(), []string{"v1", "main", "worktree"}[i%3])
			if err != nil {
				t.Error(err)
				return
			}
			b, err := r.Build(t.Context(), v, []string{"sh", "-c", script})
			if err != nil {
				t.Error(err)
				return
			}
			text, err := os.ReadFile(b.Program)
			if err := errors.Join(err, b.Remove()); err != nil {
				t.Error(err)
			}
			made[i] = string(text)
		})
	}
	all.Wait()
	if want := []string{"one", "two", "two", "one", "two", "two"}; !slices.Equal(made, want) {
		t.Errorf("made %q, want %q", made, want)
	}
	if ran := runs(); ran < 4 || ran > n || len(c.entries("builds")) != 2 {
		t.Errorf("%d builds ran, and %q are kept; want 2 kept of 4 to %d", ran, c.entries("builds"), n)
	}
	c.clean()
}

// What killed processes left, and builds that nobody used for long, are removed.
func TestOldBuildsGo(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.built("", "v1", "echo >{{out}}")
	left := filepath.Join(c.cache, "making", "left")
	if err := errors.Join(os.MkdirAll(filepath.Join(left, "tree", "inner"), 0o755), os.Chmod(filepath.Join(left, "tree"), 0o555)); err != nil {
		t.Fatal(err)
	}
	aged := func(path string, age time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(c.cache, "builds", c.entries("builds")[0])
	const day = 24 * time.Hour
	for _, step := range []struct {
		making, builds time.Duration
		left, kept     int
	}{
		{6 * day, 29 * day, 1, 1}, {8 * day, 31 * day, 0, 0},
	} {
		aged(left, step.making)
		aged(kept, step.builds)
		c.built("", "worktree", "echo >{{out}}")
		if l, k := len(c.entries("making")), len(c.entries("builds")); l != step.left || k != step.kept {
			t.Errorf("after %v and %v: %d left and %d kept, want %d and %d", step.making, step.builds, l, k, step.left, step.kept)
		}
	}
	// A use makes a build young again.
	c.built("", "v1", "echo >{{out}}")
	kept = filepath.Join(c.cache, "builds", c.entries("builds")[0])
	aged(kept, 31*day)
	c.built("", "v1", "echo >{{out}}")
	c.built("", "worktree", "echo >{{out}}")
	if len(c.entries("builds")) != 1 {
		t.Error("a build that was used is gone")
	}
}

// The paths of programs are equally long, whatever they are built from.
func TestProgramsLieAlike(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	var lengths []int
	for _, name := range []string{"v1", "main", "worktree"} {
		b, err := c.build("", name, "echo >{{out}}")
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, len(b.Program))
		if err := b.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Min(lengths) != slices.Max(lengths) {
		t.Errorf("the paths have %v characters", lengths)
	}
}

func TestReplacedModules(t *testing.T) {
	const outside = "is outside of the repository, so that"
	for i, tt := range []struct {
		files  map[string]string
		within string
		want   []string // of the error; none: it is built
	}{
		{files: map[string]string{"go.mod": "module a\n\nreplace b => ./b\n"}},
		{files: map[string]string{"app/go.mod": "module a\nreplace (\n\tb v1.0.0 => ../b // above\n\tc => d v1.2.3\n)\n"}, within: "app"},
		{files: map[string]string{"go.mod": "module a\nreplace b => ../b\n"},
			want: []string{"HEAD (", "): go.mod replaces b with ../b, which " + outside + " the revision does not say what is built; expected folders inside, and versions"}},
		{files: map[string]string{"go.mod": "module a\nreplace (\n\tb v1.0.0 => ./b\n\tc => \"../../c\"\n\td => /opt/d\n)\n"},
			want: []string{"go.mod replaces c with ../../c", "go.mod replaces d with /opt/d"}},
		{files: map[string]string{"go.mod": "module a\n", "app/go.mod": "module b\nreplace c => ../../c"}, within: "app",
			want: []string{"app/go.mod replaces c with ../../c"}},
		// In another module of the repository, which is not built.
		{files: map[string]string{"go.mod": "module a\n", "other/go.mod": "module b\nreplace c => ../../c"}},
		{files: map[string]string{"go.work": "go 1.24\nuse (\n\t.\n\t./app\n)\n", "go.mod": "module a\n", "app/go.mod": "module b\nreplace c => ../c"}},
		{files: map[string]string{"go.work": "use ./app\nuse ../aside\nreplace d => ../d\n", "app/go.mod": "module b\nreplace c => ../../c"}, within: "app",
			want: []string{"go.work uses ../aside", "go.work replaces d with ../d", "app/go.mod replaces c with ../../c"}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			c.commit("modules", tt.files)
			_, err := c.build(tt.within, "HEAD", "echo >{{out}}")
			if tt.want == nil && err != nil {
				t.Error(err)
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), outside) != len(slices.DeleteFunc(tt.want, func(w string) bool { return w == "HEAD (" })) {
				t.Errorf("it says more: %v", err)
			}
			c.clean()
		})
	}
}

// newBranch is a checkout of main with another branch, topic, of one commit after v1.
func newBranch(t *testing.T) *checkout {
	c := newCheckout(t)
	c.git("checkout", "-q", "-b", "topic", "v1")
	c.commit("of a branch", map[string]string{"other": "one"})
	c.git("checkout", "-q", "main")
	return c
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c := newBranch(t)
	c.git("merge", "-q", "--no-edit", "-m", "the merge", "topic")
	c.commit("the last", map[string]string{"source": "three"})
	r := c.open("")
	resolve := func(name string) revision.Revision {
		v, err := r.Resolve(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		good, bad   string
		firstParent bool
		want        string // subjects and parents, or the error
	}{
		{"v1", "main", true, "[the second [] the merge [0] the last [1]]"},
		{"topic", "main", false, "[the second [] the merge [0] the last [1]]"},
		{"main", "main", false, " are the same commit"},
		{"main", "v1", false, ", so that no commit between them made the difference: give a good revision that it contains"},
	} {
		commits, err := r.History(t.Context(), resolve(tt.good), resolve(tt.bad), tt.firstParent)
		var got []any
		for _, c := range commits {
			got = append(got, c.Subject, c.Parents)
		}
		if text := fmt.Sprint(got, err); !strings.Contains(text, tt.want) {
			t.Errorf("%s to %s: %s, want %s", tt.good, tt.bad, text, tt.want)
		}
	}
	commits, err := r.History(t.Context(), resolve("v1"), resolve("main"), false)
	if err != nil || len(commits) != 4 || len(commits[2].Parents) != 2 || commits[3].Hash != c.git("rev-parse", "main") || !slices.Equal(commits[3].Parents, []int{2}) {
		t.Errorf("%+v, %v: want two branches, their merge and what follows it", commits, err)
	}
}

// A history knows the commit of the checkout, and that each commit is after its parents, also those of other branches.
func TestHeadAndOrder(t *testing.T) {
	t.Parallel()
	c := newBranch(t)
	r := c.open("")
	order, shallow, err := r.Order(t.Context())
	place := func(name string) int {
		n, ok := order[c.git("rev-parse", name)]
		if !ok {
			t.Errorf("%s has no place", name)
		}
		return n
	}
	if err != nil || shallow || len(order) != 3 || place("v1") >= place("main") || place("v1") >= place("topic") {
		t.Errorf("%v, shallow %v, %v", order, shallow, err)
	}
	for _, changed := range []bool{false, true} {
		if v, err := r.Head(t.Context()); err != nil || v.Commit != c.git("rev-parse", "main") || v.Changed != changed {
			t.Errorf("%+v, %v; want main, changed %v", v, err, changed)
		}
		c.write(map[string]string{"not tracked": "", "source": "changed"})
	}
	near := folder(t)
	c.gitIn(near, "clone", "-q", "--depth", "1", "file://"+c.top, "near")
	clone, err := revision.Open(t.Context(), revision.Place{Folder: filepath.Join(near, "near"), Cache: c.cache, Env: c.env})
	if err != nil {
		t.Fatal(err)
	}
	if order, shallow, err := clone.Order(t.Context()); err != nil || !shallow || len(order) != 1 {
		t.Errorf("a shallow clone: %v, %v, %v", order, shallow, err)
	}
}
