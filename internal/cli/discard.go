package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"
)

// discardCommand reads standard input to its end: the other process of a
// pipeline that prints.
const discardCommand = "discard"

func newDiscard(*app) *cobra.Command {
	return &cobra.Command{
		Use:    discardCommand,
		Short:  "Read standard input to its end and forget it",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
