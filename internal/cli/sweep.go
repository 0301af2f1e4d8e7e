package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/load"
	"contend/report"
	"contend/target"
	"contend/trial"
)

func newSweep(a *app) *cobra.Command {
	var (
		spec    target.Spec
		design  trial.SweepDesign
		plan    load.Plan
		command string
		out     output
	)
	cmd := &cobra.Command{
		Use:   "sweep TARGET",
		Short: "Measure one target over levels of concurrency and find the best one",
		Long: "Measure one target at every level of concurrency, in random order and repeatedly; fit the Universal\n" +
			"Scalability Law; give the optimum with its interval, or the reason why there is none. Without\n" +
			"--levels they are chosen: doubled until throughput falls or stays flat, then close together\n" +
			"around the peak.",
		Example: indent + "contend sweep http://localhost:8080/status\n" +
			indent + "contend sweep --levels 1,2,4,8,16,32,64 http://localhost:8080/status\n" +
			indent + "contend sweep --command './server -listen {{addr}}' http://{{addr}}/",
		Args:              arguments(1, "one target"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.URL = args[0]
			f := &experiment.File{ID: "sweep", Title: spec.URL}
			f.Target = spec
			f.Arms = map[string]experiment.Arm{"": {}}
			if command != "" {
				f.Subjects = map[string]experiment.Subject{"server": {Command: command}}
				f.Arms = map[string]experiment.Arm{"": {Subject: "server"}}
			}
			plan.VUs, plan.Duration = 1, design.Block // of each visit: its level and block
			err := errors.Join(inFlags(errors.Join(design.Validate(), plan.Validate())), a.pins.check("--command", command != ""))
			if err := checkServer(cmd.Context(), spec, command, err); err != nil {
				return err
			}
			return a.sweep(cmd.Context(), f, plan, design, &out)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&design.Levels, "levels", nil, "`levels` of concurrency (chosen around the peak)")
	f.IntVar(&design.ExtendTo, "extend-to", 0, "without --levels the highest `level` that may be chosen (1024); with them go on doubling the highest up to this one, until throughput has fallen twice")
	f.IntVar(&design.Visits, "visits", 3, "`times` that each level is measured")
	f.DurationVarP(&design.Block, "duration", "d", time.Second, "measured length of a visit")
	f.DurationVar(&design.Warmup, "warmup", 300*time.Millisecond, "before each visit")
	f.Uint64Var(&design.Seed, "seed", 1, "seed of all random choices")
	f.DurationVar(&plan.Timeout, "timeout", defaultTimeout, "limit of one iteration; 0: none")
	f.DurationVar(&plan.Think, "think", 0, "pause of a virtual user between iterations")
	f.StringVar(&command, "command", "", "start this `command` afresh for every visit; {{addr}} is its address")
	specFlags(cmd, &spec)
	a.pins.flags(cmd)
	out.flags(cmd)
	return cmd
}

// checkServer finds the mistakes in the words of a target before anything is
// measured; without a command, also a server that cannot be reached.
func checkServer(ctx context.Context, spec target.Spec, command string, mistakes error) error {
	if command == "" {
		opened, err := open(ctx, spec, mistakes)
		closeTarget(opened)
		return err
	}
	if !strings.Contains(spec.URL, "{{addr}}") {
		mistakes = errors.Join(mistakes, fmt.Errorf("target %q has no {{addr}} for the address of the command", spec.URL))
	}
	if !strings.Contains(command, "{{addr}}") && !strings.Contains(command, "{{port}}") {
		mistakes = errors.Join(mistakes, fmt.Errorf("--command %q has neither {{addr}} nor {{port}}", command))
	}
	if mistakes != nil {
		return usage(mistakes)
	}
	return nil
}

func (a *app) sweep(ctx context.Context, f *experiment.File, plan load.Plan, d trial.SweepDesign, out *output) error {
	opener, err := newOpener()
	if err != nil {
		return failed(err)
	}
	opener.VUs = slices.Max(append(d.Levels, cmp.Or(d.ExtendTo, trial.DefaultLimit)))
	free, err := a.pins.apply(a.Err)
	if err != nil {
		return failed(err)
	}
	defer free()
	opener.OwnCores = a.pins.ownCores()
	p := newProgress(a.Err)
	doc := newDocument("sweep")
	a.pins.describe(&doc.Environment)
	arm := f.Arm("", experiment.Options{Opener: opener, ServerCPUs: a.pins.serverCPUs()})
	curve, err := trial.Sweep(ctx, arm, plan, d, func(now trial.Progress) { p.show(now.Done, now.Label) })
	p.clear()
	if curve != nil {
		doc.AddCurve(report.Place{}, curve)
	}
	return a.finish(ctx, doc, out, err)
}
