package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/count"
	"contend/experiment"
	"contend/internal/placement"
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
		Use:   "compare A B...",
		Short: "Compare servers, or two result files, with a verdict",
		Long: "Compare the baseline A with one or more candidates (B, C, …). Servers are restarted in every round\n" +
			"and driven in turns, in short interleaved blocks. The answer is the difference, its confidence\n" +
			"interval and a verdict; an invalid measurement gets a reason instead.\n\n" +
			"A and B are URLs, or programs and commands that contend starts and stops in every round. Without\n" +
			"--url contend starts each once more, finds out where it listens, whether it speaks HTTP, HTTPS,\n" +
			"HTTP/2 or gRPC, and what it answers; the page has the command line that says all of this in full.\n\n" +
			"With --url, {{addr}} becomes a free address for each. The port is also in the variable PORT; a\n" +
			"command without {{addr}} that listens elsewhere is found there. Servers with a hard-coded\n" +
			"port work unchanged: give a loopback URL with that port. On Linux each server then gets its own\n" +
			"loopback address; on other systems one runs at a time. To run a container, use\n" +
			"'docker run --rm -p {{port}}:80 image', in the foreground. After -- every argument is a command.\n\n" +
			"With --revisions, --build builds the program from revisions of the git repository here. {{out}} is\n" +
			"the path of the program, there and in the commands: one for all revisions, one for each, or none,\n" +
			"which starts {{out}}. With --history instead of --revisions, its anchor is compared with HEAD.\n\n" +
			"Two result files are compared unpaired; they need 6 rounds each, and the same load and machine.",
		Example: indent + "contend compare ./old ./new\n" +
			indent + "contend compare 'node old.js' 'node new.js'\n" +
			indent + "contend compare http://localhost:8081/ http://localhost:8082/\n" +
			indent + "contend compare --url http://{{addr}}/status -c 50 -- './server-a -listen {{addr}}' './server-b -listen {{addr}}'\n" +
			indent + "contend compare --url http://localhost:8080/ -- './server-a' './server-b'\n" +
			indent + "contend compare --revisions main,HEAD --build 'go build -trimpath -o {{out}} ./cmd/app' --url http://{{addr}}/ -- '{{out}} -listen {{addr}}'\n" +
			indent + "contend compare --metric throughput_per_s monday.json tuesday.json",
		Args:              c.arguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			mistakes := errors.Join(c.own.read(), c.oneForm(), c.anchored())
			args = c.orProgram(c.withoutScript(cmd, args))
			if discovers, err := c.discovers(cmd, args); err != nil || discovers && mistakes != nil {
				return usage(errors.Join(mistakes, err))
			} else if discovers {
				if args, err = a.discoverAll(cmd, c, args); err != nil {
					return err
				}
			}
			c.spec.url = c.URL
			mistakes = errors.Join(mistakes, c.checkPort(c.own))
			if err := a.scriptOptions(cmd.Context(), &c.spec, c.given, steadyScript); err != nil {
				return usage(errors.Join(mistakes, setting.FlagErrors(err)))
			}
			if err := cmp.Or(c.lacking(), c.needsURL(args)); err != nil {
				return usage(errors.Join(mistakes, err))
			}
			if stored, err := areFiles(args); c.URL == "" && c.Revisions == nil && (stored || err != nil) {
				return a.compareStored(cmd, c, args, errors.Join(mistakes, err))
			}
			return a.compare(cmd.Context(), c, args, mistakes)
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	c.given = settingFlags(cmd, append(setting.Of(trial.Design{}, count.Design{}), ofPlan()...))
	c.spec.flags(cmd)
	c.own = optionsOf(cmd, &c.compareOptions, &a.pins)
	return cmd
}

type compareFlags struct {
	spec  targetFlags
	given setting.Values // of the load and the design
	own   *options
	owned *regexp.Regexp // what --own matches
	compareOptions
}

type compareOptions struct {
	servedOptions
	portChoice
	revisionOptions
	Duet  bool   `flag:"duet" words:"drive both commands at the same time, each on its own CPUs and the load generator on others (3 CPUs, Linux)"`
	Why   bool   `flag:"why" words:"then sample both servers and name what makes the difference (45 s to 4 min more for two)"`
	Pprof string `flag:"pprof" words:"with --why: *URL* of net/http/pprof in Go servers, with {{addr}} or {{addr.NAME}} (default: http://{{addr}}/debug/pprof/)"`
	Own   string `flag:"own" words:"with --why: *regexp* of the names or files of functions that are your own (default: all but those of libraries)"`
	stackFiles
	remembered
	outlets
	fleetOptions
}

// servedOptions are the URL that the commands serve, and their environment.
type servedOptions struct {
	URL string `flag:"url" words:"*URL* that the commands serve, with {{addr}} or a loopback port"`
	surroundings
}

// mostArms is one for each letter.
const mostArms = 26

