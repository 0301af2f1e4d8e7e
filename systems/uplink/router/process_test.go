package router

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/testenv"
	"contend/systems/uplink/api"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/table"
)

// processKey is set for the test program itself where it is a router that can be
// killed: redis, database, address, name and lease, with spaces between.
const processKey = "CONTEND_TEST_ROUTER"

// lease is how long the routers of tests keep partitions in silence.
var lease = flag.Duration("lease", 2*time.Second, "lease of the router processes; 0: 15s, as they have it")

// processMain serves until it is stopped.
func processMain() int {
	var redisURL, db, address, name, silence string
	if _, err := fmt.Sscan(os.Getenv(processKey), &redisURL, &db, &address, &name, &silence); err != nil {
		return report(err)
	}
	lease, err := time.ParseDuration(silence)
	if err != nil {
		return report(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	redis, err := queue.Open(ctx, redisserver.Config{URL: redisURL}, nil)
	if err != nil {
		return report(err)
	}
	rows, err := table.Open(ctx, table.Config{URL: db})
	if err != nil {
		return report(err)
	}
	known, err := api.ParseTokens(strings.NewReader(tokens))
	if err != nil {
		return report(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return report(err)
	}
	r, err := New(ctx, Config{Redis: redis, Table: rows, Tokens: known, Listener: listener, Instance: name,
		Lease: lease, Trust: outbox.TrustConfig{Start: 2}, DrainTimeout: time.Second,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return report(err)
	}
	if err := r.Serve(ctx); err != nil {
		return report(err)
	}
	return 0
}

func report(err error) int {
	fmt.Fprintln(os.Stderr, "router process:", err)
	return 1
}

// A process is a router that can be killed.
type process struct {
	site
	env   string
	files int
	cmd   *exec.Cmd
}

// launch starts a router process and waits until it is ready.
func launch(t testing.TB, redisURL, db, name string) *process {
	t.Helper()
	return launchWith(t, 0, redisURL, db, name)
}

// launchWith starts one that may open a number of files; 0: as many as we.
func launchWith(t testing.TB, files int, redisURL, db, name string) *process {
	t.Helper()
	address := testenv.HeldAddress(t)
	p := &process{site: site{t, address}, files: files, env: strings.Join([]string{redisURL, db, address, name, lease.String()}, " ")}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	if p.files > 0 {
		p.cmd = exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, p.files), os.Args[0])
	}
	p.cmd.Env = append(os.Environ(), processKey+"="+p.env)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.until("the router process is ready", func() bool {
		response, err := http.Get("http://" + p.address + "/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// metrics returns what a router process has counted.
func (p *process) metrics() string {
	var own []string
	for line := range strings.Lines(p.scrape()) {
		if strings.HasPrefix(line, "contend_router_") && !strings.Contains(line, "_bucket") && !strings.HasSuffix(line, " 0\n") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// kill ends the process as kill -9 does.
func (p *process) kill() { p.end(os.Kill) }

// stop ends it in order.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(by os.Signal) {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(by)
	p.cmd.Wait()
	p.cmd = nil
	http.DefaultClient.CloseIdleConnections()
}
