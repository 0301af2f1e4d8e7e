package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/report"
)

// A project is a repository whose programs are scripts that start the test's server.
type project struct {
	*testing.T
	folder, home string
	env          []string
}

// newProject has three commits; how long the server sleeps is in the file "sleep".
func newProject(t *testing.T) *project {
	t.Helper()
	testenv.Program(t, "git")
	testenv.Program(t, "sh")
	home := t.TempDir()
	p := &project{T: t, folder: t.TempDir(), home: home, env: append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "a cache"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")}
	p.succeeds("git", "init", "-q", "-b", "main")
	for _, sleep := range []string{"1ms", "2ms", "20ms"} {
		p.write("sleep", sleep)
		p.succeeds("git", "add", "-A")
		p.succeeds("git", "-c", "maintenance.auto=false", "commit", "-q", "-m", "sleep for "+sleep)
	}
	return p
}

func (p *project) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *project) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), program, args...)
	cmd.Dir, cmd.Env = p.folder, p.env
	return cmd
}

func (p *project) succeeds(program string, args ...string) string {
	p.Helper()
	out, err := p.command(program, args...).Output()
	if err != nil {
		p.Fatalf("%s %q: %v", program, args, err)
	}
	return strings.TrimSpace(string(out))
}

// contend runs it with arguments and returns what it writes and its exit code.
func (p *project) contend(args ...string) (out, complaint string, code int) {
	p.Helper()
	cmd := p.command("contend", args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if exit := (*exec.ExitError)(nil); !errors.As(cmd.Run(), &exit) {
		return stdout.String(), stderr.String(), 0
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// buildScript makes a program that is started with an address; sh makes an executable file of it.
const buildScript = `printf '#!/bin/sh\nexec subject -sleep %s -listen $1\n' $(cat sleep) >'{{out}}'; chmod +x '{{out}}'`

// compare compares revisions briefly.
func (p *project) compare(revisions, build string, more ...string) (out, complaint string, code int) {
	p.Helper()
	args := []string{"compare", "--full", "--rounds", "1", "--pairs", "1", "--block", window.String(), "--warmup", "0s", "-c", "1", "--rate", "20", "--metric", "throughput_per_s",
		"-o", "compared.json", "--url", "http://{{addr}}/", "--revisions", revisions, "--build", `sh -c "` + build + `"`}
	return p.contend(append(append(args, more...), "--", "{{out}} {{addr}}")...)
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("sleep", "0s")
	head, before := p.succeeds("git", "rev-parse", "HEAD"), p.succeeds("git", "rev-parse", "HEAD~1")
	const revisions = "HEAD~1,worktree,main"
	for i, kept := range []bool{false, true} {
		out, complaint, code := p.compare(revisions, buildScript)
		starved := code == 1 && strings.Contains(out, "incomplete (") // a block in which nothing was answered
		if code != exitUndecided && !starved {
			t.Fatalf("exit code %d:\n%s%s", code, out, complaint)
		}
		for _, want := range []string{
			"compare: worktree (" + head[:7] + "+), main (" + head[:7] + ") against HEAD~1 (" + before[:7] + ")\n",
			"- main: commit " + head + ", sleep for 20ms",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		if n := strings.Count(complaint, "contend: building "); n != 3-2*i {
			t.Errorf("%d builds are announced, want %d:\n%s", n, 3-2*i, complaint)
		}
		doc := p.document()
		want := []report.Build{
			{Arm: "HEAD~1", Commit: before, Subject: "sleep for 2ms", Kept: kept},
			{Arm: "worktree", Commit: head, Subject: "sleep for 20ms", Changed: true},
			{Arm: "main", Commit: head, Subject: "sleep for 20ms", Kept: kept},
		}
		for i := range doc.Builds {
			if b := &doc.Builds[i]; b.Built.IsZero() || b.Build != `sh -c "`+buildScript+`"` {
				t.Errorf("built %v by %q", b.Built, b.Build)
			} else {
				want[i].Built, want[i].Build = b.Built, b.Build
			}
		}
		if !slices.Equal(doc.Builds, want) {
			t.Errorf("the document has\n%+v, want\n%+v", doc.Builds, want)
		}
		// A service time says which program ran: none is shorter than its server's sleep.
		least := map[string]int64{"HEAD~1": 2e6, "worktree": 0, "main": 20e6}
		for _, r := range doc.Results {
			if got := int64(r.Service.Min()); r.Service.Count() > 0 && got < least[r.Arm] || r.Arm == "worktree" && got > 1e9 {
				t.Errorf("%s answered within %d ns, want %d and more", r.Arm, got, least[r.Arm])
			}
		}
		if arms := doc.Trials[0].Arms; !slices.Equal(arms, strings.Split(revisions, ",")) {
			t.Errorf("arms %q", arms)
		}
	}
	p.clean()
}

// clean checks that nothing unfinished is left.
func (p *project) clean() {
	p.Helper()
	if left, _ := filepath.Glob(filepath.Join(p.home, "*", "contend", "making", "*")); len(left) > 0 {
		p.Errorf("%q are left", left)
	}
	if list := p.succeeds("git", "worktree", "list"); strings.Contains(list, "\n") {
		p.Errorf("work trees are left:\n%s", list)
	}
}

func (p *project) document() (d *report.Document) {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, "compared.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		p.Fatal(err)
	}
	return d
}

func TestRevisionsThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	check := func(revisions, build string, code int, want ...string) {
		t.Helper()
		out, complaint, got := p.compare(revisions, build)
		for _, text := range want {
			if got != code || !strings.Contains(complaint, text) {
				t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", revisions, got, code, text, out, complaint)
			}
		}
		if _, err := os.Stat(filepath.Join(p.folder, "compared.json")); err == nil {
			t.Error("there is a document without any figures")
		}
		p.clean()
	}
	check("mian,main,nope", buildScript, exitUsage, "contend: 2 mistakes\n", `--revisions names "mian", which does not exist; expected branches, tags and commits`,
		`(did you mean "main"?)`, `--revisions names "nope"`)
	check("HEAD,HEAD~1", "cat sleep; exit 3; {{out}}", exitFailed, "contend: HEAD (", "cat sleep; exit 3; {{out}}: exit status 3\n  20ms\n")

	// A build that is interrupted has no result.
	cmd := p.command("contend", "compare", "--url", "http://{{addr}}/", "--revisions", "HEAD,HEAD~1", "--build", "sh -c 'kill -INT $PPID; sleep 1000; {{out}}'", "--", "{{out}} {{addr}}")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(string(out), "contend: interrupted; there is no result") {
		t.Errorf("%v:\n%s", err, out)
	}
	p.clean()

	p.folder = t.TempDir()
	p.env = append(p.env[:len(p.env):len(p.env)], "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.folder))
	if out, complaint, code := p.compare("a,b", buildScript); code != exitFailed || !strings.Contains(complaint, "revisions are those of the git checkout that one stands in: ") {
		t.Errorf("exit code %d:\n%s%s", code, out, complaint)
	}
}
