package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/guard"
	"contend/internal/service/counter"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve one of the reference services",
		Example: indent + "contend serve counter --http :8080 --grpc :50055 --guard mutex",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return errors.New("serve: name a service: counter, static or router")
		},
	}
	cmd.AddCommand(newServeCounter(a), newServeStatic(a), newServeRouter(a))
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
		Example: indent + "contend serve counter --http :8080 --grpc :50055 --guard inputQ",
		Args:    arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCounter(c); err != nil {
				return usage(err)
			}
			c.Logger = slog.New(slog.NewTextHandler(a.Err, nil))
			server, err := counter.Listen(c)
			if err == nil {
				err = server.Serve(cmd.Context())
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.HTTPAddr, "http", "", "`address` of the HTTP service, such as :8080")
	f.StringVar(&c.GRPCAddr, "grpc", "", "`address` of the gRPC service, such as :50055")
	f.StringVar(&c.Guard, "guard", "", "`design` that guards the gRPC counter, in any case: mutex, inputQ, atomic, …")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", 10*time.Second, "how long requests in flight may take when stopping")
	complete(cmd, "guard", counterNames())
	return cmd
}

// checkCounter says in the words of the flags what counter.Listen would refuse.
func checkCounter(c counter.Config) error {
	var errs []error
	if c.HTTPAddr == "" && c.GRPCAddr == "" {
		errs = append(errs, errors.New("neither --http nor --grpc is given: at least one is needed"))
	}
	known := slices.ContainsFunc(counterNames(), func(name string) bool { return strings.EqualFold(name, c.Guard) })
	if !known && (c.Guard != "" || c.GRPCAddr != "") {
		errs = append(errs, fmt.Errorf("--guard is %q, allowed are %s", c.Guard, strings.Join(counterNames(), ", ")))
	}
	if c.DrainTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--drain-timeout is %v, allowed are 1ns and more", c.DrainTimeout))
	}
	return errors.Join(errs...)
}

// counterNames are the designs that return values.
func counterNames() []string {
	var names []string
	for _, d := range guard.Designs() {
		if d.NewCounter != nil {
			names = append(names, d.Name)
		}
	}
	return names
}
