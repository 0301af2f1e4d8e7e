package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments allows exactly n arguments, which the text names.
func arguments(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		got := "none"
		if len(args) > 0 {
			got = strconv.Itoa(len(args))
		}
		return fmt.Errorf("%s: expects %s, got %s%s (see %s --help)", cmd.Name(), what, got, taken(cmd), cmd.CommandPath())
	}
}

// oneTarget allows one, or after -- the words of a command.
func oneTarget(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
		return nil
	}
	err := arguments(1, "one target")(cmd, args)
	if len(args) > 1 && isCommand(args[0]) {
		err = fmt.Errorf("%w: quote a command, as in %s '%s'", err, cmd.CommandPath(), strings.Join(args, " "))
	}
	return err
}

// taken names the flag for a number or a time that consumed a URL as its value, or the switch whose name is
// that of a flag with a value in contend run; "": there is neither.
func taken(cmd *cobra.Command) (text string) {
	if rate := cmd.Flags().Lookup("rate"); rate != nil && rate.Changed && rate.NoOptDefVal != "" {
		return ": --rate takes no value here, as sweep finds the highest rate; contend run --rate N drives one"
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); strings.Contains(value, "://") && !strings.HasPrefix(f.Value.Type(), "string") {
			text = fmt.Sprintf(": --%s consumed %s as its value", f.Name, value)
		}
	})
	return text
}

// onlySubcommands makes a command reject unknown names, and show its help
// without one.
func onlySubcommands(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
}

func unknownCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = 2
	if strings.Contains(name, "://") && !parent.HasParent() {
		return fmt.Errorf("%s is not a command; to load it: contend run %[1]s; to find its best concurrency: contend sweep %[1]s", name)
	}
	text := fmt.Sprintf("unknown command %q", strings.TrimPrefix(parent.CommandPath()+" "+name, "contend "))
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return fmt.Errorf("%s (see %s --help)", text, parent.CommandPath())
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 && cmd.HasSubCommands() {
				err = unknownCommand(cmd, rest[0])
			}
			if err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if cmd, _, err := root.Find(args); err == nil {
				for _, sub := range cmd.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist, or is registered twice
	}
}
