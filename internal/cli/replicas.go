package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"time"

	"contend/internal/replicas"
)

// childFlags are what the parent process passes to a replica, in addition to the
// flags of the user and the URL of the Redis in the environment.
type childFlags struct {
	Replica int `flag:"replica"`
	HTTP    int `flag:"http-fd"`
	GRPC    int `flag:"grpc-fd"`
}

// childArgs are the arguments of a replica, except its sockets. The URL of the
// Redis may hold a password.
func (s *serveCounter) childArgs() []string {
	given := maps.Clone(s.own.given)
	for _, flag := range []string{"http", "grpc", "replicas", "redis"} {
		delete(given, flag)
	}
	return append([]string{"serve", "counter"}, flagArguments(given)...)
}

// adopt has a replica serve on its sockets until the context that it returns ends.
func (c *childFlags) adopt(ctx context.Context, s *serveCounter) (context.Context, func(), error) {
	var errHTTP, errGRPC error
	s.HTTP, errHTTP = replicas.Inherited(c.HTTP)
	s.GRPC, errGRPC = replicas.Inherited(c.GRPC)
	if err := errors.Join(errHTTP, errGRPC); err != nil {
		return ctx, nil, err
	}
	s.Logger = s.Logger.With("replica", c.Replica)
	s.Serving = func() { replicas.Serving(s.Out) }
	ctx, cancel := replicas.Attach(ctx, os.Stdin)
	return ctx, cancel, nil
}

// serveReplicas serves in child processes that share the Redis at url.
func (s *serveCounter) serveReplicas(ctx context.Context, url string) error {
	const margin = 5 * time.Second // on top of the time for draining
	command, err := self()
	if err != nil {
		return err
	}
	http, errHTTP := replicas.Listen("HTTP", s.HTTPAddr, s.Replicas)
	grpc, errGRPC := replicas.Listen("gRPC", s.GRPCAddr, s.Replicas)
	defer func() { http.Close(); grpc.Close() }() // not nil with an error, either
	if err := errors.Join(errHTTP, errGRPC); err != nil {
		return err
	}
	supervisor := replicas.Supervisor{N: s.Replicas, Log: s.Logger, Patience: s.DrainTimeout + margin, Start: func(i int) (*replicas.Replica, error) {
		cmd := exec.Command(command[0], append(command[1:], s.childArgs()...)...)
		cmd.Args = append(cmd.Args, fmt.Sprintf("--replica=%d", i+1))
		for _, side := range []struct {
			flag string
			*replicas.Sockets
		}{{"http-fd", http}, {"grpc-fd", grpc}} {
			if file := side.File(i); file != nil {
				cmd.ExtraFiles = append(cmd.ExtraFiles, file)
				cmd.Args = append(cmd.Args, fmt.Sprintf("--%s=%d", side.flag, 2+len(cmd.ExtraFiles)))
			}
		}
		cmd.Env = append(os.Environ(), redisVariable+"="+url)
		cmd.Stderr = bare(s.Err)
		return replicas.Start(cmd)
	}}
	return supervisor.Run(ctx, func() { s.logServing(http, grpc) }, func() {
		http.Close()
		grpc.Close()
	})
}

func (s *serveCounter) logServing(http, grpc *replicas.Sockets) {
	var attrs []any
	for _, side := range []struct {
		name string
		*replicas.Sockets
	}{{"http", http}, {"grpc", grpc}} {
		if side.Address() != "" {
			attrs = append(attrs, side.name, side.Address())
		}
	}
	s.Logger.Info("serving", append(attrs, "guard", s.Guard, "redis", s.Redis, "replicas", s.Replicas)...)
}
