package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"contend/internal/redisserver"
	"contend/internal/uplink/api"
	"contend/internal/uplink/gen"
	"contend/internal/uplink/message"
	"contend/internal/uplink/queue"
	"contend/internal/uplink/sink"
	"contend/pace"
	"contend/report"
	"contend/trial"
)

func newUplink(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "uplink",
		Short:   "Drive and measure the LoRaWAN uplink router",
		Example: indent + "contend uplink demo\n" + indent + "contend uplink gen flat -n 100000 --redis redis://localhost:6379",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usage(errors.New("uplink: name one of gen, sink and demo"))
		},
	}
	cmd.AddCommand(newUplinkGen(a), newUplinkSink(a), newUplinkDemo(a))
	return cmd
}

// uplinkLoad are the flags of what is generated.
type uplinkLoad struct {
	gen.Config
	rate string
}

var modes = []gen.Mode{gen.Flat, gen.Batch, gen.Rate}

func (l *uplinkLoad) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64VarP(&l.N, "uplinks", "n", 0, "`number` of uplinks; of batch, in each batch (default 100000; batch 10000; rate ten seconds of them)")
	f.Int64VarP(&l.Batches, "batches", "b", 0, "`number` of batches (default 10)")
	f.DurationVarP(&l.Delay, "delay", "d", 0, "`time` between batches (default 1s)")
	f.StringVarP(&l.rate, "rate", "r", "", "`arrivals` per second, as 8000 or poisson:8000 (default 8000)")
	f.IntVar(&l.Devices, "devices", 1, "`number` of devices that take turns")
	f.IntVar(&l.Gateways, "gateways", 1, "`number` of gateways that take turns")
	f.Uint64Var(&l.Seed, "seed", 1, "seed of the devices' keys and all random choices")
	f.Float64Var(&l.Duplicates, "duplicates", 0, "`share` of uplinks that a second gateway hears, 0 to 1")
	f.Float64Var(&l.Reorder, "reorder", 0, "`share` that changes places with the next of its device")
	f.Float64Var(&l.JoinRequests, "joins", 0, "`share` that a join request follows")
	f.Float64Var(&l.Malformed, "malformed", 0, "`share` that a malformed frame follows")
}

// config returns what is generated in a mode.
func (l *uplinkLoad) config(cmd *cobra.Command, mode string) (gen.Config, error) {
	c := l.Config
	for _, m := range modes {
		if m.String() == mode {
			c.Mode = m
		}
	}
	if c.Mode == 0 {
		return c, fmt.Errorf("mode %q is not one of flat, batch and rate", mode)
	}
	c.N = ifUnset(cmd, "uplinks", c.N, 100_000)
	switch c.Mode {
	case gen.Batch:
		c.N = ifUnset(cmd, "uplinks", c.N, 10_000)
		c.Batches = ifUnset(cmd, "batches", c.Batches, 10)
		c.Delay = ifUnset(cmd, "delay", c.Delay, time.Second)
	case gen.Rate:
		pacer, err := pace.Parse(ifUnset(cmd, "rate", l.rate, "8000"))
		if err != nil {
			return c, fmt.Errorf("--rate: %w", err)
		}
		c.Pacer = pacer
		c.N = ifUnset(cmd, "uplinks", c.N, pacer.Planned(c.Seed, 0, 10*time.Second, 0))
	}
	if c.Mode != gen.Rate && l.rate != "" {
		return c, fmt.Errorf("--rate is %q, but mode %s keeps none", l.rate, c.Mode)
	}
	c.Add = func(context.Context, []*message.Uplink) error { return nil } // of the command that runs
	return c, c.Validate()
}

// ifUnset returns the default where a flag is not given.
func ifUnset[T any](cmd *cobra.Command, flag string, given, otherwise T) T {
	if cmd.Flags().Changed(flag) {
		return given
	}
	return otherwise
}

func newUplinkGen(a *app) *cobra.Command {
	var l uplinkLoad
	var redis redisFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gen flat|batch|rate",
		Short: "Write uplinks to Redis as gateways do",
		Long: "Write uplinks to Redis as gateways do. Each carries its creation time, encrypted; of rate, the time\n" +
			"when it was due. The last one is an end marker.",
		Example: indent + "contend uplink gen flat -n 100000 --redis redis://localhost:6379\n" +
			indent + "contend uplink gen batch -b 10 -n 10000 -d 1s --redis redis://localhost:6379\n" +
			indent + "contend uplink gen rate -r 8000 -n 80000 --redis redis://localhost:6379",
		Args:      arguments(1, "one mode: flat, batch or rate"),
		ValidArgs: []string{"flat", "batch", "rate"},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := l.config(cmd, args[0])
			where, other := redis.config(cmd)
			err = errors.Join(err, other)
			if where.URL == "" {
				err = errors.Join(err, errors.New("--redis is missing: where the uplinks go, as redis://localhost:6379"))
			}
			if err != nil {
				return usage(err)
			}
			return a.generate(cmd.Context(), c, where, asJSON)
		},
	}
	l.flags(cmd)
	redis.flags(cmd, "`URL` of the Redis that the router reads (default $"+redisVariable+")")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the account as JSON to standard output")
	return cmd
}

