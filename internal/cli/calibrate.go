package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"contend/calibrate"
	"contend/experiment"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

func newCalibrate(a *app) *cobra.Command {
	c := &calibrateFlags{app: a}
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure which differences comparisons on this machine can detect",
		Long: "Compare the counter over HTTP with itself, many times. Both sides are identical, so any difference\n" +
			"is noise of this machine. This shows how often a verdict is a false alarm, which differences can be\n" +
			"detected, and how long blocks should be.\n\n" +
			"The result is stored: compare and lab print it with their verdicts, and compare takes the length of\n" +
			"its blocks from it. Calibration takes about two minutes. Keep the machine as busy as it will be when\n" +
			"you compare.",
		Example:           indent + "contend calibrate\n" + indent + "contend calibrate --experiments 100 -c 50\n" + indent + "contend calibrate --gate --experiments 40",
		Args:              arguments(0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context())
		},
	}
	c.own = optionsOf(cmd, &c.calibrateOptions, &c.design.Study, &c.design, &c.pins)
	return cmd
}

type calibrateFlags struct {
	*app
	own *options
	calibrateOptions
	design calibrate.Design
}

// The default of Level is so few that the server, which is very lean, rather than
// the generator is the limit: with 20 on two cores one event loop was, and every
// comparison was refused.
type calibrateOptions struct {
	Level int    `flag:"concurrency,c" default:"4" min:"1" max:"1000000" words:"*number* of callers"`
	Store string `flag:"store" words:"*file* for the calibration, instead of the one that other commands read"`
	watched
}

// counterWarmup is little, and enough for the counter.
const counterWarmup = 100 * time.Millisecond

// complete fills the design, whose comparisons are like those of compare except
// for the length of the rounds: many short ones say more in two minutes.
func (c *calibrateFlags) complete() error {
	err := errors.Join(c.own.read(), c.oneForm())
	d := &c.design
	slices.Sort(d.Study.Lengths)
	d.Study.Warmup = counterWarmup
	d.Compare = trial.NewDesign()
	d.PlannedRounds = trial.PlannedRounds
	d.Compare.Rounds, d.Compare.Warmup, d.Compare.Levels = d.Study.Rounds, counterWarmup, []int{c.Level}
	d.Compare.Seed = d.Study.Seed
	return setting.FlagErrors(errors.Join(err, d.Validate()))
}

func (c *calibrateFlags) run(ctx context.Context) error {
	if err := errors.Join(c.complete(), c.pins.check("", true)); err != nil {
		return usage(err)
	}
	var plan load.Plan
	setting.Defaults(&plan)
	plan.VUs, plan.Duration = c.Level, c.design.Study.Measured
	o, release, err := c.measuring(c.pins.Placement)
	if err != nil {
		return failed(err)
	}
	defer release()
	c.design.Compare.Probe = c.pins.process.Probe
	o.Seed = c.design.Study.Seed
	if err := c.widen(ctx, o, plan); err != nil {
		return failed(err)
	}
	doc := newDocument("calibrate")
	doc.Environment.CPUs = report.PlacedOn(c.pins.process.Layout)
	p := c.progress(c.UI)
	found, err := calibrate.Run(ctx, c.arms(o), plan, c.design, func(now trial.Progress) { p.follow(now, "", 0, doc) })
	p.clear()
	if found != nil {
		doc.Calibration = &report.Calibration{Schema: report.CalibrationSchema, Version: doc.Version,
			Environment: doc.Environment, Calibration: *found}
	}
	undecided := err == nil && doc.Calibration.Alarms.Comparisons == 0
	switch {
	case undecided:
		doc.Notes = append(doc.Notes, "Not stored: nothing follows from this result, and it would replace a better one.")
	case err == nil:
		err = c.keep(doc)
	}
	if err := c.written(ctx, doc, &c.views, err); err != nil || !undecided {
		return err
	}
	return &exitError{exitUndecided, nil}
}

// widen gives the load generator more CPUs where it is the limit of the counter, before anything is measured, if that takes
// little of the time of what follows.
func (c *calibrateFlags) widen(ctx context.Context, o experiment.Options, plan load.Plan) error {
	study := c.design.Study
	follows := 2 * time.Duration(study.Rounds*(len(study.Lengths)+c.design.Experiments)) * (study.Warmup + study.Measured)
	pilot := trial.Pilot{Plan: plan, Most: trial.Within(follows, 1), Widen: o.Placement.Widen}
	warmed, err := pilot.Warm(ctx, c.arms(o)[0])
	if err != nil {
		return err
	}
	return warmed.End(ctx)
}

// arms are the counter, twice.
func (c *calibrateFlags) arms(o experiment.Options) []trial.Arm {
	o.Opener.VUs = c.Level
	counter, target := experiment.Subject{Serve: "counter --http {{addr}}"}, protocol.At("http://{{addr}}/status/atomic")
	return []trial.Arm{experiment.ServerArm("A", target, counter, o), experiment.ServerArm("B", target, counter, o)}
}

// keep stores the calibration and says where.
func (c *calibrateFlags) keep(doc *report.Document) error {
	path, err := c.Store, error(nil)
	if path == "" {
		path, err = calibrationFile()
	}
	if err == nil {
		err = storeCalibration(path, doc.Calibration)
	}
	if err != nil {
		return err
	}
	doc.Notes = append(doc.Notes, fmt.Sprintf("Stored in %s.", path))
	return nil
}
