package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/bisect"
	"contend/count"
	"contend/expect"
	"contend/experiment"
	"contend/finding"
	"contend/internal/revision"
	"contend/internal/unit"
	"contend/metric"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

func newBisect(a *app) *cobra.Command {
	b := &bisectFlags{app: a}
	cmd := &cobra.Command{
		Use:   "bisect GOOD BAD [SCRIPT] -- COMMAND",
		Short: "Find the commit that made a server slower, or faster",
		Long: "Compare the revisions GOOD and BAD of the git repository here and, if they differ, find the commit\n" +
			"between them that made the difference. Each commit is built by --build and compared with GOOD. As no\n" +
			"single comparison is certain, every commit has a probability; the next comparison is the one that\n" +
			"tells most. The search ends when a commit has 95%, or with --within. That commit is then compared\n" +
			"with its parent.\n\n" +
			"Commits that cannot be built or measured are skipped. Builds are kept; the checkout stays as it is.\n" +
			"With --count, instructions are counted: then one comparison of a commit is nearly certain.\n" +
			"SCRIPT is one as of k6 (script.js), whose iterations are compared.",
		Example: indent + "contend bisect v1.2.0 HEAD --build 'go build -trimpath -o {{out}} ./cmd/app' -- '{{out}} -listen {{addr}}'\n" +
			indent + "contend bisect main~100 main --within 1h --build 'make server && cp server {{out}}' --url http://{{addr}}/ -- '{{out}} {{addr}}'",
		Args: func(cmd *cobra.Command, args []string) error {
			return arguments(3, "a good revision, a bad one and, after --, a command")(cmd, b.withoutScript(cmd, args))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = b.withoutScript(cmd, args)
			return b.run(cmd, args[0], args[1], args[2])
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	b.given = settingFlags(cmd, append(setting.Of(trial.Design{}, count.Design{}), ofPlan()...))
	b.spec.flags(cmd)
	b.own = optionsOf(cmd, &b.bisectOptions, &a.pins)
	return cmd
}

type bisectOptions struct {
	servedOptions
	Build       string        `flag:"build" words:"*command* that builds {{out}} from a commit"`
	Expect      string        `flag:"expect" words:"find since when this *claim* does not hold, such as 'p99 < 20ms'; its metric is compared, and it has to hold for GOOD and not for BAD"`
	FirstParent bool          `flag:"first-parent" words:"follow only the first parent of merges, as of a main branch that others are merged into"`
	Within      time.Duration `flag:"within" min:"0s" max:"720h" words:"*time* limit of the search; then it shows what is most likely (none)"`
	views
}

type bisectFlags struct {
	*app
	spec  targetFlags
	given setting.Values
	own   *options
	bisectOptions
	command   string
	claim     *expect.Bound // nil: any difference counts
	good, bad revision.Revision
	programs  built
	instead   report.Step // what other programs do not disturb; empty: they disturbed nothing, or it does not answer the question
}

// withoutScript takes a script that comes after the revisions.
func (b *bisectFlags) withoutScript(cmd *cobra.Command, args []string) []string {
	const at = 2
	if cmd.ArgsLenAtDash() != at+1 || !protocol.IsScript(args[at]) {
		return args
	}
	b.spec.given["script"] = setting.Value{Texts: args[at : at+1]}
	return slices.Concat(args[:at], args[at+1:])
}

// claims reads the claim, whose metric is that of the search.
func (b *bisectFlags) claims() error {
	if b.Expect == "" {
		return nil
	}
	claim, err := expect.ParseBound(b.Expect)
	switch at := setting.At(&b.bisectOptions, &b.Expect); {
	case err != nil:
		return at.Says("is ", err)
	case claim.OfPlanned || claim.Metric == metric.Errors:
		return at.Wrong("is %q; expected a metric that can be compared, such as p99 or throughput", b.Expect)
	case len(b.given["metric"].Texts) > 0 || len(b.given["count"].Texts) > 0:
		return at.Wrong("names what is compared: drop --metric, or --count")
	}
	b.claim, b.given["metric"] = &claim, setting.Value{Texts: []string{string(claim.Metric)}}
	return nil
}

// unbroken returns why no commit can have broken the claim: it does not hold for the good revision, or holds for the bad one;
// "": one can.
func (b *bisectFlags) unbroken(doc *report.Document) string {
	for _, c := range doc.Comparisons {
		switch {
		case b.claim == nil || !c.Primary || !c.Verdict.Differs():
		case !b.claim.Holds(c.BaselineValue):
			return fmt.Sprintf("%q does not hold for %v either", b.Expect, b.good)
		case b.claim.Holds(c.CandidateValue):
			return fmt.Sprintf("%q still holds for %v", b.Expect, b.bad)
		}
	}
	return ""
}

// comparing are the flags of the comparison of a revision with the good one.
func (b *bisectFlags) comparing(good, other string) *compareFlags {
	c := &compareFlags{spec: b.spec, given: b.given, own: b.own}
	c.servedOptions, c.views, c.Build, c.Revisions = b.servedOptions, b.views, b.Build, []string{good, other}
	c.spec.url = b.URL
	return c
}

func (b *bisectFlags) run(cmd *cobra.Command, good, bad, command string) error {
	ctx := cmd.Context()
	b.command = command
	mistakes := errors.Join(b.own.read(), b.oneForm(), setting.FlagErrors(b.claims()), b.app.scriptOptions(ctx, &b.spec, b.given, steadyScript))
	c := b.comparing(good, bad)
	if b.URL == "" {
		if err := errors.Join(mistakes, c.checkRevisions([]string{command})); err != nil {
			return usage(err)
		}
		if _, err := b.discoverAll(cmd, c, []string{command}); err != nil {
			return err
		}
		at := slices.Index(b.args, "--") - len(b.spec.given["script"].Texts)
		b.URL, b.args = c.URL, slices.Insert(b.args, at, good, bad)
		c = b.comparing(good, bad)
	}
	arms := c.arms([]string{command})
	e, err := c.experiment(arms)
	if err := errors.Join(mistakes, b.mistakesIn(c, []string{command}), setting.FlagErrors(err)); err != nil {
		return usage(err)
	}
	if err := b.lacks(ctx, c, arms, e.Parts[0]); err != nil {
		return err
	}
	r, err := b.repository(ctx, b.Build)
	if err != nil {
		return failed(err)
	}
	ends, err := c.resolve(ctx, r)
	if err != nil {
		return err
	}
	b.good, b.bad = ends[0], ends[1]
	commits, err := r.History(ctx, b.good, b.bad, b.FirstParent)
	if err != nil {
		return usage(err)
	}
	defer func() { b.programs.remove(b.app) }()
	o, release, err := b.measuring(b.pins.placing(true))
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Counted = new(count.Kept)
	doc := newDocument("bisect")
	err = b.search(ctx, o, doc, commits)
	if mistake := mistaken(err); mistake != nil {
		return mistake
	}
	return b.finish(ctx, doc, &b.views, err)
}

// search compares the ends and, if they differ, looks for the commit.
func (b *bisectFlags) search(ctx context.Context, o experiment.Options, doc *report.Document, commits []bisect.Commit) error {
	began := time.Now()
	fmt.Fprintf(b.Err, "bisect: %d commits from %v to %v\n", len(commits), b.good, b.bad)
	doc.Arms = []report.Arm{{Name: b.good.Name, Does: b.command, URL: b.URL}, {Name: b.bad.Name, Does: b.command, URL: b.URL}}
	found := &report.Bisection{Bisection: bisect.Bisection{Commits: commits}, Good: b.good.Commit, Bad: b.bad.Commit}
	doc.Bisection = found
	if err := b.against(ctx, o, doc, b.good.Name, b.bad.Name, 0); err != nil {
		return err
	}
	ratios, differ := decided(doc)
	if found.Unbroken = b.unbroken(doc); found.Unbroken != "" {
		return nil
	}
	if !differ {
		b.noteBusy(doc)
		doc.SettleBy(cmp.Or(b.settles(doc), b.instead))
		return nil
	}
	again, invalid := mostInvalid, map[int]int{}
	counted := len(doc.Counts) > 0 // which a repetition would not change
	if counted {
		again = 0
	}
	b.look(found, len(commits)-1, ratios)
	for !b.out(found, began) {
		rounds := found.Rounds()
		if counted {
			rounds = 0
		}
		next, ok := found.Next(rounds)
		if !ok {
			break
		}
		ratios, err := b.measure(ctx, o, short(commits[next]), rounds)
		if ctx.Err() != nil {
			found.Stopped = "interrupted"
			return ctx.Err()
		}
		switch {
		case err == nil:
			b.look(found, next, ratios)
		case errors.Is(err, errInvalid) && invalid[next] < again:
			invalid[next]++
			fmt.Fprintf(b.Err, "bisect: %.7s again: %s\n", commits[next].Hash, firstLine(err))
		default:
			found.Commits[next].Failed = firstLine(err)
			fmt.Fprintf(b.Err, "bisect: %.7s is skipped: %s\n", commits[next].Hash, found.Commits[next].Failed)
		}
	}
	if found.Commits[found.Best()].Probability < bisect.Certain {
		doc.SettleBy(b.instead)
	}
	return b.confirm(ctx, o, doc)
}

// mostInvalid comparisons of a commit by times are made again: other programs may have the machine for a while.
const mostInvalid = 2

var errInvalid = errors.New(string(stat.Invalid))

// out reports whether time is up, and notes it.
func (b *bisectFlags) out(found *report.Bisection, began time.Time) bool {
	if b.Within > 0 && time.Since(began) > b.Within {
		found.Stopped = "time"
	}
	return found.Stopped != ""
}

// look adds what a comparison showed, and says how far the search is.
func (b *bisectFlags) look(found *report.Bisection, commit int, ratios []float64) {
	look := bisect.Look{Commit: commit, LogRatios: ratios}
	found.Looks = append(found.Looks, look)
	found.Derive()
	best, likely := found.Commits[found.Best()], found.Likely()
	fmt.Fprintf(b.Err, "bisect: %d. %.7s: %s; most likely %.7s (%s), %s among %d\n", len(found.Looks), found.Commits[commit].Hash,
		unit.SignedDifference(math.Exp(look.Mean())), best.Hash, unit.Percent(best.Probability), unit.Percent(bisect.Certain), len(likely))
}

// measure compares a commit with the good revision.
func (b *bisectFlags) measure(ctx context.Context, o experiment.Options, commit string, rounds int) ([]float64, error) {
	doc := newDocument("bisect")
	if err := b.against(ctx, o, doc, b.good.Name, commit, rounds); err != nil {
		return nil, err
	}
	if err := succeeded(doc); err != nil {
		return nil, err
	}
	ratios, _ := decided(doc)
	if len(ratios) == 0 {
		b.noteBusy(doc)
		err := errInvalid
		for _, r := range doc.Refused() {
			err = fmt.Errorf("%w%s", errInvalid, strings.TrimPrefix(r.Text, string(stat.Invalid)))
		}
		return nil, err
	}
	return ratios, nil
}

// noteBusy proposes to count, once, if other programs spoilt a comparison by times.
func (b *bisectFlags) noteBusy(doc *report.Document) {
	asked := slices.ContainsFunc([]string{"metric", "rate", "think"}, func(flag string) bool { return len(b.given[flag].Texts) > 0 })
	busy := slices.ContainsFunc(doc.Refused(), func(r report.Refusal) bool { return slices.Contains(r.Codes, finding.MachineBusy.Code) })
	if asked || !busy || b.instead.Command != "" {
		return
	}
	b.instead = report.Step{Purpose: "count instructions, which other programs do not change",
		Command: b.again(slices.Concat(ofLength, ofFiles, []string{"--precision"}), "--count")}
	fmt.Fprintf(b.Err, "bisect: other programs use the CPU; counts of instructions do not depend on that:\n  %s\n", b.instead.Command)
}

// confirm compares the commit that was found with its parent, until that is decided.
func (b *bisectFlags) confirm(ctx context.Context, o experiment.Options, doc *report.Document) error {
	found := doc.Bisection
	culprit := found.Commits[found.Best()]
	if culprit.Probability < bisect.Certain || len(doc.Counts) > 0 || found.Stopped != "" {
		return nil
	}
	fmt.Fprintf(b.Err, "bisect: comparing %.7s with its parent\n", culprit.Hash)
	confirming := newDocument("bisect")
	if err := b.against(ctx, o, confirming, short(culprit)+"~1", short(culprit), 0); err != nil {
		return err
	}
	for _, c := range confirming.Comparisons {
		if c.Primary {
			found.Confirmed = &c.Comparison
		}
	}
	return nil
}

// against compares two revisions, in so many rounds; 0: until it is decided, or as often as it is counted.
func (b *bisectFlags) against(ctx context.Context, o experiment.Options, doc *report.Document, base, other string, rounds int) error {
	c := b.comparing(base, other)
	e, err := c.experiment(c.arms([]string{b.command}))
	if err != nil {
		return err
	}
	if design := &e.Parts[0].Design; rounds > 0 {
		design.Rounds, design.Duration = rounds, 0
		design.Metrics = design.Metrics[:1]
	}
	o.Seed = e.Parts[0].Design.Seed
	programs, err := b.build(ctx, c, e, doc)
	b.programs = append(b.programs, programs...)
	if err != nil {
		return err
	}
	return b.experiment(ctx, e, o, doc, 0, b.progress(false))
}

// short is a hash that can be read, and is still only one commit's.
func short(c bisect.Commit) string { return c.Hash[:12] }

// decided returns ln(candidate ÷ baseline) of each round of a comparison, and whether the two differ. Of counts
// the ends of the interval take the place of rounds.
func decided(doc *report.Document) (ratios []float64, differ bool) {
	for _, c := range doc.Comparisons {
		if c.Primary && c.Verdict != stat.Invalid {
			return c.RoundLogRatios, c.Verdict.Differs()
		}
	}
	for _, of := range doc.Counts {
		for _, c := range of.Comparisons {
			if d := c.Decisive(); c.Verdict != stat.Invalid && d.Level > 0 {
				return []float64{math.Log1p(d.Low / d.Baseline), math.Log1p(d.High / d.Baseline)}, c.Verdict.Differs()
			}
		}
	}
	return nil, false
}

// bisected is the exit code of a bisection.
func bisected(b *report.Bisection) error {
	if b.Found() {
		return nil
	}
	return &exitError{exitUndecided, errors.New("no commit is certain")}
}