func (a *app) generate(ctx context.Context, c gen.Config, where redisserver.Config, asJSON bool) error {
	r, err := queue.Open(ctx, where, slog.New(slog.NewTextHandler(a.Err, nil)))
	if err != nil {
		return failed(err)
	}
	defer r.Close()
	producer, err := queue.NewProducer(ctx, r, queue.ProducerConfig{})
	if err != nil {
		return failed(err)
	}
	out := a.Out
	if asJSON {
		out = a.Err
	}
	fmt.Fprintln(out, c.Plan())
	bar := newBar(out)
	c.Add, c.Progress = producer.Add, bar.show
	result, err := gen.Run(ctx, c)
	bar.end()
	if result != nil {
		err = errors.Join(err, writeGenerated(a.Out, result, asJSON))
	}
	return err
}

func newUplinkSink(a *app) *cobra.Command {
	var c sink.Config
	var out output
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Take uplinks from a router, solve and answer them, and report how late they were",
		Long: "Take uplinks from a router over one WebSocket: solve the MIC challenge, decrypt the time stamp,\n" +
			"answer. It ends with the end marker of the generator, or when nothing has come for --idle. Generator\n" +
			"and sink must share a clock, that is run on one machine.",
		Example: indent + "contend uplink sink --url ws://127.0.0.1:8080/api/v1/stream/upstream/ --expect 100000",
		Args:    arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.sink(cmd.Context(), c, &out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.URL, "url", "ws://127.0.0.1:8080/api/v1/stream/upstream/", "`URL` of the upstream")
	f.StringVar(&c.Token, "token", api.DemoToken, "`token` of the customer")
	f.BoolVar(&c.NoAck, "no-ack", false, "answer nothing")
	f.IntVarP(&c.Pool, "pool", "p", sink.DefaultPool, "`number` of messages in processing at once")
	f.IntVar(&c.Devices, "devices", 1, "`number` of the generator's devices")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the generator")
	f.Int64Var(&c.Expect, "expect", 0, "`number` of uplinks that will come; 0: not known")
	f.DurationVar(&c.Idle, "idle", sink.DefaultIdle, "`time` without anything after which it ends")
	out.flags(cmd)
	return cmd
}

func (a *app) sink(ctx context.Context, c sink.Config, out *output) error {
	c.Notice = func(line string) { fmt.Fprintln(a.Err, line) }
	if err := c.Validate(); err != nil {
		return usage(err)
	}
	result, err := sink.Run(ctx, c)
	if err != nil {
		return failed(err)
	}
	doc := newDocument("uplink sink")
	doc.AddUplink(trial.Cell{Result: result.Load}, account(result, "given", report.UplinkPart{Name: "sink", CPUSec: result.CPUSec}))
	return a.uplinkReport(ctx, doc, result, out)
}

// account is what the report says of a sink's result beside its figures.
func account(r *sink.Result, redis string, parts ...report.UplinkPart) report.Uplink {
	return report.Uplink{Redis: redis, Generation: "A", Duplicated: r.Duplicated, Reordered: r.Reordered,
		Unsolved: r.Unsolved, FirstChallenge: r.FirstChallenge, MeanChallenge: r.MeanChallenge, Parts: parts}
}

// uplinkReport writes the published form, and ours.
func (a *app) uplinkReport(ctx context.Context, doc *report.Document, r *sink.Result, out *output) error {
	if !out.json && r.Uplinks > 0 {
		if err := r.WritePublished(a.Out); err != nil {
			return failed(err)
		}
		fmt.Fprintln(a.Out)
	}
	if err := out.write(a, doc); err != nil {
		return failed(err)
	}
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case r.Uplinks == 0:
		return failed(errors.New("no uplink came"))
	}
	return nil
}

// writeGenerated writes the account of a generator.
func writeGenerated(w io.Writer, r *gen.Result, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	return r.Write(w)
}

// A bar is the published progress bar, redrawn on a terminal and written once
// elsewhere.
type bar struct {
	out      io.Writer
	terminal bool
	last     string
}

func newBar(out io.Writer) *bar {
	f, ok := out.(*os.File)
	return &bar{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (b *bar) show(done, total int64) {
	line := gen.Bar(done, total)
	if b.terminal && line != b.last {
		fmt.Fprint(b.out, "\r"+line)
	}
	b.last = line
}

func (b *bar) end() {
	if !b.terminal {
		fmt.Fprint(b.out, b.last)
	}
	fmt.Fprintln(b.out, "\nDone")
}
