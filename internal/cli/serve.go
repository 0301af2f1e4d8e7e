package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run one of the reference services",
		Example: indent + "contend serve counter --http :8080 --grpc :50055 --guard mutex",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return errors.New("serve: expects a service: counter, static or router")
		},
	}
	cmd.AddCommand(withPprof(newServeCounter(a)), withPprof(newServeStatic(a)), withPprof(newServeRouter(a)))
	return cmd
}

// ended is the error of serving; being stopped during the start is not a failure.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return failed(err)
}
