package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"contend/load"
	"contend/report"
	"contend/setting"
	running "contend/subject"
	"contend/systems/uplink/demo"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/router"
	"contend/systems/uplink/sink"
	"contend/trial"
)

func newUplinkDemo(a *app) *cobra.Command {
	d := &uplinkDemo{app: a}
	cmd := &cobra.Command{
		Use:   "demo [flat|batch|rate]",
		Short: "Run Redis, router, generator and sink here, and report",
		Long: "Run Redis, router, generator and sink on this machine, send uplinks through all of them, and report\n" +
			"how many arrived, how late, and what each program used. The exit code is 1 if one is missing.\n" +
			"Without a mode, send 2000 uplinks per second for ten seconds. The embedded Redis needs no\n" +
			"installation, but do not measure speed with it.",
		Example: indent + "contend uplink demo\n" +
			indent + "contend uplink demo flat -n 100000 --redis managed\n" +
			indent + "contend uplink demo rate -r poisson:8000 -n 80000 --redis auto",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"flat", "batch", "rate"},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := d.given
			if len(args) == 0 {
				args = []string{gen.Rate.String()}
				given = given.Over(setting.Values{"rate": {Texts: []string{"2000"}}})
			}
			return d.run(cmd.Context(), args[0], given)
		},
	}
	d.given = settingFlags(cmd, slices.Concat(ofGenerator(), ofSink(), ofRouter(), setting.Of(demoOptions{})))
	return cmd
}

// The settings of each program that the demo starts.
func ofGenerator() []setting.Setting { return setting.Of(gen.Config{}) }
func ofSink() []setting.Setting {
	return setting.Pick(setting.Of(sink.Config{}), "no-ack", "pool", "devices", "seed")
}
func ofRouter() []setting.Setting {
	return setting.Pick(setting.Of(outbox.TrustConfig{}, routerOptions{}, router.Config{}, router.Dedup{}), "trust-start", "no-trust-reduction", "dedup", "linger")
}

// demoIdle is how long nothing must come for the demo to be over.
const demoIdle = 15 * time.Second

type uplinkDemo struct {
	*app
	given setting.Values
	demoOptions
}

type demoOptions struct {
	Redis string `flag:"redis" words:"*URL* of a Redis; managed: a private redis-server; auto: that, where installed; none: embedded"`
	forms
	onPage
}

func (d *uplinkDemo) run(ctx context.Context, mode string, given setting.Values) error {
	var load gen.Config
	var config sink.Config
	asked, err := generated(&load, mode, given)
	of := func(list []setting.Setting) setting.Values { return asked.Only(list, setting.InFlags) }
	if err := errors.Join(err, fillFlags(given, &d.demoOptions, &outbox.TrustConfig{}), fillFlags(of(ofSink()), &config), d.oneForm()); err != nil {
		return usage(err)
	}
	config.Expect, config.Pacer, config.Idle = load.Total(), load.Pacer, demoIdle
	command, err := self()
	if err != nil {
		return failed(err)
	}
	p := d.progress(d.UI)
	result, err := demo.Run(ctx, demo.Config{Self: command, Redis: d.Redis, Router: flagArguments(of(ofRouter())),
		Generator: append([]string{mode}, flagArguments(of(ofGenerator()))...), Sink: config, Log: slog.New(slog.NewTextHandler(d.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Observe: func(used running.Sample) {
			p.show(-1, fmt.Sprintf("uplinks are on their way; the router used %.1f s of CPU", used.CPU.Seconds()))
		}})
	p.clear()
	if err != nil {
		return failed(err)
	}
	return d.report(ctx, result)
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
	err := d.uplinkReport(ctx, doc, r.Result, &d.forms)
	d.published(ctx, r.Result, &d.forms)
	return errors.Join(err, d.endLive(doc))
}
