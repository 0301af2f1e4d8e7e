package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/redisserver"
	"contend/internal/uplink/api"
	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/outbox"
	"contend/internal/uplink/queue"
	"contend/internal/uplink/router"
	"contend/internal/uplink/table"
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
	f := cmd.Flags()
	f.StringVar(&s.http, "http", "127.0.0.1:8080", "`address` of the HTTP service")
	s.redis.flags(cmd, "`URL` of the Redis with the uplinks; "+redisDefault)
	f.StringVar(&s.db, "db", "", "`URL` of the routing table: postgres://…, sqlite:FILE or sqlite::memory:; none: the file contend.db")
	f.StringVar(&s.tokens, "token-file", "", "`file` with a line per token: customer token [expiry]; none: a demo token, on loopback only")
	f.StringVar(&s.instance, "instance", "", "`name` among several routers, kept over a restart; none: host and port")
	f.IntVar(&s.partitions, "partitions", 0, "`number` of streams of the intake, where Redis has none yet (default 8)")
	f.StringVar(&s.dedup, "dedup", "2s", "`time` within which copies of a frame are not passed on, or off")
	f.DurationVar(&s.collect, "collect", 0, "`time` to wait for the copy with the best signal; 0: the first one is passed on")
	f.IntVar(&s.trust.Start, "trust-start", outbox.MaxChallenge, "`entries` of a new device's MIC challenge")
	f.BoolVar(&s.noReduction, "no-trust-reduction", false, "do not lengthen challenges because answers are missing")
	f.IntVar(&s.deviceLimit, "device-limit", 0, "`number` of devices that a customer may have; 0: any")
	f.IntVar(&s.devices, "demo-devices", 0, "`number` of devices of contend uplink gen that the demo customer is given at the start")
	f.Uint64Var(&s.seed, "demo-seed", 1, "--seed of contend uplink gen")
	f.DurationVar(&s.drain, "drain-timeout", 10*time.Second, "how long customers may take to answer when stopping")
	return cmd
}

type serveRouter struct {
	*app
	http, db, tokens, instance, dedup string
	redis                             redisFlags
	partitions, deviceLimit, devices  int
	seed                              uint64
	collect, drain                    time.Duration
	trust                             outbox.TrustConfig
	noReduction                       bool
}

func (s *serveRouter) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	dedup, err := s.check()
	where, other := s.redis.config(cmd)
	if err := errors.Join(err, other); err != nil {
		return usage(err)
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	err = s.serve(ctx, where, dedup, log)
	if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) { // stopped while it started
		return failed(err)
	}
	return nil
}

// check says everything that is wrong with the flags.
func (s *serveRouter) check() (router.Dedup, error) {
	var errs []error
	dedup := router.Dedup{Collect: s.collect}
	if s.dedup != "off" {
		var err error
		if dedup.Window, err = time.ParseDuration(s.dedup); err != nil || dedup.Window <= 0 || dedup.Window > time.Hour {
			errs = append(errs, fmt.Errorf("--dedup is %q, allowed are off and more than 0s to 1h", s.dedup))
		}
	}
	if s.collect < 0 || s.collect > dedup.Window {
		errs = append(errs, fmt.Errorf("--collect is %v, allowed are 0s to the time of --dedup", s.collect))
	}
	errs = append(errs, within("trust-start", []int{s.trust.Start}, outbox.MinChallenge, outbox.MaxChallenge),
		within("partitions", []int{s.partitions}, 0, 1024), within("device-limit", []int{s.deviceLimit}, 0, 1<<31-1),
		within("demo-devices", []int{s.devices}, 0, lorawan.MaxDemoDevices))
	if s.devices > 0 && s.tokens != "" {
		errs = append(errs, errors.New("--demo-devices belongs to the demo token, and does not go with --token-file"))
	}
	if s.drain <= 0 {
		errs = append(errs, fmt.Errorf("--drain-timeout is %v, allowed are 1ns and more", s.drain))
	}
	host, _, err := net.SplitHostPort(s.http)
	if err != nil {
		errs = append(errs, fmt.Errorf("--http is %q, allowed is host:port or :port", s.http))
	} else if s.tokens == "" && !isLoopback(host) {
		errs = append(errs, fmt.Errorf("--token-file is missing: %s is not loopback, and the demo token is for loopback only", s.http))
	}
	return dedup, errors.Join(errs...)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *serveRouter) serve(ctx context.Context, where redisserver.Config, dedup router.Dedup, log *slog.Logger) (err error) {
	tokens, err := s.readTokens(log)
	if err != nil {
		return err
	}
	closing := func(closer func() error) { err = errors.Join(err, closer()) }
	redis, err := queue.Open(ctx, where, log)
	if err != nil {
		return err
	}
	defer closing(redis.Close)
	if redis.Embedded() {
		log.Warn("embedded Redis: it keeps nothing and is no measure of speed; give --redis for both")
	}
	rows, err := table.Open(ctx, table.Config{URL: s.db, DeviceLimit: s.deviceLimit, Log: log})
	if err != nil {
		return err
	}
	defer closing(rows.Close)
	if err := s.insert(ctx, rows); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.http)
	if err != nil {
		return err
	}
	s.trust.Reduce = !s.noReduction
	r, err := router.New(ctx, router.Config{Redis: redis, Table: rows, Tokens: tokens, Listener: listener,
		Instance: s.name(listener), Partitions: s.partitions, Dedup: dedup, Trust: s.trust,
		DrainTimeout: s.drain, Log: log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return r.Serve(ctx)
}

// insert gives the demo customer its devices, but for those that it has.
func (s *serveRouter) insert(ctx context.Context, rows *table.Table) error {
	for i := range s.devices {
		d := lorawan.DemoDevice(s.seed, i)
		_, err := rows.Insert(ctx, api.DemoCustomer, table.NewDevice{DevEUI: d.DevEUI, JoinEUI: &d.JoinEUI, DevAddr: &d.DevAddr})
		if err != nil && !errors.Is(err, table.ErrDeviceExists) {
			return fmt.Errorf("demo device %d: %w", i, err)
		}
	}
	return nil
}

func (s *serveRouter) readTokens(log *slog.Logger) (*api.Tokens, error) {
	if s.tokens == "" {
		log.Warn("anybody on this machine may use the demo token", "token", api.DemoToken)
		return api.DemoTokens(), nil
	}
	file, err := os.Open(s.tokens)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tokens, err := api.ParseTokens(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.tokens, err)
	}
	return tokens, nil
}

// name is that of this router among others, the same after a restart.
func (s *serveRouter) name(listener net.Listener) string {
	if s.instance != "" {
		return s.instance
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
