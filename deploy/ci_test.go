package deploy_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"contend/internal/testenv"
)

// A ciJob is what a CI system would run: the shell text that compares and the one that comments, and
// the variables that it sets itself.
type ciJob struct {
	compare, comment string
	env              []string
}

func ciJobs(t *testing.T) map[string]ciJob {
	t.Helper()
	var github struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	var gitlab map[string]struct {
		Script, AfterScript []string
	}
	for name, into := range map[string]any{"github": &github, "gitlab": &gitlab} {
		text, err := os.ReadFile("ci/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "after_script", "AfterScript")), into); err != nil {
			t.Fatal(name, err)
		}
	}
	ofGitHub := ciJob{env: []string{"GITHUB_BASE_REF=main", "NUMBER=7"}}
	for _, step := range github.Jobs["compare"].Steps {
		switch step.Name {
		case "compare":
			ofGitHub.compare = step.Run
		case "comment":
			ofGitHub.comment = step.Run
		}
	}
	own := gitlab["contend"]
	return map[string]ciJob{"github": ofGitHub, "gitlab": {strings.Join(own.Script, "\n"), strings.Join(own.AfterScript, "\n"),
		[]string{"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main", "CI_API_V4_URL=https://localhost/api/v4", "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "CONTEND_TOKEN=secret"}}}
}

// shell runs the text in the folder with programs in front of all others, and returns its exit code.
func shell(t *testing.T, folder, text, programs string, env []string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", text)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), append(env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(out) > 0 {
		t.Logf("%s", out)
	}
	return cmd.ProcessState.ExitCode()
}

// program writes a script.
func program(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A job fails where contend says MORE or SLOWER or could not measure, and nowhere else; the comment is what it wrote.
func TestCIFailsOnlyOnSlower(t *testing.T) {
	testenv.Program(t, "sh")
	for name, job := range ciJobs(t) {
		for codes, want := range map[[2]string]int{{"0", "0"}: 0, {"0", "1"}: 1, {"1", "0"}: 1, {"2", "2"}: 2, {"0", "3"}: 3, {"3", "4"}: 3, {"4", "4"}: 0} {
			folder, programs := t.TempDir(), t.TempDir()
			program(t, programs, "contend", `case "$*" in *--count*) echo '**counted**'; exit `+codes[0]+`; esac; echo '**answer**'; exit `+codes[1])
			for _, client := range []string{"gh", "curl"} {
				program(t, programs, client, `echo "$@" > asked; cat contend.md >> asked`)
			}
			if got := shell(t, folder, job.compare, programs, job.env); got != want {
				t.Errorf("%s: exit codes %v of contend end with %d, want %d", name, codes, got, want)
			}
			if got := shell(t, folder, job.comment, programs, job.env); got != 0 {
				t.Errorf("%s: commenting ends with %d", name, got)
			}
			asked, err := os.ReadFile(filepath.Join(folder, "asked"))
			if err != nil || !strings.Contains(string(asked), "7") || !strings.Contains(string(asked), "contend.md") || !strings.HasSuffix(string(asked), "**counted**\n**answer**\n") {
				t.Errorf("%s: asked %q, %v", name, asked, err)
			}
		}
	}
}

// ciServer answers after a sleep.
const ciServer = `package main

import ("flag"; "net/http"; "time")

func main() {
	listen := flag.String("listen", "", "")
	flag.Parse()
	http.ListenAndServe(*listen, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(SLEEP) }))
}
`

// The job's own words build, count and compare two commits of a repository; its files are written, the comment begins
// with what was counted, and its exit code is that of the verdict, whatever this machine allows it to be.
func TestCIComparesRevisions(t *testing.T) {
	testenv.Program(t, "git")
	contend, err := built()
	if err != nil {
		t.Fatal(err)
	}
	folder, home, programs := t.TempDir(), t.TempDir(), t.TempDir()
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost", "GOFLAGS=", "GOCACHE=" + goCache(t), "GITHUB_STEP_SUMMARY=" + filepath.Join(folder, "summary.md")}
	counts, begins := "exit 0", "**"
	if _, err := exec.LookPath("valgrind"); err == nil { // one repetition, which is too few
		counts, begins = "shift; exec "+contend+` compare -d 1s "$@"`, "**No result: the instructions of origin/main and HEAD cannot be compared"
	}
	program(t, programs, "contend", `case "$*" in *--count*) `+counts+`; esac; shift; exec `+contend+` compare --block 100ms --rounds 6 --pairs 1 --warmup 0s "$@"`)
	if err := os.MkdirAll(filepath.Join(folder, "cmd/app"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, sleep := range []string{"time.Millisecond", "10*time.Millisecond"} {
		if err := os.WriteFile(filepath.Join(folder, "cmd/app/main.go"), []byte(strings.ReplaceAll(ciServer, "SLEEP", sleep)), 0o644); err != nil {
			t.Fatal(err)
		}
		commit := "git add -A; git commit -qm change"
		if i == 0 {
			commit = "git init -qb main; printf 'module app\\n\\ngo 1.26\\n' > go.mod; git add -A; git commit -qm first; git update-ref refs/remotes/origin/main HEAD"
		}
		if code := shell(t, folder, commit, programs, env); code != 0 {
			t.Fatal("no repository")
		}
	}
	job := ciJobs(t)["github"]
	code := shell(t, folder, job.compare, programs, append(env, job.env...))
	var document struct {
		Comparisons []struct {
			Primary bool
			Verdict string
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "contend.json"))
	if err := errors.Join(err, json.Unmarshal(text, &document)); err != nil || len(document.Comparisons) == 0 {
		t.Fatal(err)
	}
	want := 0
	if c := document.Comparisons[0]; c.Primary && c.Verdict == "SLOWER" {
		want = 3
	}
	if code != want {
		t.Errorf("exit code %d, want %d as it is %s", code, want, document.Comparisons[0].Verdict)
	}
	for name, says := range map[string]string{"contend.md": "origin/main", "summary.md": "origin/main", "contend.xml": "<testcase classname=\"compare\"", "contend.html": "<!doctype html>"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(strings.ToLower(string(text)), says) {
			t.Errorf("%s does not say %s (%v)", name, says, err)
		}
		if name == "contend.md" && !strings.HasPrefix(string(text), begins) {
			t.Errorf("the comment does not begin with %s:\n%s", begins, text)
		}
	}
}

// goCache is where the standard library is built already.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
