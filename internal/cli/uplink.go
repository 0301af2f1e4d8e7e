package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"contend/internal/redisserver"
	"contend/report"
	"contend/setting"
	"contend/systems/uplink/api"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/message"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/trial"
)

func newUplink(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "uplink",
		Short:   "Load and measure the LoRaWAN uplink router",
		Example: indent + "contend uplink demo\n" + indent + "contend uplink gen flat -n 100000 --redis redis://localhost:6379",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usage(errors.New("uplink: expects gen, sink or demo"))
		},
	}
	cmd.AddCommand(newUplinkGen(a), newUplinkSink(a), newUplinkDemo(a))
	return cmd
}

// uplinkDefaults are what is generated in each mode unless flags say otherwise.
var uplinkDefaults = map[string]setting.Values{
	"flat":  {"uplinks": {Texts: []string{"100000"}}},
	"batch": {"uplinks": {Texts: []string{"10000"}}, "batches": {Texts: []string{"10"}}, "delay": {Texts: []string{"1s"}}},
	"rate":  {"rate": {Texts: []string{"8000"}}},
}

// generated fills what is generated in a mode. It returns all that is asked for.
func generated(c *gen.Config, mode string, given setting.Values) (setting.Values, error) {
	if err := c.Mode.UnmarshalText([]byte(mode)); err != nil {
		return nil, err
	}
	asked := given.Over(uplinkDefaults[mode])
	err := fillFlags(asked, c)
	if _, ok := asked["uplinks"]; !ok && c.Pacer != nil {
		c.N = c.Pacer.Planned(c.Seed, 0, 10*time.Second, 0)
		asked["uplinks"] = setting.Value{Texts: []string{strconv.FormatInt(c.N, 10)}}
	}
	c.Add = func(context.Context, []*message.Uplink) error { return nil } // of the command that runs
	if err == nil {
		err = setting.FlagErrors(c.Validate())
	}
	return asked, err
}

func newUplinkGen(a *app) *cobra.Command {
	var c gen.Config
	var g genOptions
	var redis redisFlags
	var replicas replicaFlags
	var o *options
	cmd := &cobra.Command{
		Use:   "gen flat|batch|rate",
		Short: "Write uplinks to Redis as gateways do",
		Long: "Write uplinks to Redis as gateways do. Each carries its creation time, encrypted; in mode rate, the\n" +
			"time when it was due. The last one is an end marker.",
		Example: indent + "contend uplink gen flat -n 100000 --redis redis://localhost:6379\n" +
			indent + "contend uplink gen batch -b 10 -n 10000 -d 1.0 --redis redis://localhost:6379\n" +
			indent + "contend uplink gen rate -r 8000 -n 80000 --redis redis://localhost:6379",
		Args:      arguments(1, "one mode: flat, batch or rate"),
		ValidArgs: []string{"flat", "batch", "rate"},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := generated(&c, args[0], o.given)
			err = errors.Join(fillFlags(o.given, &g, &redis, &replicas), err)
			where, other := redis.config(cmd.Context(), g.RedisURL, o.has("redis"))
			err = errors.Join(err, other)
			if where.URL == "" {
				err = errors.Join(err, errors.New("--redis is missing: where the uplinks go, as redis://localhost:6379"))
			} else {
				err = errors.Join(err, replicas.check(where))
			}
			if err != nil {
				return usage(err)
			}
			return a.generate(cmd.Context(), c, where, replicas, g.JSON)
		},
	}
	o = optionsOf(cmd, &c, &g, &redis, &replicas)
	return cmd
}

type genOptions struct {
	RedisURL string `flag:"redis" words:"*URL* of the Redis that the router reads (default $CONTEND_REDIS)"`
	JSON     bool   `flag:"json" words:"write the account as JSON to standard output"`
}

