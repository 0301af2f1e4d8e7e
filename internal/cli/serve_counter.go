package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/guard"
	"contend/internal/redisserver"
	"contend/setting"
	"contend/systems/counter"
	"contend/systems/counter/redis"
)

func newServeCounter(a *app) *cobra.Command {
	s := &serveCounter{app: a}
	cmd := &cobra.Command{
		Use:   "counter",
		Short: "Serve a counter over HTTP and gRPC, behind any guard",
		Long: "Serve a counter over HTTP and gRPC.\n\n" +
			"HTTP: /status (atomic), /statusV2 (mutex), /status/DESIGN, /health, /ready, /metrics;\n" +
			"described by /openapi.yaml and /counter.proto.\n" +
			"gRPC: /counter.incrementCounter/increment behind --guard, with health and reflection.\n" +
			"With a redis- guard, gRPC, /status and /status/GUARD use one counter, which other processes can\n" +
			"share.\n" +
			"SIGINT and SIGTERM stop it gracefully.",
		Example: indent + "contend serve counter --http :8080 --grpc :50055 --guard inputQ\n" +
			indent + "contend serve counter --http :8080 --guard redis-combining --redis redis://localhost:6379 --replicas 3",
		Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.own = optionsOf(cmd, &s.Config, &s.counterOptions, &s.shared, &s.redisFlags, &s.child)
	complete(cmd, "guard", guardNames())
	return cmd
}

type serveCounter struct {
	*app
	own *options
	counter.Config
	counterOptions
	shared redis.Config
	redisFlags
	child childFlags
}

type counterOptions struct {
	Replicas int    `flag:"replicas" default:"1" min:"1" max:"64" words:"*number* of processes that serve the same addresses, with a redis- guard (Linux)"`
	RedisURL string `flag:"redis" words:"*URL* of the Redis for a redis- guard; managed: a private redis-server; auto: that, where installed (default $CONTEND_REDIS, else an embedded one, which stores nothing on disk)"`
}

func (s *serveCounter) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	place, err := s.check(ctx)
	if err != nil {
		return usage(err)
	}
	s.Logger = slog.New(slog.NewTextHandler(s.Err, nil))
	if s.child.Replica > 0 {
		var end func()
		ctx, end, err = s.child.adopt(ctx, s)
		if err != nil {
			return failed(err)
		}
		defer end()
	}
	return ended(ctx, s.serve(ctx, place))
}

// check reads the flags, says in their words what cannot be served, and returns
// where the Redis is.
func (s *serveCounter) check(ctx context.Context) (place redisserver.Config, err error) {
	errs := []error{s.own.read()}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.HTTPAddr == "" && s.GRPCAddr == "" && s.child.Replica == 0 {
		wrong("neither --http nor --grpc is given; give at least one")
	}
	design, unknown := redis.Lookup(s.Guard)
	shared := unknown == nil
	known := shared || slices.ContainsFunc(guard.Names(true), func(name string) bool { return strings.EqualFold(name, s.Guard) })
	switch {
	case !known && (s.Guard != "" || s.GRPCAddr != ""):
		errs = append(errs, setting.At(&s.Config, &s.Guard).About(setting.NotOneOf(s.Guard, guardNames())))
	case shared:
		s.Guard = design.Name
		place, err = s.redisFlags.config(ctx, s.RedisURL, s.own.has("redis"))
		errs = append(errs, err, s.shared.Check())
	default:
		for _, flag := range setting.Foreign(setting.Of(s.Config, s.child), s.own.given, setting.InFlags) {
			if flag != "replicas" {
				wrong("--%s requires a redis- guard, but --guard is %q", flag, s.Guard)
			}
		}
		if s.Replicas > 1 {
			wrong("--replicas is %d, which requires a redis- guard; with --guard %q each process would have its own counter", s.Replicas, s.Guard)
		}
	}
	if s.Replicas > 1 && runtime.GOOS != "linux" {
		wrong("--replicas is %d, but only Linux shares a port fairly", s.Replicas)
	}
	return place, setting.FlagErrors(errors.Join(errs...))
}

// serve opens the Redis, if there is one, and serves in this process or in
// replicas.
func (s *serveCounter) serve(ctx context.Context, where redisserver.Config) (err error) {
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
	if s.Replicas > 1 {
		return s.serveReplicas(ctx, server.URL())
	}
	s.shared.Server, s.shared.Design, s.shared.Log = server, s.Guard, s.Logger
	shared, err := redis.Open(s.shared)
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
