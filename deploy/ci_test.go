package deploy_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"contend/internal/testenv"
)

// A ciJob is what a CI system would run with bash, in which environment, for which request.
type ciJob struct {
	script string
	env    []string
}

// field is how action.yml and components refer to values.
var reference = regexp.MustCompile(`\$\{\{ ([a-z_.-]+) \}\}|\$\[\[ (inputs\.[a-z]+) \]\]`)

// filled puts values in place of references; each is needed, and there is one for each.
func filled(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Join(reference.FindStringSubmatch(found)[1:], "")
		value, ok := values[name]
		if !ok {
			t.Errorf("%s: there is no %s", found, name)
		}
		return value
	})
}

type ciInput struct{ Default any }

// values are what inputs are, by default or as given.
func values(inputs map[string]ciInput, given map[string]string) map[string]string {
	all := map[string]string{"github.server_url": "https://localhost", "github.action_repository": "nobody/contend", "github.token": "secret", "github.event.repository.default_branch": "main"}
	for name, input := range inputs {
		value := fmt.Sprint(cmp.Or(input.Default, any("")))
		if is, ok := given[name]; ok {
			value = is
		}
		all["inputs."+name] = value
	}
	return all
}

// githubJob is what the runner makes of action.yml; outputs are what it says of its outputs, by name.
func githubJob(t *testing.T, folder string, given map[string]string) (job ciJob, outputs map[string]string) {
	t.Helper()
	var action struct {
		Inputs  map[string]ciInput
		Outputs map[string]struct{ Value string }
		Runs    struct {
			Using string
			Steps []struct {
				ID, Run, Shell, Uses string
				Env                  map[string]string
			}
		}
	}
	testenv.Must(t, yaml.Unmarshal([]byte(readFile(t, root, "action.yml")), &action))
	all := values(action.Inputs, given)
	step := action.Runs.Steps[0]
	if action.Runs.Using != "composite" || step.ID != "compare" || step.Shell != "bash" || len(action.Runs.Steps) != 2 || action.Runs.Steps[1].Uses != "actions/upload-artifact@v4" {
		t.Fatalf("%+v", action.Runs)
	}
	job = ciJob{step.Run, []string{"GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH=" + fullPath(t, root), "GITHUB_BASE_REF=main", "GITHUB_REF=refs/pull/7/merge", "GITHUB_REPOSITORY=them/app", "GITHUB_SERVER_URL=https://localhost",
		"GITHUB_OUTPUT=" + filepath.Join(folder, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(folder, "summary.md"), "RUNNER_TEMP=" + folder}}
	for name, value := range step.Env {
		job.env = append(job.env, name+"="+filled(t, value, all))
	}
	outputs = map[string]string{}
	for name, output := range action.Outputs {
		outputs[name] = output.Value
	}
	return job, outputs
}

func fullPath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	testenv.Must(t, err)
	return path
}