func (a *app) generate(ctx context.Context, c gen.Config, where redisserver.Config, replicas replicaFlags, asJSON bool) error {
	r, err := queue.Open(ctx, where, slog.New(slog.NewTextHandler(a.Err, nil)))
	if err != nil {
		return failed(err)
	}
	defer r.Close()
	r.Replicas = replicas.Replicas
	producer, err := queue.NewProducer(ctx, r, queue.ProducerConfig{})
	if err != nil {
		return failed(err)
	}
	out := a.Out
	if asJSON {
		out = a.Err
	}
	fmt.Fprintf(out, "%s\n%s\n", c.Plan(), gen.Firing)
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
	var out forms
	var o *options
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Receive uplinks from a router, answer them, and report how late they were",
		Long: "Receive uplinks from a router over one WebSocket: solve the MIC challenge, decrypt the time stamp,\n" +
			"answer. Stop at the generator's end marker, or when nothing arrives for --idle. The exit code is 1\n" +
			"if an uplink is missing, or if neither --expect nor the marker says how many were sent. Generator\n" +
			"and sink must share a clock: run them on one machine.",
		Example: indent + "contend uplink sink --url ws://127.0.0.1:8080/api/v1/stream/upstream/ --expect 100000",
		Args:    arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.read()
			c.Token = cmp.Or(c.Token, api.DemoToken)
			lines := a.Out
			if len(out.asked()) > 0 {
				lines = a.Err
			}
			c.Notice = func(line string) { fmt.Fprintln(lines, line) }
			if err := errors.Join(err, setting.FlagErrors(c.Validate()), out.oneForm()); err != nil {
				return usage(err)
			}
			return a.sink(cmd.Context(), c, &out)
		},
	}
	o = optionsOf(cmd, &c, &out)
	return cmd
}

func (a *app) sink(ctx context.Context, c sink.Config, out *forms) error {
	result, err := sink.Run(ctx, c)
	if err != nil {
		return failed(err)
	}
	a.published(ctx, result, out)
	doc := newDocument("uplink sink")
	doc.AddUplink(trial.Cell{Result: result.Load}, account(result, "given", report.UplinkPart{Name: "sink", CPUSec: result.CPUSec}))
	return a.uplinkReport(ctx, doc, result, out)
}

// published writes the published form, unless another one is asked for or its figures would be those of a part.
func (a *app) published(ctx context.Context, r *sink.Result, out *forms) {
	if lacking(r) == nil && ctx.Err() == nil && len(out.asked()) == 0 {
		_ = r.WritePublished(a.Out) // the report has the same figures, and fails where this does
		fmt.Fprintln(a.Out)
	}
}

// lacking returns what is missing of a sink's result, whose rate would be that of the uplinks that came.
func lacking(r *sink.Result) error {
	switch {
	case r.Uplinks == 0:
		return errors.New("no uplink came")
	case r.Lost > 0:
		return fmt.Errorf("%d of %d uplinks did not arrive", r.Lost, r.Load.Planned)
	case sentUnknown(r) == report.NoEndMarker:
		return errors.New("no end marker came, so it is not known how many uplinks were sent")
	}
	return nil
}

// account is what the report says of a sink's result in addition to its figures.
func account(r *sink.Result, redis string, parts ...report.UplinkPart) report.Uplink {
	return report.Uplink{Redis: redis, Generation: "A", Duplicated: r.Duplicated, Reordered: r.Reordered,
		Unsolved: r.Unsolved, Foreign: r.Foreign, Silent: r.Silent, SentUnknown: sentUnknown(r), FirstChallenge: r.FirstChallenge, MeanChallenge: r.MeanChallenge, Parts: parts}
}

func sentUnknown(r *sink.Result) string {
	switch {
	case !r.AtLeast:
		return ""
	case r.Markers == 0:
		return report.NoEndMarker
	}
	return report.SeveralDevices
}

// uplinkReport writes our report. The error says what is missing.
func (a *app) uplinkReport(ctx context.Context, doc *report.Document, r *sink.Result, out *forms) error {
	doc = a.shown(doc)
	a.summarize(doc)
	if err := out.write(a, doc); err != nil {
		return failed(err)
	}
	if ctx.Err() != nil {
		return interrupted()
	}
	if err := lacking(r); err != nil {
		return failed(err)
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

// A bar is the published progress bar, redrawn on a terminal and otherwise
// written once.
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
	fmt.Fprintln(b.out, "\n"+gen.Done)
}
