package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contend/count"
	"contend/internal/lazyregexp"
	"contend/load"
	"contend/protocol"
	"contend/search"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

// The headings of flags in help, except those of protocols.
const (
	mostUsedHeading   = "Most used"
	loadHeading       = "Load"
	targetHeading     = "Target"
	comparisonHeading = "Comparison"
	sweepHeading      = "Sweep"
	rateHeading       = "Highest rate"
	serversHeading    = "Servers and CPUs"
	outputHeading     = "Output"
)

// mostUsed are the flags that most command lines are made of, as help shows them first.
var mostUsed = []string{
	"concurrency", "duration", "iterations", "rate", "levels", "method", "header", "data", "url", "command", "revisions",
	"metric", "why", "objective", "expect", "output", "html",
}

// headings returns all of them, those of common flags first.
func headings() []string {
	return slices.Concat([]string{mostUsedHeading, loadHeading, comparisonHeading, sweepHeading, rateHeading, outputHeading, targetHeading, serversHeading}, protocol.Protocols())
}

// A flag is listed under the section that it has in files, under its protocol, or under
// the subject of its struct.
var (
	headingOfSection = map[string]string{"load": loadHeading, "compare": comparisonHeading, "sweep": sweepHeading}
	headingOfStruct  = map[reflect.Type]string{
		reflect.TypeFor[load.Plan]():       loadHeading,
		reflect.TypeFor[runSettings]():     loadHeading,
		reflect.TypeFor[trial.Design]():    comparisonHeading,
		reflect.TypeFor[count.Design]():    comparisonHeading,
		reflect.TypeFor[compareOptions]():  comparisonHeading,
		reflect.TypeFor[bisectOptions]():   comparisonHeading,
		reflect.TypeFor[stackFiles]():      comparisonHeading,
		reflect.TypeFor[sweep.Design]():    sweepHeading,
		reflect.TypeFor[sweepOptions]():    sweepHeading,
		reflect.TypeFor[search.Design]():   rateHeading,
		reflect.TypeFor[servedOptions]():   serversHeading,
		reflect.TypeFor[surroundings]():    serversHeading,
		reflect.TypeFor[ownServer]():       serversHeading,
		reflect.TypeFor[portChoice]():      serversHeading,
		reflect.TypeFor[revisionOptions](): serversHeading,
		reflect.TypeFor[pins]():            serversHeading,
		reflect.TypeFor[fleetOptions]():    serversHeading,
		reflect.TypeFor[fleetSecurity]():   serversHeading,
		reflect.TypeFor[views]():           outputHeading,
		reflect.TypeFor[outlets]():         outputHeading,
		reflect.TypeFor[onPage]():          outputHeading,
		reflect.TypeFor[forms]():           outputHeading,
		reflect.TypeFor[formFiles]():       outputHeading,
		reflect.TypeFor[output]():          outputHeading,
		reflect.TypeFor[initOptions]():     outputHeading,
		reflect.TypeFor[remembered]():      outputHeading,
	}
)

// headingKey is that of the heading among the annotations of a flag.
const headingKey = "heading"

// headingOf returns the heading of a setting's flag, "" where the help of its command has
// none.
func headingOf(s setting.Setting) string {
	section, _, ofSection := strings.Cut(s.Path, ".")
	switch {
	case slices.Contains(mostUsed, s.Flag):
		return mostUsedHeading
	case ofSection:
		return headingOfSection[section]
	case s.Path == "":
		return headingOfStruct[s.Struct]
	}
	if name := protocol.ProtocolOf(s); name != "" {
		return name
	}
	return targetHeading
}

// usageInGroups writes the usage of a command with its flags under headings, those that
// have a letter first.
func usageInGroups(cmd *cobra.Command) error {
	cmd.Flags().SortFlags = false // they are in the order of their structs
	var groups []*pflag.FlagSet
	for _, heading := range headings() {
		groups = append(groups, flagsUnder(cmd, heading))
	}
	return writeUsage(cmd, headings(), groups)
}

// usageTogether writes that of a command with few flags.
func usageTogether(cmd *cobra.Command) error {
	return writeUsage(cmd, []string{"Flags"}, []*pflag.FlagSet{cmd.LocalFlags()})
}

// writeUsage writes how a command is called, examples, the commands below it, and its flags.
func writeUsage(cmd *cobra.Command, headings []string, groups []*pflag.FlagSet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND --help\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		var rows [][]string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				rows = append(rows, []string{sub.Name(), sub.Short})
			}
		}
		writeTable(&b, rows)
	}
	for i, flags := range groups {
		if !flags.HasAvailableFlags() {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", headings[i])
		for line := range strings.Lines(flags.FlagUsages()) {
			name := beforeWords().FindString(line)
			writeWrapped(&b, line[len(name):], name, strings.Repeat(" ", columns(name)))
		}
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// beforeWords is what the line of a flag begins with: its name and that of its value, set off
// from the words by three blanks at least.
var beforeWords = lazyregexp.New(`^ +(-\w, )?--.*? {3,}`)

// flagsUnder returns the flags under a heading, in the order in which they are shown.
func flagsUnder(cmd *cobra.Command, heading string) *pflag.FlagSet {
	set := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	set.SortFlags = false
	if heading == mostUsedHeading {
		for _, name := range mostUsed {
			if f := cmd.Flags().Lookup(name); f != nil {
				set.AddFlag(f)
			}
		}
		return set
	}
	for _, letter := range []bool{true, false} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Equal(f.Annotations[headingKey], []string{heading}) && (f.Shorthand != "") == letter {
				set.AddFlag(f)
			}
		})
	}
	return set
}
