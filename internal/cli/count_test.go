package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contend/count"
	"contend/report"
	"contend/stat"
)

func TestOutcomeOfCounts(t *testing.T) {
	for verdict, want := range map[stat.Verdict]int{stat.More: exitUnmet, stat.Less: exitDone, stat.Equivalent: exitDone,
		stat.Inconclusive: exitUndecided, stat.Invalid: exitUndecided, "": exitUndecided} {
		doc := &report.Document{Command: "compare", Counts: make([]report.Counts, 1)}
		if verdict != "" {
			doc.Counts[0].Comparisons = []count.Comparison{{Verdict: verdict}}
		}
		code := exitDone
		if exit, ok := errors.AsType[*exitError](outcome(doc)); ok {
			code = exit.code
		}
		if code != want {
			t.Errorf("%q exits with %d, want %d", verdict, code, want)
		}
	}
}

const noValgrind = "counting instructions requires valgrind, which is not installed\nFAILED: nothing was measured\n\nNext: install the package valgrind, as with apt-get install valgrind\n"

// What cannot be counted is said before anything is started.
func TestCountMistakes(t *testing.T) {
	servers := []string{"--url", "http://{{addr}}/", "--", "./a {{addr}}", "./b {{addr}}"}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{append([]string{"--count", "--duet"}, servers...), exitUsage, "use either --count, which shows no time, or --duet"},
		{append([]string{"--count", "--rate", "50"}, servers...), exitUsage, "drop rate and think"},
		{append([]string{"--count", "-c", "1,8"}, servers...), exitUsage, "one level of concurrency"},
		{[]string{"--count", "http://127.0.0.1:1/", "http://127.0.0.1:2/"}, exitUsage, "A: counting instructions requires a command"},
		{append([]string{"--count", "--metric", "p99"}, servers...), exitUsage, "drop metrics and precision"},
		{append([]string{"--count"}, servers...), exitFailed, "It could not be measured: " + noValgrind},
	} {
		t.Setenv("PATH", t.TempDir())
		var out, errs strings.Builder
		code := Main(t.Context(), append([]string{"compare"}, tt.args...), Streams{&out, &errs})
		if code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%q: exit code %d, want %d with %q\n%s\n%s", tt.args, code, tt.code, tt.want, out.String(), errs.String())
		}
	}
}

// Experiments in which nothing can be counted are not run.
func TestLabCountMistakes(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct {
		id   string
		code int
		want string
	}{
		{"channel-pipeline", exitUsage, "lab: --count requires an experiment that compares servers"},
		{"http-guard", exitFailed, "It could not be measured: " + noValgrind},
	} {
		var out, errs strings.Builder
		code := Main(t.Context(), []string{"lab", "--count", tt.id}, Streams{&out, &errs})
		if code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s\n%s", tt.id, code, tt.code, tt.want, &out, &errs)
		}
	}
}

// The simulator is asked for its version once.
func TestCountAsksForTheVersionOnce(t *testing.T) {
	folder := t.TempDir()
	asked, simulator := filepath.Join(folder, "asked"), "#!/bin/sh\necho \"$*\" >>'"+filepath.Join(folder, "asked")+"'\n[ \"$1\" = --version ] && echo valgrind-3.19.0\n"
	if err := os.WriteFile(filepath.Join(folder, "valgrind"), []byte(simulator), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	var out, errs strings.Builder
	code := Main(t.Context(), []string{"compare", "--count", "--url", "http://{{addr}}/", "--", "./a {{addr}}", "./b {{addr}}"}, Streams{&out, &errs})
	words, err := os.ReadFile(asked)
	if times := strings.Count(string(words), "--version\n"); err != nil || times != 1 || code != exitFailed {
		t.Errorf("asked %d times, exit code %d (%v)\n%s\n%s", times, code, err, out.String(), errs.String())
	}
}
