package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// guardian runs a command and ends it when its standard input does: a pipe to
// us, which breaks when we die, however we die.
const guardian = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
(cat <&3 >/dev/null; kill "$child" 2>/dev/null) &
wait "$child"`

// startManaged starts a redis-server, or a valkey-server, at a Unix socket. With
// appendfsync no, all that it confirmed is with the kernel and survives its
// death, though not that of the machine. (With everysec it holds writes back for
// up to two seconds while a slow disk syncs, and confirms them nevertheless:
// flushAppendOnlyFile in aof.c.)
func startManaged(ctx context.Context, cfg Config) (url string, stop func() error, err error) {
	program, err := findServer()
	if err != nil {
		return "", nil, err
	}
	home, err := os.MkdirTemp("", "contend-redis-")
	if err != nil {
		return "", nil, err
	}
	dir, appendOnly := cfg.Dir, "yes"
	if cfg.Volatile {
		appendOnly = "no"
	}
	if dir == "" {
		dir = home
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(home))
	}
	socket, log := filepath.Join(home, "redis.sock"), filepath.Join(home, "redis.log")
	server, err := startServer(program, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--logfile", log, "--dir", dir, "--daemonize", "no", "--save", "",
		"--appendonly", appendOnly, "--appendfsync", "no", "--auto-aof-rewrite-min-size", "256mb")
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(home))
	}
	stop = func() error { return errors.Join(server.stop(), os.RemoveAll(home)) }
	url = "unix://" + socket
	if err := server.ready(ctx, url); err != nil {
		text, _ := os.ReadFile(log)
		return "", nil, errors.Join(fmt.Errorf("%s: %w\n%s", program, err, lastLines(string(text), 5)), stop())
	}
	return url, stop, nil
}

func findServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on the PATH: install one, or give the URL of a Redis")
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// A server is a Redis that we started.
type server struct {
	pipe  io.Closer
	ended chan struct{}
}

func startServer(program string, args ...string) (*server, error) {
	cmd := exec.Command("sh", append([]string{"-c", guardian, "sh", program}, args...)...)
	cmd.SysProcAttr = ownGroup()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{pipe: pipe, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // a server that we end reports that with a status
	}()
	return s, nil
}

// ready waits until the server answers.
func (s *server) ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-s.ended:
			return errors.New("ended at once")
		case <-ctx.Done():
			return fmt.Errorf("does not answer: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func answers(ctx context.Context, url string) bool {
	opt, err := rueidis.ParseURL(url)
	if err != nil {
		return false
	}
	opt.DisableCache, opt.ForceSingleClient = true, true
	client, err := rueidis.NewClient(opt)
	if err != nil {
		return false
	}
	defer client.Close()
	return client.Do(ctx, client.B().Ping().Build()).Error() == nil
}

func (s *server) stop() error {
	err := s.pipe.Close()
	select {
	case <-s.ended:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(err, errors.New("the Redis that we started does not end"))
	}
}
