package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/uplink/demo"
	"contend/internal/uplink/gen"
	"contend/internal/uplink/outbox"
	"contend/internal/uplink/sink"
	"contend/load"
	"contend/report"
	running "contend/subject"
	"contend/trial"
)

func newUplinkDemo(a *app) *cobra.Command {
	d := &uplinkDemo{app: a}
	cmd := &cobra.Command{
		Use:   "demo [flat|batch|rate]",
		Short: "Run Redis, router, generator and sink here, and report",
		Long: "Run Redis, router, generator and sink on this machine, send uplinks through all of them, and report\n" +
			"how late they came and what each program used. Without a mode: 2000 uplinks per second for ten\n" +
			"seconds. The embedded Redis needs nothing installed and is no measure of speed.",
		Example: indent + "contend uplink demo\n" +
			indent + "contend uplink demo flat -n 100000 --redis managed\n" +
			indent + "contend uplink demo rate -r poisson:8000 -n 80000 --redis auto",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"flat", "batch", "rate"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{gen.Rate.String()}
				d.load.rate = ifUnset(cmd, "rate", d.load.rate, "2000")
				cmd.Flags().Lookup("rate").Changed = true
			}
			return d.run(cmd, args[0])
		},
	}
	d.load.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&d.redis, "redis", "", "`URL` of a Redis; managed: a private redis-server; auto: that, where installed; none: embedded")
	f.BoolVar(&d.noAck, "no-ack", false, "answer nothing")
	f.IntVarP(&d.pool, "pool", "p", sink.DefaultPool, "`number` of messages in processing at once")
	f.IntVar(&d.start, "trust-start", outbox.MaxChallenge, "`entries` of the first MIC challenge")
	f.BoolVar(&d.noReduction, "no-trust-reduction", false, "do not lengthen challenges because answers are missing")
	f.StringVar(&d.dedup, "dedup", "2s", "`time` within which copies of a frame are not passed on, or off")
	d.out.flags(cmd)
	return cmd
}

// demoIdle is how long nothing must come for the demo to be over.
const demoIdle = 15 * time.Second

type uplinkDemo struct {
	*app
	load               uplinkLoad
	redis, dedup       string
	noAck, noReduction bool
	pool, start        int
	out                output
}

func (d *uplinkDemo) run(cmd *cobra.Command, mode string) error {
	generated, err := d.load.config(cmd, mode)
	config := sink.Config{NoAck: d.noAck, Pool: d.pool, Devices: d.load.Devices, Seed: d.load.Seed,
		Expect: generated.Total(), Pacer: generated.Pacer, Idle: demoIdle}
	if err := errors.Join(err, within("trust-start", []int{d.start}, outbox.MinChallenge, outbox.MaxChallenge)); err != nil {
		return usage(err)
	}
	command, err := self()
	if err != nil {
		return failed(err)
	}
	p := newProgress(d.Err)
	result, err := demo.Run(cmd.Context(), demo.Config{Self: command, Redis: d.redis, Router: d.routerArguments(),
		Generator: d.arguments(generated), Sink: config, Log: slog.New(slog.NewTextHandler(d.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Observe: func(used running.Sample) {
			p.show(-1, fmt.Sprintf("uplinks are on their way; the router used %.1f s of CPU", used.CPU.Seconds()))
		}})
	p.clear()
	if err != nil {
		return failed(err)
	}
	return d.report(cmd.Context(), result)
}

func (d *uplinkDemo) routerArguments() []string {
	list := []string{"--trust-start", strconv.Itoa(d.start), "--dedup", d.dedup}
	if d.noReduction {
		list = append(list, "--no-trust-reduction")
	}
	return list
}

// arguments are those of contend uplink gen.
func (d *uplinkDemo) arguments(c gen.Config) []string {
	list := []string{c.Mode.String(), "-n", fmt.Sprint(c.N), "--devices", fmt.Sprint(c.Devices), "--gateways", fmt.Sprint(c.Gateways),
		"--seed", fmt.Sprint(c.Seed), "--duplicates", fmt.Sprint(c.Duplicates), "--reorder", fmt.Sprint(c.Reorder),
		"--joins", fmt.Sprint(c.JoinRequests), "--malformed", fmt.Sprint(c.Malformed)}
	switch c.Mode {
	case gen.Batch:
		list = append(list, "-b", fmt.Sprint(c.Batches), "-d", c.Delay.String())
	case gen.Rate:
		list = append(list, "-r", c.Pacer.String())
	}
	return list
}

func (d *uplinkDemo) report(ctx context.Context, r *demo.Result) error {
	var parts []report.UplinkPart
	server := &load.Usage{RSSBytes: r.Router.RSSBytes, Threads: r.Router.Threads, CPUs: r.Router.CPUs, SharedCPUs: r.Router.SharedCPUs}
	generator := 0.0
	for _, p := range r.Parts {
		parts = append(parts, report.UplinkPart{Name: p.Name, CPUSec: p.CPU.Seconds()})
		if slices.Contains([]string{"generator", "sink"}, p.Name) {
			generator += p.CPU.Seconds()
		} else {
			server.CPUSec += p.CPU.Seconds()
		}
	}
	cell := trial.Cell{Result: r.Load}
	cell.Server, cell.GeneratorCPUSec, cell.Local = server, generator, true
	doc := newDocument("uplink demo")
	doc.AddUplink(cell, account(r.Result, r.Redis, parts...))
	return d.uplinkReport(ctx, doc, r.Result, &d.out)
}
