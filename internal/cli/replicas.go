package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
)

// childFlags are what a replica is told by the process that has started it, beside
// the flags of the user and the URL of the Redis in the environment. It serves on
// sockets that it inherits, says servingLine on its standard output when it does,
// and stops when its standard input ends: a pipe that breaks when its parent dies,
// however it dies.
type childFlags struct{ replica, http, grpc int }

const servingLine = "serving\n"

func (c *childFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	for _, flag := range []struct {
		into *int
		name string
	}{{&c.replica, "replica"}, {&c.http, "http-fd"}, {&c.grpc, "grpc-fd"}} {
		f.IntVar(flag.into, flag.name, 0, "")
		_ = f.MarkHidden(flag.name) // it exists
	}
}

// childArgs are the arguments of a replica, but for its sockets.
func childArgs(cmd *cobra.Command) []string {
	args := []string{"serve", "counter"}
	for _, name := range append([]string{"guard", "drain-timeout"}, counterFlagNames()...) {
		if cmd.Flags().Changed(name) && name != "redis" {
			args = append(args, "--"+name+"="+cmd.Flags().Lookup(name).Value.String())
		}
	}
	return args
}

// adopt has a replica serve on its sockets until the context that it returns ends.
func (c *childFlags) adopt(ctx context.Context, s *serveCounter) (context.Context, func(), error) {
	var errHTTP, errGRPC error
	s.HTTP, errHTTP = inherited(c.http)
	s.GRPC, errGRPC = inherited(c.grpc)
	if err := errors.Join(errHTTP, errGRPC); err != nil {
		return ctx, nil, err
	}
	s.Logger = s.Logger.With("replica", c.replica)
	s.Serving = func() { io.WriteString(s.Out, servingLine) }
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel, nil
}

// inherited returns the listener of a file descriptor, nil for 0.
func inherited(fd int) (net.Listener, error) {
	if fd == 0 {
		return nil, nil
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("file descriptor %d is no listening socket: %w", fd, err)
	}
	return ln, nil
}

// serveReplicas serves in child processes that share the Redis at url.
func (s *serveCounter) serveReplicas(ctx context.Context, url string, args []string) error {
	const margin = 5 * time.Second // beside draining
	command, err := self()
	if err != nil {
		return err
	}
	http, errHTTP := openSockets("HTTP", s.HTTPAddr, s.replicas)
	defer http.close()
	grpc, errGRPC := openSockets("gRPC", s.GRPCAddr, s.replicas)
	defer grpc.close()
	if err := errors.Join(errHTTP, errGRPC); err != nil {
		return err
	}
	f := fleet{n: s.replicas, log: s.Logger, patience: s.DrainTimeout + margin, start: func(i int) (*replica, error) {
		cmd := exec.Command(command[0], append(command[1:], args...)...)
		cmd.Args = append(cmd.Args, fmt.Sprintf("--replica=%d", i+1))
		for _, side := range []struct {
			flag string
			*sockets
		}{{"http-fd", http}, {"grpc-fd", grpc}} {
			if file := side.file(i); file != nil {
				cmd.ExtraFiles = append(cmd.ExtraFiles, file)
				cmd.Args = append(cmd.Args, fmt.Sprintf("--%s=%d", side.flag, 2+len(cmd.ExtraFiles)))
			}
		}
		cmd.Env = append(os.Environ(), redisVariable+"="+url)
		cmd.Stderr = s.Err
		return startReplica(cmd)
	}}
	return f.run(ctx, func() { s.logServing(http, grpc) }, func() {
		http.close()
		grpc.close()
	})
}

func (s *serveCounter) logServing(http, grpc *sockets) {
	var attrs []any
	for _, side := range []struct {
		name string
		*sockets
	}{{"http", http}, {"grpc", grpc}} {
		if side.addr != "" {
			attrs = append(attrs, side.name, side.addr)
		}
	}
	s.Logger.Info("serving", append(attrs, "guard", s.Guard, "redis", s.Redis, "replicas", s.replicas)...)
}

// startReplica starts a child.
func startReplica(cmd *exec.Cmd) (*replica, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	r := &replica{pid: cmd.Process.Pid, ready: ready, ended: ended,
		stop: func() { _ = stdin.Close() },
		kill: func() { _ = cmd.Process.Kill() }, // fails only if it has ended
	}
	go func() {
		defer close(ended)
		out := bufio.NewReader(stdout)
		if line, _ := out.ReadString('\n'); line == servingLine {
			close(ready)
		}
		io.Copy(io.Discard, out)
		r.err = cmd.Wait()
	}()
	return r, nil
}

// sockets listen on the same address, one for each replica. The zero value has
// none.
type sockets struct {
	addr  string
	files []*os.File
}

// file returns the socket of a replica, nil if there is none.
func (s *sockets) file(i int) *os.File {
	if i >= len(s.files) {
		return nil
	}
	return s.files[i]
}

// close leaves the sockets to the replicas. It may be called again.
func (s *sockets) close() {
	for _, file := range s.files {
		_ = file.Close() // fails only the second time
	}
}
