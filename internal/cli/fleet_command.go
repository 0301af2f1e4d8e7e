package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"contend/fleet"
	"contend/internal/unit"
	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/report"
	"contend/setting"
)

func newFleet(a *app) *cobra.Command {
	var f fleetOptions
	var o *options
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "List the workers of a fleet, or check that they can measure together",
		Long: "List the workers (contend worker) that meet at an address: their machines, versions and clocks, and\n" +
			"how much each can send, once that has been measured. --workers alone starts some here, to try it.",
		Example: indent + "contend fleet --fleet 10.0.0.7:4222\n" + indent + "contend fleet check --workers 2",
		Args:    arguments(0, "no arguments, or check"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.wanted(o.read()); err != nil {
				return err
			}
			return a.listFleet(cmd.Context(), &f)
		},
	}
	o = optionsOf(cmd, &f)
	cmd.AddCommand(newFleetCheck(a))
	return cmd
}

func newFleetCheck(a *app) *cobra.Command {
	var f fleetOptions
	var spec targetFlags
	var o *options
	cmd := &cobra.Command{
		Use:   "check [TARGET]",
		Short: "Check in 10 s that workers can measure together",
		Long: "Check that workers can measure together: same version, precisely known clocks, idle machines. Also\n" +
			"measure how much each can send, which determines its share of the load, and check that a target, if\n" +
			"given, responds to each of them.\n\n" +
			"Exit codes:\n" +
			"  0  the workers can measure together\n" +
			"  4  they cannot",
		Example:           indent + "contend fleet check --fleet nats://10.0.0.7:4222 http://10.0.0.9:8080/status",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.read()
			var target protocol.Target
			if len(args) > 0 {
				spec.url = args[0]
				target = spec.target()
				words := protocol.Opener{Remote: func(protocol.Target, wire.Surroundings) (load.Target, error) { return nil, nil }}
				if _, wrong := words.Open(cmd.Context(), target); wrong != nil {
					err = errors.Join(err, setting.FlagErrors(wrong))
				}
			}
			if err := f.wanted(err); err != nil {
				return err
			}
			return a.checkFleet(cmd.Context(), &f, target)
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	spec.flags(cmd)
	o = optionsOf(cmd, &f)
	return cmd
}

// wanted returns what is wrong with the command line; err was found before.
func (f *fleetOptions) wanted(err error) error {
	if err == nil && !f.asked() {
		err = errors.New("neither --fleet nor --workers is given; use --fleet for where workers meet, or --workers to start some here")
	}
	if err = errors.Join(err, setting.FlagErrors(f.check())); err != nil {
		return usage(err)
	}
	return nil
}

// assembled are the known workers, including those that cannot be used.
func (a *app) assembled(ctx context.Context, f *fleetOptions) ([]fleet.Worker, error) {
	var err error
	if a.crew, err = a.meet(ctx, f); err == nil {
		ctx, cancel := context.WithTimeout(ctx, joining)
		defer cancel()
		var list []fleet.Worker
		if list, err = a.crew.fleet.All(ctx, max(1, f.Workers), settling); err == nil {
			return list, nil
		}
	}
	if ctx.Err() != nil {
		return nil, tooEarly()
	}
	return nil, failed(err)
}

func (a *app) listFleet(ctx context.Context, f *fleetOptions) error {
	defer func() { a.crew.close() }()
	list, err := a.assembled(ctx, f)
	if err != nil {
		return err
	}
	page := report.Page{Answer: workersOn(list), Remarks: sharedCores(list),
		Columns: []string{"worker", "machine", "cores", "version", "clock known to", "limit", "weight", "subjects", "state"}}
	bounds, weights := a.crew.fleet.ClockBounds(ctx, list), fleet.Weights(list)
	for i, w := range list {
		clock := "-"
		if bounds[i] > 0 {
			clock = "±" + unit.Duration(float64(bounds[i]))
		}
		state := "free"
		if text := a.crew.fleet.Unusable(w); text != "" {
			state = strings.TrimPrefix(text, w.Name+" ")
		}
		page.Rows = append(page.Rows, []string{w.Name, truncate(w.Machine, machineWidth), fmt.Sprint(w.Cores), w.Version, clock, limitOf(w), fmt.Sprint(weights[i]),
			cmp.Or(strings.Join(w.Subjects, ", "), "-"), state})
	}
	return page.Text(a.Out)
}

// machineWidth is how much of a machine's identity tells a few apart.
const machineWidth = 9

// workersOn counts workers and their machines.
func workersOn(list []fleet.Worker) string {
	machines := map[string]bool{}
	for _, w := range list {
		machines[w.Machine] = true
	}
	return numbered(len(list), "worker") + " on " + numbered(len(machines), "machine")
}

func numbered(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func limitOf(w fleet.Worker) string {
	if w.LimitPerSec == 0 {
		return "-"
	}
	return unit.Rate(w.LimitPerSec)
}

// sharedCores says which workers share the cores of one machine.
func sharedCores(list []fleet.Worker) (remarks []string) {
	on := map[string][]string{}
	var machines []string
	for _, w := range list {
		if on[w.Machine] == nil {
			machines = append(machines, w.Machine)
		}
		on[w.Machine] = append(on[w.Machine], w.Name)
	}
	for _, m := range machines {
		if names := on[m]; len(names) > 1 {
			remarks = append(remarks, fleet.Few(names)+" share the cores of one machine, and together send no more than one of them could")
		}
	}
	return remarks
}

func (a *app) checkFleet(ctx context.Context, f *fleetOptions, target protocol.Target) error {
	defer func() { a.crew.close() }()
	list, err := a.assembled(ctx, f)
	if err != nil {
		return err
	}
	checked := a.crew.fleet.Check(ctx, list, target)
	if ctx.Err() != nil {
		return tooEarly()
	}
	verdict := fleet.Judge(checked)
	page := report.Page{Answer: verdict.Answer, Remarks: append(verdict.Remarks, sharedCores(list)...),
		Columns: []string{"worker", "machine", "cores", "clock known to", "drift", "began late", "CPU of others", "limit", "weight"}}
	if target != nil {
		page.Columns = append(page.Columns, "target")
	}
	for i, c := range checked {
		row := []string{c.Name, truncate(c.Machine, machineWidth), fmt.Sprint(c.Cores)}
		if c.ClockBound > 0 {
			row = append(row, "±"+unit.Duration(float64(c.ClockBound)), fmt.Sprintf("%.0f ± %.0f ppm", 1e6*c.Drift, 1e6*c.DriftBound))
		} else {
			row = append(row, "-", "-")
		}
		row = append(row, unit.Duration(float64(c.Found.BeganLate)), fmt.Sprintf("%.0f%%", 100*c.Found.Elsewhere), limitOf(c.Worker), fmt.Sprint(verdict.Weights[i]))
		if c.Reached > 0 {
			row = append(row, unit.Duration(float64(c.Reached)))
		} else if target != nil {
			row = append(row, "-")
		}
		page.Rows = append(page.Rows, row)
	}
	if err := page.Text(a.Out); err != nil || verdict.Fit {
		return err
	}
	return &exitError{exitUndecided, nil}
}
