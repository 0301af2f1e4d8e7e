package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"contend/internal/redisserver"
	"contend/setting"
	"contend/systems/uplink/api"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/router"
	"contend/systems/uplink/table"
)

func newServeRouter(a *app) *cobra.Command {
	s := &serveRouter{app: a}
	cmd := &cobra.Command{
		Use:   "router",
		Short: "Route LoRaWAN uplinks from Redis to their owners over WebSockets",
		Long: "Route LoRaWAN uplinks from Redis to their owners over WebSockets.\n\n" +
			"HTTP: /api/v1/ with the routing table and the streams, described by /api/v1/openapi.yaml; /health,\n" +
			"/ready and /metrics. Several routers on one Redis and one PostgreSQL share the work. SIGINT and\n" +
			"SIGTERM stop it gracefully.",
		Example: indent + "contend serve router --http 127.0.0.1:8080\n" +
			indent + "contend serve router --http :8080 --redis redis://localhost:6379 --db postgres://localhost/ran --token-file tokens",
		Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.own = optionsOf(cmd, &s.routerOptions, &s.redisFlags, &s.replicaFlags, &s.table, &s.router, &s.router.Connections, &s.router.Dedup, &s.router.Trust)
	return cmd
}

type serveRouter struct {
	*app
	own *options
	routerOptions
	redisFlags
	replicaFlags
	table  table.Config
	router router.Config
}

type routerOptions struct {
	HTTP        string `flag:"http" default:"127.0.0.1:8080" words:"*address* of the HTTP service"`
	RedisURL    string `flag:"redis" words:"*URL* of the Redis with the uplinks; managed: a private redis-server; auto: that, where installed (default $CONTEND_REDIS; none: embedded, which keeps nothing)"`
	Tokens      string `flag:"token-file" words:"*file* with a line per token: customer token [expiry]; none: a demo token, on loopback only"`
	NoReduction bool   `flag:"no-trust-reduction" words:"do not lengthen challenges because answers are missing"`
	Devices     int    `flag:"demo-devices" min:"0" max:"16777216" words:"*number* of devices of contend uplink gen that the demo customer is given at the start"`
	Seed        uint64 `flag:"demo-seed" default:"1" words:"--seed of contend uplink gen"`
}

func (s *serveRouter) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	where, err := s.check(ctx)
	text, tokens, unread := s.readTokens()
	if err := errors.Join(err, unread); err != nil {
		return usage(err)
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	if s.Tokens == "" {
		log.Warn("anybody on this machine may use the demo token", "token", api.DemoToken)
	}
	defer s.follow(ctx, tokens, text, log)()
	return ended(ctx, s.serve(ctx, where, tokens, log))
}

// check reads the flags, and says everything that is wrong with them.
func (s *serveRouter) check(ctx context.Context) (redisserver.Config, error) {
	if slices.Equal(s.own.given["dedup"].Texts, []string{"off"}) {
		s.own.given["dedup"] = setting.Value{Texts: []string{"0s"}}
	}
	errs := []error{s.own.read()}
	dedup := &s.router.Dedup
	if dedup.Collect > dedup.Window {
		errs = append(errs, setting.At(dedup, &dedup.Collect).OutOf(dedup.Collect, "0s to the time of --dedup"))
	}
	if s.Devices > 0 && s.Tokens != "" {
		errs = append(errs, errors.New("use either --demo-devices or --token-file: the demo devices belong to the demo token"))
	}
	host, _, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		errs = append(errs, fmt.Errorf("--http is %q; expected host:port or :port", s.HTTP))
	} else if s.Tokens == "" && !isLoopback(host) {
		errs = append(errs, fmt.Errorf("--token-file is missing: %s is not loopback, and the demo token is for loopback only", s.HTTP))
	}
	where, err := s.redisFlags.config(ctx, s.RedisURL, s.own.has("redis"))
	return where, setting.FlagErrors(errors.Join(append(errs, err, s.replicaFlags.check(where))...))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *serveRouter) serve(ctx context.Context, where redisserver.Config, tokens *api.Tokens, log *slog.Logger) (err error) {
	closing := func(closer func() error) { err = errors.Join(err, closer()) }
	redis, err := queue.Open(ctx, where, log)
	if err != nil {
		return err
	}
	defer closing(redis.Close)
	redis.Replicas = s.Replicas
	if redis.Embedded() {
		log.Warn("embedded Redis: it keeps nothing and is no measure of speed; give --redis for both")
	}
	s.table.Log = log
	rows, err := table.Open(ctx, s.table)
	if errors.Is(err, table.ErrDeaf) {
		err = fmt.Errorf("%w: does --db lead over a pooler of transactions? --db-listen names the same database without it", err)
	}
	if err != nil {
		return err
	}
	defer closing(rows.Close)
	if err := s.insert(ctx, rows); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.HTTP)
	if err != nil {
		return err
	}
	c := s.router
	c.Redis, c.Table, c.Tokens, c.Listener, c.Instance, c.Log = redis, rows, tokens, listener, s.name(listener), log
	c.Trust.Reduce = !s.NoReduction
	r, err := router.New(ctx, c)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return r.Serve(ctx)
}

// insert gives the demo customer its devices, except those that it has already.
func (s *serveRouter) insert(ctx context.Context, rows *table.Table) error {
	for i := range s.Devices {
		d := lorawan.DemoDevice(s.Seed, i)
		_, err := rows.Insert(ctx, api.DemoCustomer, table.NewDevice{DevEUI: d.DevEUI, JoinEUI: &d.JoinEUI, DevAddr: &d.DevAddr})
		if err != nil && !errors.Is(err, table.ErrDeviceExists) {
			return fmt.Errorf("demo device %d: %w", i, err)
		}
	}
	return nil
}

// readTokens returns the tokens, and the text of their file.
func (s *serveRouter) readTokens() (string, *api.Tokens, error) {
	if s.Tokens == "" {
		return "", api.DemoTokens(), nil
	}
	text, err := os.ReadFile(s.Tokens)
	if err != nil {
		return "", nil, setting.FlagErrors(setting.At(&s.routerOptions, &s.Tokens).About(setting.CannotRead(s.Tokens, err)))
	}
	tokens, err := api.ParseTokens(bytes.NewReader(text))
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", s.Tokens, err)
	}
	return string(text), tokens, nil
}

// follow takes over what becomes of the token file, until stop is called.
func (s *serveRouter) follow(ctx context.Context, tokens *api.Tokens, text string, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	if s.Tokens != "" {
		following.Go(func() { tokens.Follow(ctx, s.Tokens, text, log) })
	}
	return func() {
		cancel()
		following.Wait()
	}
}

// name is that of this router among others, the same after a restart.
func (s *serveRouter) name(listener net.Listener) string {
	if s.router.Instance != "" {
		return s.router.Instance
	}
	host, err := os.Hostname()
	if err != nil {
		host = "router"
	}
	host = strings.Map(func(c rune) rune {
		if c < 128 && (c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '-'
	}, host)
	return host[:min(len(host), 64)] + "-" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