// gitlabJob is what GitLab makes of the component.
func gitlabJob(t *testing.T, folder string, given map[string]string) ciJob {
	t.Helper()
	header, body, _ := strings.Cut(readFile(t, root, "templates/compare.yml"), "\n---\n")
	var spec struct {
		Spec struct{ Inputs map[string]ciInput }
	}
	testenv.Must(t, yaml.Unmarshal([]byte(header), &spec))
	all := values(spec.Spec.Inputs, given)
	var jobs map[string]struct {
		Variables map[string]string
		Script    []string
	}
	testenv.Must(t, yaml.Unmarshal([]byte(body), &jobs))
	own := jobs["$[[ inputs.name ]]"]
	job := ciJob{strings.ReplaceAll(strings.Join(own.Script, "\n"), "/tmp/", folder+"/"), []string{"CI_PROJECT_DIR=" + folder, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main",
		"CI_API_V4_URL=https://localhost/api/v4", "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "CONTEND_TOKEN=secret"}}
	for name, value := range own.Variables {
		job.env = append(job.env, name+"="+filled(t, value, all))
	}
	return job
}

// shell runs the text in the folder as both runners do, with programs in front of all others, and returns what it
// prints and its exit code.
func shell(t *testing.T, folder, text, programs string, env []string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "bash"), "--noprofile", "--norc", "-eo", "pipefail", "-c", text)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), append(env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))...)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// program writes a script.
func program(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// curl hands out the files of a release, and remembers what it was asked for otherwise.
const curl = `for arg; do last=$arg; done
[ "$1" = -fsS ] && { echo "$@" >"$ASKED"; exit; }
for arg; do case $arg in -o) to=yes ;; https://*/releases/download/*) name=${arg##*/}; cp "$RELEASE/$name" "${to:-$name}" || exit 22 ;; *) [ "${to:-}" = yes ] && to=$arg ;; esac; done
[ -z "${to:-}" ] || cp "$RELEASE/compare.sh" "$to"`

// A job fails where contend says MORE or SLOWER or could not measure, and nowhere else; the comment is what it wrote,
// and the action's outputs say the same.
func TestCIFailsOnlyOnSlower(t *testing.T) {
	for codes, want := range map[[2]string]int{{"0", "0"}: 0, {"0", "1"}: 1, {"1", "0"}: 1, {"2", "2"}: 2, {"0", "3"}: 3, {"3", "4"}: 3, {"4", "4"}: 0} {
		for _, system := range []string{"github", "gitlab"} {
			folder, programs := t.TempDir(), t.TempDir()
			asked, comment := filepath.Join(folder, "asked"), filepath.Join(folder, "contend/comment.md")
			program(t, programs, "contend", `case "$*" in *--count*) verdict=MORE code=`+codes[0]+`;; *) verdict=SLOWER code=`+codes[1]+`;; esac
				for arg; do [ "$was" = -o ] && printf '{\n  "verdict": "%s",\n  "verdict": "LAST"\n}\n' "$verdict" >"$arg"; was=$arg; done; echo "**$verdict**"; exit $code`)
			program(t, programs, "git", "")
			program(t, programs, "valgrind", "")
			program(t, programs, "curl", curl)
			program(t, programs, "gh", `case "$*" in *--paginate*) exit ;; esac; echo "$@" >`+asked)
			job, outputs := githubJob(t, folder, nil)
			if system == "gitlab" {
				job, outputs = gitlabJob(t, folder, map[string]string{"releases": "https://localhost/releases"}), nil
			}
			out, got := shell(t, folder, job.script, programs, append(job.env, "ASKED="+asked, "RELEASE="+fullPath(t, "ci")))
			if got != want {
				t.Errorf("%s: exit codes %v of contend end with %d, want %d:\n%s", system, codes, got, want, out)
			}
			if request := readFile(t, asked); !strings.Contains(request, "/7/") || !strings.Contains(request, "@"+comment) {
				t.Errorf("%s: asked %q", system, request)
			}
			if got, want := readFile(t, comment), "<!-- contend contend -->\n\n**MORE**\n**SLOWER**\n"; got != want {
				t.Errorf("%s: the comment is %q, want %q", system, got, want)
			}
			said := map[string]string{"verdict": "SLOWER", "counted": "MORE", "exit-code": strconv.Itoa(want), "folder": filepath.Dir(comment)}
			for name, value := range outputs {
				if all := readFile(t, folder, "output"); value != "${{ steps.compare.outputs."+name+" }}" || !strings.Contains(all, name+"="+said[name]+"\n") {
					t.Errorf("the output %s is %s, and not %s in %q", name, value, said[name], all)
				}
			}
		}
	}
}

// The program is that of the release that this version of the action belongs to, if it is what the release says.
func TestCIGetsARelease(t *testing.T) {
	current := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindStringSubmatch(readFile(t, root, "CHANGELOG.md"))
	if component := readFile(t, root, "templates/compare.yml"); !strings.Contains(component, "default: v"+current[1]+"\n") {
		t.Errorf("the component's release is not %s, the newest in CHANGELOG.md", current[1])
	}
	archive := func(t *testing.T, release string) string {
		program(t, release, "contend", "echo got")
		name := "contend_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
		testenv.Must(t, exec.CommandContext(t.Context(), testenv.Program(t, "tar"), "-czf", filepath.Join(release, name), "-C", release, "contend").Run())
		return name
	}
	for name, tt := range map[string]struct {
		sum  string // of the archive; empty: the right one
		code int
		says string
	}{"a release": {"", 0, "contend_"}, "another program": {strings.Repeat("0", 64), 1, "FAILED"}, "no release": {"none", 1, "https://localhost/nobody/contend/releases/download/v" + current[1] + "/contend_"}} {
		t.Run(name, func(t *testing.T) {
			folder, programs, release := t.TempDir(), t.TempDir(), t.TempDir()
			file := archive(t, release)
			sum := cmp.Or(tt.sum, fmt.Sprintf("%x", sha256.Sum256(testenv.Read(t, filepath.Join(release, file)))))
			if sum != "none" {
				testenv.Write(t, filepath.Join(release, "checksums.txt"), sum+"  "+file+"\n")
			}
			program(t, programs, "curl", curl)
			program(t, programs, "git", "")
			program(t, programs, "go", "exit 1")
			job, _ := githubJob(t, folder, map[string]string{"count": "false"})
			out, code := shell(t, folder, job.script, programs, append(job.env, "RELEASE="+release))
			if code != tt.code || !strings.Contains(out, tt.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, tt.code, tt.says, out)
			}
		})
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

// The action builds, counts and compares a branch and the one that it is for, although the runner checked out no more
// than the branch's newest commit; its files are written, the comment begins with what was counted, and its exit code is that of the
// verdict, whatever this machine allows it to be.
func TestCIComparesRevisions(t *testing.T) {
	testenv.Program(t, "git")
	contend, err := built()
	if err != nil {
		t.Fatal(err)
	}
	folder, home, programs := t.TempDir(), t.TempDir(), t.TempDir()
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost", "GOFLAGS=", "GOCACHE=" + goCache(t)}
	counts, begins := "exit 0", "**"
	if _, err := exec.LookPath("valgrind"); err == nil { // one repetition, which is too few
		counts, begins = "shift; exec "+contend+` compare -d 1s "$@"`, "**No result: the instructions of origin/main and HEAD cannot be compared"
	} else {
		program(t, programs, "valgrind", "") // nothing is installed for a test
	}
	program(t, programs, "contend", `case "$*" in *--count*) `+counts+`; esac; shift; exec `+contend+` compare --block 100ms --rounds 6 --pairs 1 --warmup 0s "$@"`)
	if err := os.MkdirAll(filepath.Join(folder, "cmd/app"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, sleep := range []string{"time.Millisecond", "10*time.Millisecond"} {
		if err := os.WriteFile(filepath.Join(folder, "cmd/app/main.go"), []byte(strings.ReplaceAll(ciServer, "SLEEP", sleep)), 0o644); err != nil {
			t.Fatal(err)
		}
		commit := "git checkout -qb change; git add -A; git commit -qm change; git clone -q --depth 1 --branch change file://$PWD $HOME/checkout"
		if i == 0 {
			commit = "git init -qb main; printf 'module app\\n\\ngo 1.26\\n' > go.mod; git add -A; git commit -qm first"
		}
		if out, code := shell(t, folder, commit, programs, env); code != 0 {
			t.Fatal("no repository: ", out)
		}
	}
	job, _ := githubJob(t, home, map[string]string{"build": "go build -trimpath -o {{out}} ./cmd/app", "command": "{{out}} -listen {{addr}}", "token": ""})
	out, code := shell(t, filepath.Join(home, "checkout"), job.script, programs, append(env, job.env...))
	var document struct {
		Comparisons []struct {
			Primary bool
			Verdict string
		}
	}
	text, err := os.ReadFile(filepath.Join(home, "contend/times.json"))
	if err := errors.Join(err, json.Unmarshal(text, &document)); err != nil || len(document.Comparisons) == 0 {
		t.Fatal(err)
	}
	want := 0
	if c := document.Comparisons[0]; c.Primary && c.Verdict == "SLOWER" {
		want = 3
	}
	if code != want {
		t.Errorf("exit code %d, want %d as it is %s:\n%s", code, want, document.Comparisons[0].Verdict, out)
	}
	for name, says := range map[string]string{"contend/comment.md": "origin/main", "summary.md": "origin/main", "contend/times.xml": "<testcase classname=\"compare\"", "contend/times.html": "<!doctype html>"} {
		text, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || !strings.Contains(strings.ToLower(string(text)), says) {
			t.Errorf("%s does not say %s (%v)", name, says, err)
		}
		if name == "contend/comment.md" && !strings.HasPrefix(string(text), "<!-- contend contend -->\n\n"+begins) {
			t.Errorf("the comment does not begin with %s:\n%s", begins, text)
		}
	}
}

// historian stands for contend: it adds a result to a history, as if another job had done so meanwhile, too.
const historian = `echo "$@" >>"$ASKED"
case "$*" in *svg*) echo "<svg>"$(ls $4 | wc -l)"</svg>"; exit ;; *--check*) exit $CHECKED ;; esac
for arg; do [ "$was" = --history ] && perf=$arg; was=$arg; done
[ -n "$perf" ] || exit 0
[ -e "$perf/history.json" ] || printf '{\n  "anchor": "%s"\n}\n' $(git rev-parse HEAD^) >"$perf/history.json"
echo result >"$perf/$(git rev-parse HEAD).json"
[ ! -e "$HOME/other" ] || { cd "$HOME/other" && echo other >other.json && git add -A && git commit -qm other && git push -q origin HEAD:perf; }`

// Only pushes to the main branch add to a history, also when another job does so at that moment, and fail where a change
// is confirmed; requests show its picture, as it was then.
func TestCIKeepsAHistory(t *testing.T) {
	testenv.Program(t, "git")
	home, programs := t.TempDir(), t.TempDir()
	asked := filepath.Join(home, "asked")
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost", "ASKED=" + asked}
	program(t, programs, "contend", historian)
	program(t, programs, "gh", "")
	run := func(text string) string {
		t.Helper()
		out, code := shell(t, home, text, programs, env)
		if code != 0 {
			t.Fatal(text, ": ", out)
		}
		return strings.TrimSpace(out)
	}
	commit := "git commit -q --allow-empty -m change && git push -q origin HEAD:main"
	run("git init -q --bare -b main remote && git clone -q remote app 2>/dev/null && cd app && git checkout -qb main && echo a >a && git add a && git commit -qm first && " + commit)
	job, _ := githubJob(t, home, map[string]string{"count": "false", "history": "perf"})
	pushed := []string{"GITHUB_EVENT_NAME=push", "GITHUB_REF=refs/heads/main", "GITHUB_BASE_REF="}
	for i, step := range []struct {
		before  string
		env     []string
		checked int
		kept    string // files of the branch afterwards; "": the branch is not there
		asks    string // how contend compares
	}{
		{":", nil, 0, "", "--revisions origin/main,HEAD"}, // there is nothing to show
		{":", pushed, 0, "1 results, 0 others", "--history /perf --revisions HEAD^,HEAD"},
		{"cd app && " + commit, nil, 3, "1 results, 0 others", "--revisions origin/main,HEAD"},
		{"git clone -q -b perf remote other", pushed, 0, "2 results, 1 others", "--history /perf"},
		{"rm -rf other; cd app && " + commit, pushed, 3, "3 results, 1 others", "--history /perf"},
	} {
		run("rm -f " + asked + "; " + step.before)
		out, code := shell(t, filepath.Join(home, "app"), job.script, programs, append(append(env, job.env...), append(step.env, fmt.Sprint("CHECKED=", step.checked))...))
		want := 0
		if step.env != nil {
			want = step.checked
		}
		if code != want {
			t.Errorf("%d: exit code %d, want %d: %s", i, code, want, out)
		}
		compared, _, _ := strings.Cut(strings.ReplaceAll(readFile(t, asked), filepath.Join(home, "contend"), ""), " --build")
		if compared != "compare "+step.asks {
			t.Errorf("%d: %q, want %q", i, compared, step.asks)
		}
		kept, results := "", 0
		if files := strings.Fields(run("cd remote; git rev-parse -q --verify perf >/dev/null && git ls-tree --name-only perf || true")); len(files) > 0 {
			for _, name := range files {
				results += len(name) / len("0123456789012345678901234567890123456789.json")
			}
			kept = fmt.Sprintf("%d results, %d others", results, strings.Count(strings.Join(files, " "), "other"))
		}
		if kept != step.kept {
			t.Errorf("%d: %s, want %s: %s", i, kept, step.kept, out)
		}
		at := run("cd remote && git rev-parse -q --verify perf || true")
		picture := "![contend over the commits of main](https://localhost/them/app/raw/" + at + "/history.svg)"
		if shown := strings.Contains(readFile(t, home, "contend/comment.md"), picture); shown != (step.env == nil && step.kept != "") {
			t.Errorf("%d: shown %v: %s", i, shown, readFile(t, home, "contend/comment.md"))
		}
	}
	if files := run("cd remote && git ls-tree --name-only perf"); !strings.Contains(files, "history.json\nhistory.svg\nother.json") || strings.Count(files, "\n") != 5 {
		t.Errorf("the branch has %s", files)
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
