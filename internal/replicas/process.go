package replicas

import (
	"bufio"
	"context"
	"io"
	"os/exec"
)

// servingLine is what a replica says on its standard output when it serves.
const servingLine = "serving\n"

// Start starts a replica as a child process. The command must call Serving with its
// standard output, and Attach with its standard input.
func Start(cmd *exec.Cmd) (*Replica, error) {
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
	r := &Replica{pid: cmd.Process.Pid, ready: ready, ended: ended,
		stop: func() { _ = stdin.Close() },
		kill: func() { _ = cmd.Process.Kill() }, // fails only if it has ended
	}
	go func() {
		defer close(ended)
		out := bufio.NewReader(stdout)
		if line, _ := out.ReadString('\n'); line == servingLine {
			close(ready)
		}
		_, _ = io.Copy(io.Discard, out)
		r.err = cmd.Wait()
	}()
	return r, nil
}

// Serving tells the supervisor that this process, one of its replicas, serves. It
// must be called once, with the standard output.
func Serving(stdout io.Writer) { _, _ = io.WriteString(stdout, servingLine) }

// Attach returns a context that ends when the supervisor asks this process, one of
// its replicas, to end, or has itself died: either ends the standard input.
func Attach(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	return ctx, cancel
}
