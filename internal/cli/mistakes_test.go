package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contend/internal/testenv"
)

// mistakes are what people get wrong in their first hour, with all that contend prints
// about it: command lines, each followed by the exit code and standard error. They are
// meant to be read aloud.
const mistakes = "testdata/mistakes.txt"

// mistakenFiles are what the command lines of the mistakes read.
var mistakenFiles = map[string]string{
	"tab.yaml":      "id: x\nsubjects:\n\ta: {}\n",
	"url.yaml":      "id: one-url\ntitle: one\nurl: http://localhost/\n",
	"url.json":      `[{"url": "/x"}]`,
	"no-name.json":  `[{"name": "read", "path": "/x"}, {"path": "/y"}]`,
	"requests.yaml": "- path: /x\n",
	"notes.txt":     "throughput 3\n",
}

// The mistakes of a first hour are answered in exactly these words; -update writes them.
func TestMistakes(t *testing.T) {
	want := testenv.Read(t, mistakes)
	path, err := filepath.Abs(mistakes)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range mistakenFiles {
		testenv.Write(t, name, text)
	}
	var got strings.Builder
	n := 0
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			continue
		}
		if n++; n > 1 {
			got.WriteByte('\n')
		}
		words, err := shellWords(command)
		if err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		code := Main(t.Context(), words[1:], Streams{&out, &errs})
		if code != exitUsage && code != exitFailed || out.Len() > 0 {
			t.Errorf("%s: exit code %d, standard output %q", line, code, out.String())
		}
		fmt.Fprintf(&got, "%s\n%s[%d]\n", line, errs.String(), code)
	}
	if *testenv.Update {
		testenv.Write(t, path, got.String())
		return
	}
	if n < 50 {
		t.Errorf("there are %d mistakes", n)
	}
	texts, wants := strings.Split(got.String(), "\n\n"), strings.Split(string(want), "\n\n")
	for i, text := range texts {
		if strings.TrimSpace(text) != strings.TrimSpace(wants[i]) {
			t.Errorf("got\n%s\nwant\n%s", text, wants[i])
		}
	}
}

// The advice about flags of other tools can be followed: it holds for run, and names
// only flags that run has.
func TestElsewhere(t *testing.T) {
	run := newRun(&app{})
	for name, meanings := range elsewhere {
		if len(name) > 1 && run.Flags().Lookup(name) != nil || len(name) == 1 && run.Flags().ShorthandLookup(name) != nil {
			t.Errorf("%s is a flag of run: its meaning elsewhere is never told", name)
		}
		for _, m := range meanings {
			if !has(run, m.ours) {
				t.Errorf("%s of %s is answered with %q, which run does not have", name, m.tools, m.ours)
			}
		}
	}
	bare := &cobra.Command{Use: "bare"}
	if text := meant(bare, "-", "z"); text != "" {
		t.Errorf("a command without -d is told %q", text)
	}
}

// Alone it says what to do first, in five lines that fit a terminal.
func TestAlone(t *testing.T) {
	var out, errs strings.Builder
	if code := Main(t.Context(), []string{}, Streams{&out, &errs}); code != exitDone || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 5 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if columns(line) > terminalWidth || words[0] != "contend" || commands[words[1]] == nil && words[1] != "help" {
			t.Errorf("%q is too long, or names no command", line)
		}
	}
}
