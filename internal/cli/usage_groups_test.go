package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// grouped are the commands whose help has headings for flags.
func grouped() []*cobra.Command {
	a := &app{}
	return []*cobra.Command{newRun(a), newCompare(a), newSweep(a), newInit(a)}
}

// Every flag has a heading, and help shows it once, in lines that fit a terminal.
func TestEveryFlagHasAHeading(t *testing.T) {
	for _, cmd := range grouped() {
		var help strings.Builder
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		flags := strings.Split(help.String(), "\nExamples:")[1]
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			heading := f.Annotations[headingKey]
			if f.Hidden || f.Name == "help" {
				return
			}
			if len(heading) != 1 || !slices.Contains(headings(), heading[0]) {
				t.Errorf("%s: --%s stands under %q", cmd.Name(), f.Name, heading)
			}
			if n := len(regexp.MustCompile(`(?m)^  (-\w, |    )--`+f.Name+` `).FindAllString(flags, -1)); n != 1 {
				t.Errorf("%s: --%s is shown %d times", cmd.Name(), f.Name, n)
			}
		})
		for line := range strings.Lines(flags[strings.Index(flags, "\n\n"):]) {
			if columns(strings.TrimSuffix(line, "\n")) > terminalWidth {
				t.Errorf("%s: %q is too long", cmd.Name(), line)
			}
		}
	}
}

// Flags are listed where people look for them.
func TestHeadings(t *testing.T) {
	commands := map[string]*cobra.Command{}
	for _, cmd := range grouped() {
		commands[cmd.Name()] = cmd
	}
	for _, tt := range []struct{ command, flag, heading string }{
		{"run", "concurrency", "Most used"}, {"run", "rate", "Most used"}, {"run", "duration", "Most used"}, {"run", "expect", "Most used"},
		{"run", "header", "Most used"}, {"run", "data", "Most used"}, {"run", "method", "Most used"}, {"run", "think", "Load"}, {"run", "check", "Target"}, {"run", "requests", "HTTP"}, {"run", "mode", "WebSocket"},
		{"run", "proto", "gRPC"}, {"run", "until", "TCP"}, {"run", "json", "Output"}, {"run", "generator-cpus", "Servers and CPUs"},
		{"compare", "concurrency", "Most used"}, {"compare", "duration", "Most used"}, {"compare", "margin", "Comparison"},
		{"compare", "seed", "Comparison"}, {"compare", "url", "Most used"}, {"compare", "env", "Servers and CPUs"},
		{"sweep", "duration", "Most used"}, {"sweep", "rate", "Most used"}, {"sweep", "precision", "Highest rate"}, {"sweep", "seed", "Sweep"},
		{"init", "output", "Most used"},
	} {
		if got := commands[tt.command].Flags().Lookup(tt.flag).Annotations[headingKey]; !slices.Equal(got, []string{tt.heading}) {
			t.Errorf("--%s of %s stands under %q, want %s", tt.flag, tt.command, got, tt.heading)
		}
	}
}

// Help says everything about a flag, in lines that fit a terminal, except for examples.
func TestHelpIsNotCut(t *testing.T) {
	blank := strings.NewReplacer(" ", "", "\n", "")
	all(t, func(t *testing.T, cmd *cobra.Command) {
		help := cmd.UsageString()
		for line := range strings.Lines(help) {
			if columns(strings.TrimSuffix(line, "\n")) > terminalWidth && !strings.Contains(cmd.Example, strings.TrimSpace(line)) {
				t.Errorf("%d columns: %s", columns(line), line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, words := pflag.UnquoteUsage(f)
			if whole := blank.Replace(words); !f.Hidden && !strings.Contains(blank.Replace(help), whole) {
				t.Errorf("help does not say of --%s: %s", f.Name, words)
			}
			if value := f.DefValue; !f.Hidden && len(value) > 20 && !strings.Contains(blank.Replace(help), blank.Replace(value)) {
				t.Errorf("help does not say the default of --%s: %s", f.Name, value)
			}
		})
	})
}

// A word that is too wide is broken after commas only.
func TestWrapped(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"one two", []string{"one two"}},
		{"one two three", []string{"one two", "three"}},
		{"a,b,c,d,e,f,g", []string{"a,b,c,d,", "e,f,g"}},
		{"of a,bb,cc,dd, x", []string{"of", "a,bb,cc,", "dd, x"}},
		{"äöü,äöü,äöü", []string{"äöü,äöü,", "äöü"}},
		{"abcdefghijk l", []string{"abcdefghijk", "l"}},
	} {
		if got := wrapped(tt.text, 8); !slices.Equal(got, tt.want) {
			t.Errorf("%q is broken as %q, want %q", tt.text, got, tt.want)
		}
	}
}
