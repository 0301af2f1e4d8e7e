package cli

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contend/load"
	"contend/protocol"
	"contend/search"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

// The headings under which flags stand in help, beside those of protocols.
const (
	loadHeading       = "Load"
	targetHeading     = "Target"
	comparisonHeading = "Comparison"
	sweepHeading      = "Sweep"
	rateHeading       = "Highest rate"
	serversHeading    = "Servers and CPUs"
	outputHeading     = "Output"
)

// headings returns all of them, those of common flags first.
func headings() []string {
	return slices.Concat([]string{loadHeading, comparisonHeading, sweepHeading, rateHeading, outputHeading, targetHeading, serversHeading}, protocol.Protocols())
}

// A flag stands under the section that it has in files, under its protocol, or under what
// the struct is about that it is of.
var (
	headingOfSection = map[string]string{"load": loadHeading, "compare": comparisonHeading, "sweep": sweepHeading}
	headingOfStruct  = map[reflect.Type]string{
		reflect.TypeFor[load.Plan]():       loadHeading,
		reflect.TypeFor[runSettings]():     loadHeading,
		reflect.TypeFor[trial.Design]():    comparisonHeading,
		reflect.TypeFor[compareOptions]():  comparisonHeading,
		reflect.TypeFor[sweep.Design]():    sweepHeading,
		reflect.TypeFor[sweepOptions]():    sweepHeading,
		reflect.TypeFor[search.Design]():   rateHeading,
		reflect.TypeFor[servedOptions]():   serversHeading,
		reflect.TypeFor[surroundings]():    serversHeading,
		reflect.TypeFor[revisionOptions](): serversHeading,
		reflect.TypeFor[pins]():            serversHeading,
		reflect.TypeFor[generatorPin]():    serversHeading,
		reflect.TypeFor[views]():           outputHeading,
		reflect.TypeFor[output]():          outputHeading,
		reflect.TypeFor[initOptions]():     outputHeading,
	}
)

// headingKey is that of the heading among the annotations of a flag.
const headingKey = "heading"

// headingOf returns the heading of a setting's flag, "" where the help of its command has
// none.
func headingOf(s setting.Setting) string {
	section, _, ofSection := strings.Cut(s.Path, ".")
	switch {
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
// have a letter first, and a line for each; with --full whole lines.
func usageInGroups(cmd *cobra.Command) error {
	cmd.Flags().SortFlags = false // they are in the order of their structs
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	full := cmd.Flags().Changed("full")
	cut := false
	for _, heading := range headings() {
		flags := flagsUnder(cmd, heading)
		if !flags.HasAvailableFlags() {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", heading)
		for line := range strings.Lines(flags.FlagUsages()) {
			line = strings.TrimRight(line, "\n")
			if short := shortened(line, terminalWidth); !full && short != line {
				line, cut = short, true
			}
			b.WriteString(line + "\n")
		}
	}
	if cut && cmd.Flags().Lookup("full") != nil {
		fmt.Fprintf(&b, "\n%s --help --full shows what … leaves out.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// flagsUnder returns the flags under a heading, in the order in which they are shown.
func flagsUnder(cmd *cobra.Command, heading string) *pflag.FlagSet {
	set := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	set.SortFlags = false
	for _, letter := range []bool{true, false} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Equal(f.Annotations[headingKey], []string{heading}) && (f.Shorthand != "") == letter {
				set.AddFlag(f)
			}
		})
	}
	return set
}

// defaultOf is what ends the line of a flag with a default.
var defaultOf = regexp.MustCompile(` \(default .*\)$`)

// longDefault is how many columns of a default are too many where there is no room for all.
const longDefault = 20

// shortened returns a line that has no more than so many columns.
func shortened(line string, most int) string {
	if columns(line) <= most {
		return line
	}
	value := defaultOf.FindString(line)
	line = strings.TrimSuffix(line, value)
	if columns(value) > longDefault {
		value = ""
	}
	const more = " …"
	return clause(line, most-columns(more+value)) + more + value
}

// clause returns the begin of a line, up to the end of a clause, or else of a word.
func clause(line string, most int) string {
	runes := []rune(line)
	if len(runes) <= most {
		return line
	}
	head := string(runes[:most])
	for _, between := range []string{"; ", " (", ", ", " "} {
		if at := strings.LastIndex(head, between); at > len(head)/2 {
			return strings.TrimRight(head[:at], " ,;:")
		}
	}
	return head
}
