package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// arguments allows exactly n arguments, which the text names.
func arguments(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s: need %s, have %d arguments (%s --help shows examples)", cmd.Name(), what, len(args), cmd.CommandPath())
	}
}

// onlySubcommands makes a command complain about names that it does not know,
// and show its help without one.
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
	text := fmt.Sprintf("unknown command %q", strings.TrimPrefix(parent.CommandPath()+" "+name, "contend "))
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		text += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return fmt.Errorf("%s (%s --help lists the commands)", text, parent.CommandPath())
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

// flagError says what a flag allows instead of how its parser failed.
func flagError(cmd *cobra.Command, err error) error {
	var number *strconv.NumError
	before, cause, invalid := strings.Cut(err.Error(), `" flag: `)
	switch {
	case !invalid:
		return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.CommandPath())
	case strings.HasPrefix(cause, "time: "):
		cause = "allowed is a duration, as in 250ms, 2s or 1m30s"
	case errors.As(err, &number) && number.Func == "ParseBool":
		cause = "allowed are true and false"
	case errors.As(err, &number) && number.Func == "ParseFloat":
		cause = "allowed is a number"
	case errors.As(err, &number):
		cause = "allowed are whole numbers"
	}
	return errors.New(before + `" flag: ` + cause)
}

// within returns an error for each value of a flag that is out of bounds.
func within(flag string, values []int, low, high int) error {
	var errs []error
	for _, n := range values {
		if n < low || n > high {
			errs = append(errs, fmt.Errorf("--%s is %d, allowed are %d to %d", flag, n, low, high))
		}
	}
	return errors.Join(errs...)
}

// distinct leaves out what has been there before.
func distinct[T comparable](values []T) []T {
	var list []T
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist, or is registered twice
	}
}
