package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"contend/internal/testenv"
	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// all calls f for every command below the root.
func all(t *testing.T, f func(t *testing.T, cmd *cobra.Command)) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) { f(t, cmd) })
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
				visit(sub)
			}
		}
	}
	visit(Command())
}

// Every command explains itself with examples that parse.
func TestHelp(t *testing.T) {
	all(t, func(t *testing.T, cmd *cobra.Command) {
		var help bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := Main(t.Context(), args, Streams{&help, io.Discard}); code != exitDone {
			t.Errorf("--help exits with %d", code)
		}
		if !strings.Contains(help.String(), "Examples:\n  contend ") {
			t.Errorf("help without an example:\n%s", &help)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			if err := parses(strings.TrimSpace(line)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		if strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 80 {
			t.Errorf("short description %q", cmd.Short)
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(line)) > 101 {
				t.Errorf("long line %q", line)
			}
		}
	})
}

// parses returns an error unless the line is a command with flags and arguments
// that contend knows.
func parses(line string) error {
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] != "contend" {
		return errors.New("does not begin with contend")
	}
	root := newRoot(&app{Streams: Streams{io.Discard, io.Discard}})
	cmd, args, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	if cmd == root && len(cmd.Flags().Args()) > 0 {
		return unknownCommand(root, cmd.Flags().Args()[0])
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// shellWords splits a line as a shell does, as far as examples need it.
func shellWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, c := range line + " " {
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && c == ' ':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%s: open quote", line)
	}
	return words, nil
}

func TestParses(t *testing.T) {
	for line, want := range map[string]string{
		`contend run -c 5 http://localhost/`:            "",
		`contend compare --url x -- './a -x' "./b '-x"`: "",
		`contend run --nope http://localhost/`:          "unknown flag",
		`contend rum http://localhost/`:                 "unknown command",
		`contend run a b`:                               "expects one target",
		`ls -l`:                                         "does not begin",
		`contend run 'a`:                                "open quote",
	} {
		err := parses(line)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// Commands leave no goroutine behind.
func TestCommandsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, args := range [][]string{
		{"run", "-c", "3", "-n", "30", server.URL},
		{"run", "-c", "3", "--rate", "100", "-d", "500ms", server.URL},
		{"sweep", "--levels", "1,2", "--visits", "1", "--think", "5ms", "--block", "500ms", "--warmup", "0s", server.URL},
		{"guard", "inputq", "combining", "--kind", "add-get", "--callers", "2"},
		{"run", "-c", "2", "-n", "4", "pipe:mpmc?producers=2&consumers=2&items=10000"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			var errs bytes.Buffer
			if code := Main(t.Context(), args, Streams{io.Discard, &errs}); !slices.Contains(figures, code) {
				t.Errorf("exit code %d: %s", code, &errs)
			}
			server.CloseClientConnections()
			goleak.VerifyNone(t, before)
		})
	}
}

// A closed standard output and an ended context have exit codes other than that of usage.
func TestExitCodes(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	planned := testenv.Write(t, filepath.Join(t.TempDir(), "planned.yaml"), "{id: planned-one, title: some day, status: planned}")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		args []string
		out  io.Writer
		want int
	}{
		{"closed output", t.Context(), []string{"run", "-n", "1", "guard:mutex"}, closedWriter{}, exitFailed},
		{"closed output of the lab", t.Context(), []string{"lab", planned, "-o", ""}, closedWriter{}, exitFailed},
		{"ended before it began", ended, []string{"run", "-n", "1", "guard:mutex"}, io.Discard, exitInterrupted},
		{"lab ended before it began", ended, []string{"lab", "grpc-guard", "-o", ""}, io.Discard, exitInterrupted},
		{"guard ended before it began", ended, []string{"guard", "mutex"}, io.Discard, exitInterrupted},
		{"pipe ended before it began", ended, []string{"pipe", "chan"}, io.Discard, exitInterrupted},
		{"ended before a program was started", ended, []string{"run", "sleep 9"}, io.Discard, exitInterrupted},
		{"no arguments", t.Context(), []string{}, io.Discard, exitDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var errs bytes.Buffer
			if code := Main(tt.ctx, tt.args, Streams{tt.out, &errs}); code != tt.want {
				t.Errorf("exit code %d, want %d: %s", code, tt.want, &errs)
			} else if code == exitInterrupted && !strings.HasSuffix(errs.String(), "contend: interrupted; there is no result\n") {
				t.Errorf("there is a result: %s", &errs)
			}
		})
	}
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestVerdictCode(t *testing.T) {
	for verdict, want := range map[stat.Verdict]int{
		stat.Faster: exitDone, stat.Equivalent: exitDone, stat.Less: exitDone,
		stat.Slower: exitUnmet, stat.More: exitUnmet,
		stat.Inconclusive: exitUndecided, stat.Invalid: exitUndecided,
	} {
		if got := verdictCode(verdict); got != want {
			t.Errorf("%s exits with %d, want %d", verdict, got, want)
		}
	}
}

// Time is taken for a second, or not at all where events are counted.
func TestSucceeded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		result load.Result
		want   string // in the error; "" for none
	}{
		{"one right answer", load.Result{Duration: time.Second, Counts: load.Counts{Planned: 2, Completed: 1, Failed: 1}}, ""},
		{"none", load.Result{Duration: time.Second, Counts: load.Counts{Planned: 1, Failed: 1}}, "1 failed"},
		{"one while events were counted", load.Result{Cost: load.Cost{Counted: &load.Counted{Planned: 2, Completed: 1, Wrong: 1}}}, ""},
		{"none while events were counted", load.Result{Cost: load.Cost{Counted: &load.Counted{Planned: 3, Wrong: 2}}}, "while events were counted: 2 of 3 failed"},
		{"one only after the time", load.Result{Duration: time.Second, Cost: load.Cost{Counted: &load.Counted{Planned: 1, Completed: 1}}}, "no iteration started within the 1s"},
	} {
		err := succeeded(&report.Document{Results: []report.Result{{Cell: trial.Cell{Result: &tt.result}}}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestMessage(t *testing.T) {
	two := errors.Join(errors.New("one"), errors.New("two"))
	for _, tt := range []struct {
		code int
		err  error
		want string
	}{
		{exitUsage, errors.New("one"), "one"},
		{exitUsage, two, "2 mistakes\n  one\n  two"},
		{exitFailed, two, "one\n  two"},
	} {
		if got := errorText(&exitError{tt.code, tt.err}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"…äöü", 4, "…äöü"},
		{"", 1, ""},
	} {
		if got := truncate(tt.line, tt.width); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}
