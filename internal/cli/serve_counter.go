package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/guard"
	"contend/internal/redisserver"
	"contend/internal/service/counter"
	"contend/internal/service/counter/redis"
)

// maxReplicas is the highest number of replicas on one machine.
const maxReplicas = 64

func newServeCounter(a *app) *cobra.Command {
	s := &serveCounter{app: a}
	cmd := &cobra.Command{
		Use:   "counter",
		Short: "A counter over HTTP and gRPC behind any guard",
		Long: "A counter over HTTP and gRPC.\n\n" +
			"HTTP: /status (atomic), /statusV2 (mutex), /status/DESIGN, /health, /ready, /metrics.\n" +
			"/openapi.yaml and /counter.proto describe all of it.\n" +
			"gRPC: /counter.incrementCounter/increment behind --guard, with health and reflection.\n" +
			"With a redis- guard one counter, which others may share, is behind gRPC, /status and /status/GUARD.\n" +
			"SIGINT and SIGTERM stop it gracefully.",
		Example: indent + "contend serve counter --http :8080 --grpc :50055 --guard inputQ\n" +
			indent + "contend serve counter --http :8080 --guard redis-combining --redis redis://localhost:6379 --replicas 3",
		Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&s.HTTPAddr, "http", "", "`address` of the HTTP service, such as :8080")
	f.StringVar(&s.GRPCAddr, "grpc", "", "`address` of the gRPC service, such as :50055")
	f.StringVar(&s.Guard, "guard", "", "`design` that guards the gRPC counter, in any case: mutex, inputQ, atomic, …; or shares one: redis-script, …")
	f.DurationVar(&s.DrainTimeout, "drain-timeout", 10*time.Second, "how long requests in flight may take when stopping")
	f.IntVar(&s.replicas, "replicas", 1, "`number` of processes that serve the same addresses, with a redis- guard (Linux)")
	s.redis.flags(cmd)
	s.child.flags(cmd)
	complete(cmd, "guard", guardNames())
	return cmd
}

type serveCounter struct {
	*app
	counter.Config
	redis    counterFlags
	replicas int
	child    childFlags
}

func (s *serveCounter) run(cmd *cobra.Command) error {
	place, err := s.check(cmd)
	if err != nil {
		return usage(err)
	}
	s.Logger = slog.New(slog.NewTextHandler(s.Err, nil))
	ctx := cmd.Context()
	if s.child.replica > 0 {
		var end func()
		ctx, end, err = s.child.adopt(ctx, s)
		if err != nil {
			return failed(err)
		}
		defer end()
	}
	err = s.serve(ctx, place, childArgs(cmd))
	if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) { // stopped while it started
		return failed(err)
	}
	return nil
}

// check says in the words of the flags what cannot be served, and returns where
// the Redis is.
func (s *serveCounter) check(cmd *cobra.Command) (place redisserver.Config, err error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.HTTPAddr == "" && s.GRPCAddr == "" && s.child.replica == 0 {
		wrong("neither --http nor --grpc is given: at least one is needed")
	}
	design, unknown := redis.Lookup(s.Guard)
	shared := unknown == nil
	known := shared || slices.ContainsFunc(guard.Names(true), func(name string) bool { return strings.EqualFold(name, s.Guard) })
	switch {
	case !known && (s.Guard != "" || s.GRPCAddr != ""):
		wrong("--guard is %q; allowed: %s", s.Guard, strings.Join(guardNames(), ", "))
	case shared:
		s.Guard = design.Name
		if place, err = s.redis.config(cmd); err != nil {
			errs = append(errs, err)
		}
	default:
		for _, flag := range s.redis.given(cmd) {
			wrong("%s needs a redis- guard, --guard is %q", flag, s.Guard)
		}
		if s.replicas > 1 && s.replicas <= maxReplicas {
			wrong("--replicas is %d, which needs a redis- guard: with --guard %q each would count for itself", s.replicas, s.Guard)
		}
	}
	errs = append(errs, within("replicas", []int{s.replicas}, 1, maxReplicas))
	if s.replicas > 1 && runtime.GOOS != "linux" {
		wrong("--replicas is %d, but only Linux shares a port fairly", s.replicas)
	}
	if s.DrainTimeout <= 0 {
		wrong("--drain-timeout is %v, allowed are 1ns and more", s.DrainTimeout)
	}
	return place, errors.Join(errs...)
}

// serve opens the Redis, if there is one, and serves in this process or in
// replicas.
func (s *serveCounter) serve(ctx context.Context, where redisserver.Config, args []string) (err error) {
	if _, unknown := redis.Lookup(s.Guard); unknown != nil {
		return s.listen(ctx)
	}
	server, err := redisserver.Open(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	s.Redis = place(server)
	if server.Embedded() {
		s.Logger.Warn("embedded Redis: it keeps nothing, and no other process shares it; give --redis for both")
	}
	if s.replicas > 1 {
		return s.serveReplicas(ctx, server.URL(), args)
	}
	shared, err := redis.Open(redis.Config{Server: server, Design: s.Guard, Key: s.redis.name,
		Timeout: s.redis.timeout, Log: s.Logger})
	if err != nil {
		return err
	}
	s.Shared = shared
	return errors.Join(s.listen(ctx), shared.Close())
}

func (s *serveCounter) listen(ctx context.Context) error {
	server, err := counter.Listen(s.Config)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// guardNames are the designs in memory that return values, and those that share a
// counter through Redis.
func guardNames() []string {
	names := guard.Names(true)
	for _, d := range redis.Designs() {
		names = append(names, d.Name)
	}
	return names
}
