// Package demo runs the whole way of uplinks on one machine: Redis, the router
// and the generator as processes of their own, and the sink in this one.
package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"contend/internal/redisserver"
	"contend/subject"
	"contend/systems/uplink/api"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
)

// A Config says what runs. Self and Generator must be set.
type Config struct {
	// Self is the command that runs contend.
	Self []string
	// Redis is a URL of redisserver.Config; an embedded one is inside the router.
	Redis string
	// Router holds further arguments of contend serve router.
	Router []string
	// Generator holds the arguments of contend uplink gen, the mode first.
	Generator []string
	// Sink is how uplinks are taken; URL, Token and Notice are set here.
	Sink sink.Config
	// Observe, if set, is called every second with what the router's process uses.
	Observe func(subject.Sample)
	Log     *slog.Logger
}

// A Result is what a run showed.
type Result struct {
	*sink.Result
	Redis string // embedded, managed or given
	// Parts is the CPU that each program used, in its order on the way.
	Parts []Part
	// Router is what the router's process used.
	Router subject.Sample
}

// A Part is a program on the way of the uplinks.
type Part struct {
	Name string
	CPU  time.Duration
}

// Run starts everything, sends uplinks through it and stops it again. When ctx is
// done it stops early, with what has come.
func Run(ctx context.Context, c Config) (result *Result, err error) {
	r := &run{Config: c}
	defer func() { err = errors.Join(err, r.stop(context.WithoutCancel(ctx))) }()
	if err := r.startRedis(ctx); err != nil {
		return nil, err
	}
	if err := r.startRouter(ctx); err != nil {
		return nil, err
	}
	return r.measure(ctx)
}

// run is one that has begun.
type run struct {
	Config
	redis  *queue.Redis // nil: inside the router
	name   string       // of the kind of Redis
	url    string
	router *subject.Subject
}

func (r *run) stop(ctx context.Context) error {
	var errs []error
	if r.router != nil {
		errs = append(errs, r.router.Stop(ctx))
	}
	if r.redis != nil {
		errs = append(errs, r.redis.Close())
	}
	return errors.Join(errs...)
}

func (r *run) startRedis(ctx context.Context) (err error) {
	r.name = redisserver.Resolve(r.Config.Redis)
	if r.name == "" {
		r.name = "embedded"
		return nil
	}
	if r.redis, err = queue.Open(ctx, redisserver.Config{URL: r.name, Volatile: true}, r.Log); err == nil {
		r.url = r.redis.URL()
	}
	if r.name != redisserver.Managed {
		r.name = "given"
	}
	return err
}

// startTimeout is enough for millions of devices.
const startTimeout = 10 * time.Minute

func (r *run) startRouter(ctx context.Context) (err error) {
	redis := cmp.Or(r.url, "embedded://{{addr.redis}}")
	r.router, err = subject.Start(ctx, subject.Config{Name: "router", Ready: subject.Ready{HTTP: "/ready"}, StartTimeout: startTimeout,
		Command: slices.Concat(r.Self, []string{"serve", "router", "--http", "{{addr}}", "--redis", redis,
			"--db", "sqlite::memory:", "--drain-timeout", "1s",
			"--demo-devices", strconv.Itoa(max(r.Sink.Devices, 1)), "--demo-seed", strconv.FormatUint(r.Sink.Seed, 10)}, r.Router)})
	if err == nil && r.url == "" {
		r.url = "redis://" + r.router.Addr("redis")
	}
	return err
}

// measure drives the generator and takes what it sends.
func (r *run) measure(ctx context.Context) (*Result, error) {
	before, err := r.sample(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connected := make(chan struct{})
	c := r.Sink
	c.URL, c.Token = "ws://"+r.router.Addr("")+"/api/v1/stream/upstream/", api.DemoToken
	var once sync.Once
	c.Notice = func(line string) {
		if line == sink.Connected {
			once.Do(func() { close(connected) })
		}
	}
	var received *sink.Result
	ended := make(chan error, 1)
	go func() {
		var err error
		received, err = sink.Run(ctx, c)
		ended <- err
	}()
	select {
	case <-connected:
	case err := <-ended:
		return nil, err
	}
	if r.Observe != nil {
		go r.observe(ctx)
	}
	generator, generated := r.generate(ctx)
	if generated != nil {
		cancel()
	}
	if err := errors.Join(generated, <-ended); err != nil {
		return nil, err
	}
	after, err := r.sample(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	used := after.router.Sub(before.router)
	parts := []Part{{"generator", generator}}
	if r.redis != nil {
		parts = append(parts, Part{"Redis", after.redis - before.redis}, Part{"router", used.CPU})
	} else {
		parts = append(parts, Part{"router with Redis", used.CPU})
	}
	parts = append(parts, Part{"sink", time.Duration(received.CPUSec * float64(time.Second))})
	return &Result{Result: received, Redis: r.name, Parts: parts, Router: after.router}, nil
}

func (r *run) observe(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if used, err := r.router.Sample(); err == nil {
				r.Observe(used)
			}
		case <-ctx.Done():
			return
		}
	}
}

// generate runs the generator and returns the CPU time that it used.
func (r *run) generate(ctx context.Context) (time.Duration, error) {
	command := slices.Concat(r.Self, []string{"uplink", "gen"}, r.Generator, []string{"--redis", r.url})
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return 0, fmt.Errorf("demo: generator: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// A usage is what was used up to a moment.
type usage struct {
	router subject.Sample
	redis  time.Duration
}

func (r *run) sample(ctx context.Context) (u usage, err error) {
	if u.router, err = r.router.Sample(); err == nil && r.redis != nil {
		u.redis, err = r.redis.CPU(ctx)
	}
	return u, err
}
