package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/target"
	"contend/trial"
)

func newCompare(a *app) *cobra.Command {
	c := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two servers in interleaved blocks and give a verdict",
		Long: "Compare the baseline A with the candidate B: interleaved blocks within rounds of fresh processes,\n" +
			"the ratio with its interval, and a verdict or a refusal.\n\n" +
			"A and B are two URLs, or with --url two commands that are started and stopped in every round;\n" +
			"{{addr}} stands for the free address that each is given.",
		Example: exampleIndenting + "contend compare http://localhost:8081/ http://localhost:8082/\n" +
			exampleIndenting + "contend compare --url http://{{addr}}/status -c 50 -- './server-a -listen {{addr}}' './server-b -listen {{addr}}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(fmt.Errorf("compare: need two targets or commands, have %d", len(args)))
			}
			return a.compare(cmd.Context(), c, args)
		},
	}
	c.flags(cmd)
	return cmd
}

type compareFlags struct {
	spec    target.Spec
	load    experiment.Load
	compare experiment.Compare
	level   int
	margin  float64
	metrics []string
	seed    uint64
	out     output
}

func (c *compareFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.spec.URL, "url", "", "`URL` of the target that the commands serve, with {{addr}}")
	f.IntVarP(&c.level, "concurrency", "c", defaultVUs, "number of virtual users")
	f.DurationVarP(&c.load.Duration, "duration", "d", 150*time.Millisecond, "measured length of a block")
	f.DurationVar(&c.load.Warmup, "warmup", 500*time.Millisecond, "per arm and round")
	f.DurationVar(&c.load.Timeout, "timeout", defaultTimeout, "limit of one iteration; 0: none")
	f.DurationVar(&c.load.Think, "think", 0, "closed model: pause of a virtual user between iterations")
	f.StringVar(&c.load.Rate, "rate", "", "open model: arrivals per second, as `RATE`, constant:RATE or poisson:RATE")
	f.IntVar(&c.compare.Rounds, "rounds", experiment.DefaultRounds, "rounds of fresh processes; at least 6 for a verdict")
	f.IntVar(&c.compare.Pairs, "pairs", experiment.DefaultPairs, "pairs of blocks per round")
	f.Float64Var(&c.margin, "margin", 100*experiment.DefaultMargin, "largest difference that does not matter, in `percent`")
	f.StringSliceVar(&c.metrics, "metric", nil, "`metrics` to compare, the primary one first (throughput_per_s,response_p50_ns,response_p99_ns,server_cpu_ns_per_op)")
	f.Uint64Var(&c.seed, "seed", 1, "seed of all random choices")
	specFlags(cmd, &c.spec)
	c.out.flags(cmd)
}

// file turns the command line into an experiment.
func (c *compareFlags) file(args []string) *experiment.File {
	f := &experiment.File{ID: "compare", Title: args[1] + " against " + args[0]}
	f.Load, f.Compare = c.load, c.compare
	f.Load.VUs = []int{c.level}
	f.Compare.Baseline, f.Compare.Margin = "A", experiment.Percent(c.margin/100)
	for _, m := range c.metrics {
		f.Compare.Metrics = append(f.Compare.Metrics, trial.Metric(m))
	}
	f.Target = c.spec
	f.Arms = map[string]experiment.Arm{}
	for i, name := range []string{"A", "B"} {
		if c.spec.URL == "" {
			f.Arms[name] = experiment.Arm{Target: target.Spec{URL: args[i]}}
			continue
		}
		if f.Subjects == nil {
			f.Subjects = map[string]experiment.Subject{}
		}
		f.Subjects[name] = experiment.Subject{Command: args[i]}
		f.Arms[name] = experiment.Arm{Subject: name}
	}
	return f
}

func (a *app) compare(ctx context.Context, c *compareFlags, args []string) error {
	f := c.file(args)
	if err := f.Validate(); err != nil {
		return usage(err)
	}
	doc := newDocument("compare")
	err := a.experiment(ctx, f, experiment.Options{Seed: c.seed}, doc)
	return a.finish(ctx, doc, &c.out, err)
}

// experiment runs a file with progress.
func (a *app) experiment(ctx context.Context, f *experiment.File, o experiment.Options, doc *report.Document) error {
	opener, err := newOpener()
	if err != nil {
		return err
	}
	if o.Self, err = self(); err != nil {
		return err
	}
	p := newProgress(a.Err)
	o.Opener = opener
	o.Observe = func(now trial.Progress) { p.show(now.Done, f.ID+": "+now.Label) }
	defer p.clear()
	return f.Run(ctx, o, doc)
}

// finish writes the document and turns what happened into an exit code.
func (a *app) finish(ctx context.Context, doc *report.Document, out *output, err error) error {
	if writeErr := out.write(a, doc); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted: the result is partial")}
	case err != nil:
		return &exitError{exitFailed, err}
	}
	return verdictError(doc)
}

// verdictError is nil when the verdicts and expectations are good news.
func verdictError(doc *report.Document) error {
	code := exitDone
	for _, c := range doc.Comparisons {
		if c.Primary {
			code = max(code, verdictCode(c.Verdict))
		}
	}
	if !succeeded(doc) {
		return &exitError{exitFailed, errors.New("an arm gave no right answer at all")}
	}
	if code == exitDone {
		return nil
	}
	return &exitError{code, nil}
}

func verdictCode(v stat.Verdict) int {
	switch v {
	case stat.Slower, stat.More:
		return exitUnmet
	case stat.Inconclusive, stat.Invalid:
		return exitUndecided
	}
	return exitDone
}

// succeeded says whether every arm got a right answer.
func succeeded(doc *report.Document) bool {
	for _, r := range doc.Results {
		if r.Completed == 0 && r.Stopped != load.Interrupted {
			return false
		}
	}
	return true
}
