package cli

import (
	"github.com/spf13/cobra"

	"contend/internal/rebind"
)

// newBind is what is tried with newRebind.
func newBind(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "bind ADDR", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Listen at an address for a moment and say where that came to be",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := rebind.Bind(a.Out, args[0]); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

// newRebind is the command that package subject puts before that of a server which
// insists on its port.
func newRebind(*app) *cobra.Command {
	return askedAbout("rebind", "binds", false)
}

// newObserve is newRebind for programs that are started to find out what they need.
func newObserve(*app) *cobra.Command {
	return askedAbout("observe", "binds and connects", true)
}

// askedAbout is a command that becomes another, of whose calls its parent is asked about these.
func askedAbout(name, calls string, connects bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " COMMAND [ARG ...]", Hidden: true, DisableFlagParsing: true,
		Short: "Become a command whose " + calls + " the process that started it is asked about",
		RunE:  func(_ *cobra.Command, args []string) error { return failed(rebind.Exec(args, connects)) },
	}
}
