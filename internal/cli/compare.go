package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/protocol"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

func newCompare(a *app) *cobra.Command {
	c := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two servers in interleaved blocks, or two documents, and give a verdict",
		Long: "Compare the baseline A with the candidate B: interleaved blocks within rounds of fresh processes,\n" +
			"the ratio with its interval, and a verdict or a refusal.\n\n" +
			"A and B are two URLs, or with --url two commands that are started and stopped in every round;\n" +
			"{{addr}} stands for the free address that each is given.\n\n" +
			"Two stored documents are compared, too, but not interleaved: unpaired over their rounds, at least 6\n" +
			"a side, and without a verdict where they were not measured alike.",
		Example: indent + "contend compare http://localhost:8081/ http://localhost:8082/\n" +
			indent + "contend compare --url http://{{addr}}/status -c 50 -- './server-a -listen {{addr}}' './server-b -listen {{addr}}'\n" +
			indent + "contend compare --metric throughput_per_s monday.json tuesday.json",
		Args:              arguments(2, "two targets or documents, or with --url two commands"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if stored, err := areFiles(args); c.spec.url == "" && (stored || err != nil) {
				return a.compareStored(cmd, c, args, err)
			}
			return a.compare(cmd.Context(), c, args)
		},
	}
	c.flags(cmd)
	a.pins.flags(cmd)
	return cmd
}

type compareFlags struct {
	spec    targetFlags
	load    experiment.Load
	compare experiment.Compare
	level   int
	// In per cent.
	margin, precision, maxErrors float64

	duet    bool
	metrics []string
	seed    uint64
	out     output
	given   func(flag string) bool
}

func (c *compareFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	c.given = f.Changed
	f.StringVar(&c.spec.url, "url", "", "`URL` of the target that the commands serve, with {{addr}}")
	f.IntVarP(&c.level, "concurrency", "c", defaultVUs, "`number` of virtual users")
	f.DurationVarP(&c.load.Duration, "duration", "d", 150*time.Millisecond, "measured length of a block")
	f.DurationVar(&c.load.Warmup, "warmup", 500*time.Millisecond, "per arm and round")
	f.DurationVar(&c.load.Timeout, "timeout", defaultTimeout, "limit of one iteration; 0: none")
	f.DurationVar(&c.load.Think, "think", 0, "closed model: pause of a virtual user between iterations")
	f.StringVar(&c.load.Rate, "rate", "", "open model: arrivals per second, as `RATE`, constant:RATE or poisson:RATE")
	f.IntVar(&c.compare.Rounds, "rounds", experiment.DefaultRounds, "rounds of fresh processes; at least 6 for a verdict")
	f.IntVar(&c.compare.Pairs, "pairs", experiment.DefaultPairs, "pairs of blocks per round")
	f.Float64Var(&c.margin, "margin", 100*experiment.DefaultMargin, "largest difference that does not matter, in `percent`")
	f.Float64Var(&c.precision, "precision", 0, "stop when the interval is no wider than this to either side, in `percent`; --rounds is then the most")
	f.Float64Var(&c.maxErrors, "max-errors", 100*finding.Errors.Refuses, "no verdict beyond this share of errors, in `percent`")
	f.BoolVar(&c.duet, "duet", false, "drive both commands at the same time, each on CPUs of its own and the generator on others (3 CPUs, Linux)")
	f.StringSliceVar(&c.metrics, "metric", nil, "`metrics` to compare, the primary one first ("+strings.Join(defaultMetrics(), ",")+")")
	complete(cmd, "metric", metric.Names())
	f.Uint64Var(&c.seed, "seed", 1, "seed of all random choices")
	c.spec.flags(cmd)
	c.out.flags(cmd)
}

func defaultMetrics() []string {
	var names []string
	for _, m := range experiment.DefaultMetrics() {
		names = append(names, string(m))
	}
	return names
}