// arguments checks the number of variants and rejects any that looks like a flag. With revisions a single command is
// enough.
func (c *compareFlags) arguments(cmd *cobra.Command, args []string) error {
	args = c.withoutScript(cmd, args)
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		return fmt.Errorf("compare: %s looks like a flag; put it before --", args[i])
	}
	revisions := cmd.Flags().Changed("revisions") || cmd.Flags().Changed("history") && cmd.Flags().Changed("build")
	if revisions && len(args) <= 1 {
		return nil
	}
	if len(args) > mostArms {
		return fmt.Errorf("compare: got %d variants; expected 2 to %d", len(args), mostArms)
	}
	return arguments(max(2, len(args)), "two or more URLs, programs or commands, or two result files")(cmd, args)
}

// An arm of the command line.
type arm struct{ name, does string } // its command, or its URL

// arms are named by letters, or after their revisions.
func (c *compareFlags) arms(args []string) []arm {
	if c.Revisions != nil {
		return c.revisionArms(args)
	}
	var arms []arm
	for i, does := range args {
		arms = append(arms, arm{string(rune('A' + i)), does})
	}
	return arms
}

// experiment is what the command line asks for, and every mistake in it.
func (c *compareFlags) experiment(arms []arm) (*experiment.Experiment, error) {
	subjects := map[string]experiment.Subject{}
	var names, does []string
	for _, a := range arms {
		subjects[a.name] = experiment.Subject{Command: a.does, Program: c.program()}
		names, does = append(names, a.name), append(does, a.does)
	}
	mistakes := c.add(arms, subjects)
	e := experiment.OfSubjects(c.spec.target(), subjects)
	e.ID, e.Title = "compare", against(does)
	p := &e.Parts[0]
	p.Baseline, p.Order = names[0], names
	if c.URL == "" && c.Revisions == nil {
		if c.Env != nil || c.Dir != nil || c.StopTimeout != 0 {
			mistakes = errors.Join(mistakes, errors.New("--env, --dir and --stop-timeout apply to commands, which require --url"))
		}
		e.Subjects = nil
		for _, a := range arms {
			p.Arms[a.name] = experiment.Arm{Target: protocol.At(a.does).Over(c.spec.target())}
		}
	}
	err := errors.Join(mistakes,
		setting.Fill(&p.Plan, c.given.Only(ofPlan(), setting.InFlags), setting.InFlags),
		setting.Fill(&p.Design, c.given, setting.InFlags),
		setting.Fill(&p.Count, c.given, setting.InFlags))
	_, given := c.given["concurrency"]
	p.CallersOf(given)
	if p.Plan.Pacer != nil && !given {
		p.Design.Levels = []int{load.AmpleVUs(p.Plan.Pacer.Peak())}
	}
	return e, errors.Join(err, e.Validate())
}

// subjects are those that workers start.
func (c *compareFlags) subjects(args []string) []string {
	if c.URL == "" {
		return nil
	}
	return subjectsOf(args...)
}

// against names the candidates and the baseline, which comes first.
func against(names []string) string {
	return strings.Join(names[1:], ", ") + " against " + names[0]
}

// mistakesIn returns what is wrong with the flags, other than mistakes of the experiment that they make.
func (a *app) mistakesIn(c *compareFlags, args []string) error {
	subjects := c.subjects(args)
	if c.Duet && subjects != nil {
		return errors.New("--duet requires servers on this machine, but workers start " + strings.Join(subjects, " and "))
	}
	if c.counts() && c.Duet {
		return errors.New("use either --count, which shows no time, or --duet")
	}
	return errors.Join(c.checkRevisions(args), a.checkSubjects(&c.fleetOptions, subjects), c.need(c.Why), c.checkPprof(), c.checkOwn(), c.outlets.check(), a.pins.check("--url", c.URL != ""),
		setting.FlagErrors(c.fleetOptions.check()))
}

func (a *app) compare(ctx context.Context, c *compareFlags, args []string, mistakes error) error {
	arms := c.arms(args)
	e, err := c.experiment(arms)
	if err = errors.Join(mistakes, a.mistakesIn(c, args), setting.FlagErrors(a.withLongEnough(err))); err != nil {
		return usage(err)
	}
	var duet [][]int
	if c.Duet {
		if duet, err = a.pins.duet(c.URL != "" && len(arms) == 2); err != nil {
			return usage(err)
		}
	}
	if err := a.gatherFor(ctx, &c.fleetOptions, c.subjects(args)); err != nil {
		return err
	}
	defer a.crew.close()
	doc := documentOf(arms, c.URL, c.Env)
	if err := a.lacks(ctx, c, arms, e.Parts[0]); err != nil {
		return a.unmeasured(ctx, doc, &c.views, err)
	}
	programs, err := a.build(ctx, c, e, doc)
	defer programs.remove(a)
	if err != nil {
		return err
	}
	o, release, err := a.measuring(a.pins.placing(c.URL != "" || c.Revisions != nil))
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Seed, o.Duet, o.Why, o.Pprof, o.Own = e.Parts[0].Design.Seed, duet, c.Why, c.Pprof, c.owned
	outline, most := c.outline(a, &e.Parts[0], doc)
	fmt.Fprintf(a.Err, "compare: %s\n", outline)
	if c.Why {
		takes := trial.DiagnosisTakes(len(arms), e.Parts[0].Design)
		fmt.Fprintf(a.Err, "why: sampling both for about %s more, and longer if that names no function\n", setting.Duration(trial.RoundUp(takes)))
		most = 0 // nobody knows how long that is
	}
	p := a.progress(c.UI)
	told, err := a.tell(&c.outlets, "compare", e.Title, p)
	if err != nil {
		return failed(err)
	}
	defer told.endWith(doc)
	err = a.experiment(ctx, e, o, doc, most, p)
	if mistake := mistaken(err); mistake != nil {
		return mistake
	}
	err = errors.Join(err, c.stackFiles.write(a, doc))
	doc.SettleBy(a.settles(doc))
	doc.Then(a.afterwards(c))
	return a.finish(ctx, doc, &c.remembered, err)
}

