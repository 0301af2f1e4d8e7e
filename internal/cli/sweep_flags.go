package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/load"
	"contend/protocol"
	"contend/setting"
	"contend/trial"
)

type sweepFlags struct {
	spec      protocol.Spec
	design    trial.SweepDesign
	plan      load.Plan
	command   string
	rate      bool
	search    trial.SearchDesign
	arrivals  string
	precision float64
	out       output
}

func (s *sweepFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntSliceVar(&s.design.Levels, "levels", nil, "`levels` of concurrency (chosen around the peak)")
	f.IntVar(&s.design.ExtendTo, "extend-to", 0, "without --levels the highest `level` that may be chosen (1024); with them go on doubling the highest up to this one, until throughput has fallen twice")
	f.IntVar(&s.design.Visits, "visits", 3, "`times` that each level is measured")
	f.DurationVarP(&s.design.Block, "duration", "d", time.Second, "measured length of a visit; with --rate of an attempt, at least (3s)")
	f.DurationVar(&s.design.Warmup, "warmup", 300*time.Millisecond, "before each visit or attempt")
	f.Uint64Var(&s.design.Seed, "seed", 1, "seed of all random choices")
	f.DurationVar(&s.plan.Timeout, "timeout", defaultTimeout, "limit of one iteration; 0: none")
	f.DurationVar(&s.plan.Think, "think", 0, "pause of a virtual user between iterations")
	f.StringVar(&s.command, "command", "", "start this `command` afresh for every visit or attempt; {{addr}} is its address")
	f.BoolVar(&s.rate, "rate", false, "find the highest arrival rate within the objectives")
	f.StringSliceVar(&s.search.Objectives, "objective", nil, "with --rate: what must hold, such as 'response_p99_ns < 20ms'; `bounds` joined by commas, or repeated")
	f.StringVar(&s.arrivals, "arrivals", string(trial.ConstantArrivals), "with --rate: `spacing` of the arrivals, constant or poisson")
	complete(cmd, "arrivals", []string{string(trial.ConstantArrivals), string(trial.PoissonArrivals)})
	f.IntVarP(&s.search.VUs, "concurrency", "c", 0, "with --rate: `number` of virtual users (as many as the rate needs)")
	f.Float64Var(&s.precision, "precision", 5, "with --rate: how far apart the rate that holds and the one that misses may be, in `percent`")
	f.Float64Var(&s.search.MaxRate, "max-rate", 1e6, "with --rate: highest `rate` to try, per second")
	f.DurationVar(&s.search.MaxAttempt, "max-attempt", time.Minute, "with --rate: how far an attempt may be stretched to have 100 answers beyond a percentile")
	specFlags(cmd, &s.spec)
	s.out.flags(cmd)
}

// The flags that one of the two kinds of sweep alone takes.
func ofLevels() []string { return []string{"levels", "extend-to", "visits", "think"} }
func ofRates() []string {
	return []string{"objective", "arrivals", "concurrency", "precision", "max-rate", "max-attempt"}
}

const defaultAttempt = 3 * time.Second

// check completes the designs and returns every mistake in them.
func (s *sweepFlags) check(cmd *cobra.Command) error {
	s.plan.VUs, s.plan.Duration = 1, s.design.Block // of each visit: its level and block
	foreign, why := ofRates(), "needs --rate"
	err := s.design.Validate()
	if s.rate {
		foreign, why = ofLevels(), "does not apply with --rate"
		d := &s.search
		d.Arrivals, d.Precision, d.Warmup, d.Seed = trial.Arrivals(s.arrivals), s.precision/100, s.design.Warmup, s.design.Seed
		if d.Attempt = defaultAttempt; cmd.Flags().Changed("duration") {
			d.Attempt = s.design.Block
		}
		if !cmd.Flags().Changed("max-attempt") {
			d.MaxAttempt = max(d.MaxAttempt, d.Attempt)
		}
		err = d.Validate()
	}
	errs := []error{inFlags(err), setting.FlagErrors(s.plan.Validate())}
	for _, name := range foreign {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s %s", name, why))
		}
	}
	return errors.Join(errs...)
}

// file is the one arm that is swept.
func (s *sweepFlags) file() *experiment.File {
	f := &experiment.File{ID: "sweep", Title: s.spec.URL}
	f.Target = s.spec
	f.Arms = map[string]experiment.Arm{"": {}}
	if s.command != "" {
		f.Subjects = map[string]experiment.Subject{"server": {Command: s.command}}
		f.Arms = map[string]experiment.Arm{"": {Subject: "server"}}
	}
	return f
}