// file turns the command line into an experiment.
func (c *compareFlags) file(args []string) *experiment.File {
	f := &experiment.File{ID: "compare", Title: args[1] + " against " + args[0]}
	f.Load, f.Compare = c.load, c.compare
	f.Load.VUs = []int{c.level}
	f.Compare.Baseline, f.Compare.Margin = "A", experiment.Percent(c.margin/100)
	f.Compare.Precision, f.Compare.MaxErrors = experiment.Percent(c.precision/100), experiment.Percent(c.maxErrors/100)
	for _, m := range c.metrics {
		f.Compare.Metrics = append(f.Compare.Metrics, metric.Name(m))
	}
	f.Target = c.spec.target()
	f.Arms = map[string]experiment.Arm{}
	for i, name := range []string{"A", "B"} {
		if c.spec.url == "" {
			f.Arms[name] = experiment.Arm{Target: protocol.At(args[i])}
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

// unset refuses zeros, which an experiment file would take for its defaults.
func (c *compareFlags) unset() error {
	var errs []error
	if c.compare.Rounds == 0 {
		errs = append(errs, errors.New("--rounds is 0, allowed are 1 and more"))
	}
	if c.compare.Pairs == 0 {
		errs = append(errs, errors.New("--pairs is 0, allowed are 1 and more"))
	}
	if c.margin == 0 {
		errs = append(errs, errors.New("--margin is 0, allowed are more than 0 and less than 100"))
	}
	if c.maxErrors == 0 {
		errs = append(errs, errors.New("--max-errors is 0, allowed are more than 0 and less than 100"))
	}
	return errors.Join(errs...)
}

func (a *app) compare(ctx context.Context, c *compareFlags, args []string) error {
	f := c.file(args)
	if err := errors.Join(c.unset(), inFlags(f.Validate()), a.pins.check("--url", c.spec.url != "")); err != nil {
		return usage(err)
	}
	o := experiment.Options{Seed: c.seed}
	if c.duet {
		var err error
		if o.Duet, err = a.pins.duet(c.spec.url != ""); err != nil {
			return usage(err)
		}
	}
	if c.spec.url == "" {
		for _, url := range args {
			opened, err := open(ctx, c.spec.target().With("url", url), nil)
			if err != nil {
				return err
			}
			closeTarget(opened)
		}
	}
	free, err := a.pins.apply(a.Err)
	if err != nil {
		return failed(err)
	}
	defer free()
	doc := newDocument("compare")
	a.calibrated(doc)
	c.calibrated(doc)
	err = a.experiment(ctx, c.file(args), o, doc)
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
	opener.OwnCores = a.pins.ownCores()
	o.ServerCPUs, o.Probe = a.pins.serverCPUs(), a.pins.probe
	a.pins.describe(&doc.Environment)
	o.Opener = opener
	o.Observe = func(now trial.Progress) { p.show(now.Done, f.ID+": "+now.Label) }
	defer p.clear()
	return f.Run(ctx, o, doc)
}

// finish writes the document and turns what happened into an exit code.
func (a *app) finish(ctx context.Context, doc *report.Document, out *output, err error) error {
	writeErr := out.write(a, doc)
	switch err = errors.Join(err, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case err != nil:
		return failed(err)
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
	if err := succeeded(doc); err != nil {
		return failed(err)
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

// succeeded returns an error when there is an arm without any right answer.
func succeeded(doc *report.Document) error {
	var errs []error
	for _, r := range doc.Results {
		if r.Completed == 0 && r.Stopped != load.Interrupted {
			errs = append(errs, nothing(r.Result))
		}
	}
	return errors.Join(errs...)
}

func nothing(r *load.Result) error {
	if r.Planned == 0 {
		return fmt.Errorf("no iteration began within the %v measured at %s: measure for longer", r.Duration, r.Target)
	}
	return fmt.Errorf("nothing succeeded at %s with %d VUs: %d failed, %d errored, %d dropped, %d unfinished",
		r.Target, r.Concurrency, r.Failed, r.ErroredTotal(), r.Dropped, r.Unfinished)
}
