package cli

import (
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/service/counter"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve one of the reference services",
		Example: exampleIndenting + "contend serve counter --http :8080 --grpc :50055 --guard mutex",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("serve: name a service: counter"))
		},
	}
	cmd.AddCommand(newServeCounter(a))
	return cmd
}

func newServeCounter(a *app) *cobra.Command {
	var c counter.Config
	cmd := &cobra.Command{
		Use:   "counter",
		Short: "A counter over HTTP and gRPC behind any guard",
		Long: "A counter over HTTP and gRPC.\n\n" +
			"HTTP: /status (atomic), /statusV2 (mutex), /status/DESIGN, /health, /ready, /metrics.\n" +
			"gRPC: /counter.incrementCounter/increment behind --guard, with health and reflection.\n" +
			"SIGINT and SIGTERM stop it gracefully.",
		Example: exampleIndenting + "contend serve counter --http :8080 --grpc :50055 --guard inputQ",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Logger = slog.New(slog.NewTextHandler(a.Err, nil))
			server, err := counter.Listen(c)
			if err != nil {
				return usage(err)
			}
			if err := server.Serve(cmd.Context()); err != nil {
				return &exitError{exitFailed, err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.HTTPAddr, "http", "", "`address` of the HTTP service, such as :8080")
	f.StringVar(&c.GRPCAddr, "grpc", "", "`address` of the gRPC service, such as :50055")
	f.StringVar(&c.Guard, "guard", "", "guard of the gRPC service, in any case: mutex, inputQ, atomic, …")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", 10*time.Second, "how long requests in flight may take when stopping")
	return cmd
}