// documentOf is that of a comparison, to be filled. Variables of one command tell it apart from others that are the same.
func documentOf(arms []arm, url string, env []string) *report.Document {
	doc := newDocument("compare")
	for _, one := range arms {
		_, own := split(arms, one, env)
		does := one.does
		for _, entry := range slices.Backward(own) {
			does = report.Quoted(entry) + " " + does
		}
		doc.Arms = append(doc.Arms, report.Arm{Name: one.name, Does: does, URL: url})
	}
	return doc
}

// reachAll checks whether all servers that are compared respond. Its error names all that do not,
// or the first mistake of usage.
func (a *app) reachAll(ctx context.Context, c *compareFlags, arms []arm, timeout time.Duration) error {
	var away []error
	for _, one := range arms {
		opened, err := a.open(ctx, c.spec.target().With("url", one.does), timeout, nil)
		protocol.Close(opened)
		if exit, ok := errors.AsType[*exitError](err); ok && exit.code == exitFailed {
			away = append(away, about(one.name, exit.err))
		} else if err != nil {
			return err
		}
	}
	if len(away) > 0 {
		return failed(errors.Join(away...))
	}
	return nil
}

// measuring prepares this process for driving load, and holds it to the CPUs of a kind of
// placement until it is released.
func (a *app) measuring(kind placement.Kind) (o experiment.Options, release func(), err error) {
	opener, err := a.newOpener()
	if err != nil {
		return o, nil, err
	}
	me, err := self()
	if err != nil {
		return o, nil, err
	}
	opener.Remote = a.crew.remote()
	if opener.Remote != nil { // this process drives nothing
		a.pins.process = placement.Far()
	}
	err = a.pins.place(kind, a.Err)
	opener.OwnCores = a.pins.process.OwnCores()
	return experiment.Options{Self: me, Opener: opener, Placement: &a.pins.process, Elsewhere: a.crew.elsewhere(&a.pins.process)}, a.pins.process.Release, err
}

// afterwards goes on after a comparison: whether it is so at other levels of concurrency, for which --duration may
// be too short, or every figure.
func (a *app) afterwards(c *compareFlags) report.Step {
	_, chosen := c.given["concurrency"]
	_, paced := c.given["rate"]
	switch {
	case !chosen && !paced && !c.counts():
		return report.Step{Purpose: "see whether it holds at other concurrencies", Command: a.again(slices.Concat(ofLength, ofFiles), "-c", "1,10,100")}
	case c.File != "":
		return report.Step{Purpose: report.EveryNumber, Command: a.typed([]string{"report", "--full", string(c.File)})}
	}
	return report.Step{Purpose: report.EveryNumber, Command: a.again(nil, "--full")}
}

// settles says by which command line a comparison that was not decided would be.
func (a *app) settles(doc *report.Document) report.Step {
	if needed := needs(doc); needed > 0 {
		return a.longer(needed)
	}
	return a.wider(doc)
}

// needs is how long a comparison that was not decided should take, in minutes; 0: it is decided, or
// not for want of time.
func needs(doc *report.Document) time.Duration {
	var needed time.Duration
	for _, c := range doc.Comparisons {
		if c.Primary && c.Verdict == stat.Inconclusive && !c.OutOfReach() {
			needed = max(needed, c.TimeNeeded)
		}
	}
	if needed == 0 || len(doc.Trials) != 1 || succeeded(doc) != nil {
		return 0
	}
	if up := doc.Trials[0].TimeUp; up != nil {
		return up.Needs
	}
	needed += doc.Trials[0].Elapsed
	for _, o := range doc.Trials[0].ChangedOver {
		needed += o.Trials.Elapsed
	}
	return inMinutes(needed)
}

// inMinutes is a time with a tenth to spare, in whole minutes.
func inMinutes(d time.Duration) time.Duration {
	return (d * 11 / 10).Truncate(time.Minute) + time.Minute
}

// experiment runs an experiment and shows progress; most is the longest it may take, for the display (0: unknown).
func (a *app) experiment(ctx context.Context, e *experiment.Experiment, o experiment.Options, doc *report.Document, most time.Duration, p *progress) error {
	p.most = most
	o.Observe = func(now trial.Progress) { p.follow(now, e.ID, 0, doc) }
	defer p.clear()
	err := e.Run(ctx, o, doc)
	doc.Environment.CPUs = report.PlacedOn(a.pins.process.Layout)
	return err
}
