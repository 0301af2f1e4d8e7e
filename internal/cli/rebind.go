package cli

import (
	"github.com/spf13/cobra"

	"contend/internal/rebind"
)

// newRebind is the command that package subject puts before that of a server which
// insists on its port.
func newRebind(*app) *cobra.Command {
	return &cobra.Command{
		Use: "rebind COMMAND [ARG ...]", Hidden: true, DisableFlagParsing: true,
		Short: "Become a command whose binds the process that started it is asked about",
		RunE:  func(_ *cobra.Command, args []string) error { return failed(rebind.Exec(args)) },
	}
}
