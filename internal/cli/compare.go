package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/setting"
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
			"{{addr}} stands for the free address that each is given. With a URL of the loopback without it\n" +
			"both may insist on its port: on Linux each gets a loopback address of its own.\n\n" +
			"Two stored documents are compared, too, but not interleaved: unpaired over their rounds, at least 6\n" +
			"a side, and without a verdict where they were not measured alike.",
		Example: indent + "contend compare http://localhost:8081/ http://localhost:8082/\n" +
			indent + "contend compare --url http://{{addr}}/status -c 50 -- './server-a -listen {{addr}}' './server-b -listen {{addr}}'\n" +
			indent + "contend compare --url http://localhost:8080/ -- './server-a' './server-b'\n" +
			indent + "contend compare --metric throughput_per_s monday.json tuesday.json",
		Args:              arguments(2, "two targets or documents, or with --url two commands"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			mistakes := c.own.read()
			c.spec.url = c.URL
			if stored, err := areFiles(args); c.URL == "" && (stored || err != nil) {
				return a.compareStored(cmd, c, args, errors.Join(mistakes, err))
			}
			return a.compare(cmd.Context(), c, args, mistakes)
		},
	}
	c.given = settingFlags(cmd, append(setting.Of(trial.Design{}), ofPlan()...))
	c.spec.flags(cmd)
	c.own = optionsOf(cmd, &c.compareOptions, &a.pins)
	return cmd
}

type compareFlags struct {
	spec  targetFlags
	given setting.Values // of the load and the design
	own   *options
	compareOptions
}

type compareOptions struct {
	URL  string `flag:"url" words:"*URL* of the target that the commands serve, with {{addr}} or a port of the loopback"`
	Duet bool   `flag:"duet" words:"drive both commands at the same time, each on CPUs of its own and the generator on others (3 CPUs, Linux)"`
	output
}

// experiment is what the command line asks for, and every mistake in it.
func (c *compareFlags) experiment(args []string) (*experiment.Experiment, error) {
	subjects := map[string]experiment.Subject{"A": {Command: args[0]}, "B": {Command: args[1]}}
	e := experiment.OfSubjects(c.spec.target(), subjects)
	e.ID, e.Title = "compare", args[1]+" against "+args[0]
	p := &e.Parts[0]
	p.Baseline = "A"
	if c.URL == "" {
		e.Subjects = nil
		for i, name := range []string{"A", "B"} {
			p.Arms[name] = experiment.Arm{Target: protocol.At(args[i]).Over(c.spec.target())}
		}
	}
	err := errors.Join(
		setting.Fill(&p.Plan, c.given.Only(ofPlan(), setting.InFlags), setting.InFlags),
		setting.Fill(&p.Design, c.given, setting.InFlags))
	return e, setting.FlagErrors(errors.Join(err, e.Validate()))
}

func (a *app) compare(ctx context.Context, c *compareFlags, args []string, mistakes error) error {
	e, err := c.experiment(args)
	if err := errors.Join(mistakes, err, a.pins.check("--url", c.URL != "")); err != nil {
		return usage(err)
	}
	var duet [][]int
	if c.Duet {
		if duet, err = a.pins.duet(c.URL != ""); err != nil {
			return usage(err)
		}
	}
	if c.URL == "" {
		for _, url := range args {
			opened, err := open(ctx, c.spec.target().With("url", url), e.Parts[0].Plan.Timeout, nil)
			if err != nil {
				return err
			}
			closeTarget(opened)
		}
	}
	o, release, err := a.measuring()
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Seed, o.Duet = e.Parts[0].Design.Seed, duet
	doc := newDocument("compare")
	a.calibrated(doc)
	c.calibrated(&e.Parts[0].Design, doc)
	err = a.experiment(ctx, e, o, doc)
	return a.finish(ctx, doc, &c.output, err)
}

// measuring prepares this process for driving load, and holds it to its CPUs until
// it is released.
func (a *app) measuring() (o experiment.Options, release func(), err error) {
	opener, err := newOpener()
	if err != nil {
		return o, nil, err
	}
	me, err := self()
	if err != nil {
		return o, nil, err
	}
	opener.OwnCores = a.pins.ownCores()
	release, err = a.pins.apply(a.Err)
	return experiment.Options{Self: me, Opener: opener, ServerCPUs: a.pins.serverCPUs(), Probe: a.pins.probe}, release, err
}

// experiment runs an experiment with progress.
func (a *app) experiment(ctx context.Context, e *experiment.Experiment, o experiment.Options, doc *report.Document) error {
	p := newProgress(a.Err)
	a.pins.describe(&doc.Environment)
	o.Observe = func(now trial.Progress) { p.show(now.Done, e.ID+": "+now.Label) }
	defer p.clear()
	return e.Run(ctx, o, doc)
}

// finish writes the document and turns what happened, and the verdicts, into an
// exit code.
func (a *app) finish(ctx context.Context, doc *report.Document, out *output, err error) error {
	if err := a.written(ctx, doc, out, err); err != nil {
		return err
	}
	return verdictError(doc)
}

// written writes the document and turns what happened into an exit code.
func (a *app) written(ctx context.Context, doc *report.Document, out *output, err error) error {
	writeErr := out.write(a, doc)
	switch err = errors.Join(err, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case err != nil:
		return failed(err)
	}
	return nil
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
		right := r.Completed
		if r.OnlyCounted() {
			right = r.Counted.Completed
		}
		if right == 0 && r.Stopped != load.Interrupted {
			errs = append(errs, nothing(r.Result))
		}
	}
	return errors.Join(errs...)
}

func nothing(r *load.Result) error {
	if r.OnlyCounted() {
		return fmt.Errorf("nothing succeeded at %s with %d VUs while events were counted: %d of %d failed or errored",
			r.Target, r.Concurrency, r.Counted.Wrong, r.Counted.Planned)
	}
	if r.Planned == 0 {
		return fmt.Errorf("no iteration began within the %v measured at %s: measure for longer", r.Duration, r.Target)
	}
	return fmt.Errorf("nothing succeeded at %s with %d VUs: %d failed, %d errored, %d dropped, %d unfinished",
		r.Target, r.Concurrency, r.Failed, r.ErroredTotal(), r.Dropped, r.Unfinished)
}
