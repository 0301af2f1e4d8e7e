package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// grouped are the commands whose flags stand under headings.
func grouped() []*cobra.Command {
	a := &app{}
	return []*cobra.Command{newRun(a), newCompare(a), newSweep(a), newInit(a)}
}

// Every flag has a heading, and help has a line for each that fits a terminal.
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

// Flags stand where they are looked for.
func TestHeadings(t *testing.T) {
	commands := map[string]*cobra.Command{}
	for _, cmd := range grouped() {
		commands[cmd.Name()] = cmd
	}
	for _, tt := range []struct{ command, flag, heading string }{
		{"run", "concurrency", "Load"}, {"run", "rate", "Load"}, {"run", "duration", "Load"}, {"run", "expect", "Load"},
		{"run", "header", "Target"}, {"run", "data", "Target"}, {"run", "method", "HTTP"}, {"run", "mode", "WebSocket"},
		{"run", "proto", "gRPC"}, {"run", "until", "TCP"}, {"run", "json", "Output"}, {"run", "generator-cpus", "Servers and CPUs"},
		{"compare", "concurrency", "Load"}, {"compare", "duration", "Comparison"}, {"compare", "margin", "Comparison"},
		{"compare", "seed", "Comparison"}, {"compare", "url", "Servers and CPUs"}, {"compare", "revisions", "Servers and CPUs"},
		{"sweep", "duration", "Sweep"}, {"sweep", "rate", "Sweep"}, {"sweep", "objective", "Highest rate"}, {"sweep", "seed", "Sweep"},
		{"init", "output", "Output"},
	} {
		if got := commands[tt.command].Flags().Lookup(tt.flag).Annotations[headingKey]; !slices.Equal(got, []string{tt.heading}) {
			t.Errorf("--%s of %s stands under %q, want %s", tt.flag, tt.command, got, tt.heading)
		}
	}
}

func TestShortened(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"short", "short"},
		{"12345678901234567890", "12345678901234567890"},
		{"  --flag first; second part", "  --flag first …"},
		{"  --flag first (second part)", "  --flag first …"},
		{"  --flag one, two and three", "  --flag one …"},
		{"  --flag words without end", "  --flag words …"},
		{"123456789012345678901", "123456789012345678 …"},
		{"a; 34567890 2345678901234567890", "a; 34567890 …"}, // half of the line is no clause's worth
	} {
		if got := shortened(tt.line, 20); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.line, got, tt.want)
		}
	}
	for line, want := range map[string]string{
		"  --flag a (default 5)":                      "  --flag a (default 5)",
		"  --flag first; second (default 5)":          "  --flag first … (default 5)",
		"  --flag first (default 123456789012345678)": "  --flag first …",
	} {
		if got := shortened(line, 30); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}
