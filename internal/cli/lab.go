package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"contend/count"
	"contend/experiment"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

func newLab(a *app) *cobra.Command {
	l := &lab{app: a, typed: map[*experiment.File]string{}}
	cmd := &cobra.Command{
		Use:   "lab [ID or FILE ...]",
		Short: "Rerun published experiments, or your own, on real servers",
		Long: "Run experiment files. Without arguments, run the built-in experiments: they rerun published ones,\n" +
			"print the published and the measured results, and compare ways of sharing a counter. An argument is\n" +
			"the id of a built-in experiment, or a file. The result is stored in the user's cache folder, where\n" +
			"contend report finds it; --output names another file, and an empty name stores nothing.",
		Example: indent + "contend lab\n" + indent + "contend lab --list\n" +
			indent + "contend lab grpc-guard --profile standard\n" + indent + "contend lab orders.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			mistakes := l.own.read()
			files, err := l.files(args)
			subjects := elsewhereIn(files)
			if l.Redis != "" {
				_, wrong := (&redisFlags{}).config(cmd.Context(), l.Redis, true)
				err = errors.Join(err, wrong)
			}
			if err = errors.Join(mistakes, l.oneForm(), err, l.pins.check("", true), l.checkSubjects(&l.fleetOptions, subjects), setting.FlagErrors(l.fleetOptions.check())); err != nil {
				return usage(err)
			}
			if l.List {
				return l.writeList(files)
			}
			if err := l.gatherFor(cmd.Context(), &l.fleetOptions, subjects); err != nil {
				return err
			}
			defer func() { l.crew.close() }()
			return l.run(cmd.Context(), files)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, f := range experiment.Embedded() {
				ids = append(ids, f.ID+"\t"+f.Title)
			}
			return ids, cobra.ShellCompDirectiveDefault
		},
	}
	l.own = optionsOf(cmd, &l.labOptions, &a.pins)
	return cmd
}

type lab struct {
	*app
	own *options
	labOptions
	typed map[*experiment.File]string // files as they were typed
}

type labOptions struct {
	List      bool    `flag:"list" words:"list the experiments without running any"`
	Profile   profile `flag:"profile" default:"quick" words:"*length* of the runs: quick, standard, or published (durations and concurrencies as published)"`
	KeepGoing bool    `flag:"keep-going" words:"continue with the next experiment when one fails"`
	Why       bool    `flag:"why" words:"then sample the variants that are compared and name what makes the difference (minutes more, Linux)"`
	Count     bool    `flag:"count" words:"count the instructions per request under a simulator (valgrind) instead of timing them, in the parts that answer the question and compare servers which contend starts"`
	Seed      uint64  `flag:"seed" default:"1" words:"seed for all random choices"`
	Redis     string  `flag:"redis" words:"*URL* of the Redis for uplinks, such as a cluster's, instead of a private one"`
	remembered
	fleetOptions
}

// elsewhereIn are the subjects of workers that files ask for.
func elsewhereIn(files []*experiment.File) []string {
	var commands []string
	for _, f := range files {
		for _, s := range f.Subjects {
			commands = append(commands, s.Command)
		}
	}
	slices.Sort(commands)
	return subjectsOf(commands...)
}

type profile string

// Values are the profiles of experiments.
func (profile) Values() []string { return experiment.Profiles() }

// files resolves the arguments; every mistake is reported at once.
func (l *lab) files(args []string) ([]*experiment.File, error) {
	if len(args) == 0 {
		return experiment.Embedded(), nil
	}
	var files []*experiment.File
	var errs []error
	for _, arg := range args {
		if embedded := experiment.Embedded(arg); embedded != nil {
			files = append(files, embedded...)
			continue
		}
		f, err := l.readExperiment(arg)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files = append(files, f)
		l.typed[f] = arg
	}
	return files, errors.Join(append(errs, distinctIDs(files))...)
}

// distinctIDs returns an error when two experiments have the same id: the document
// could not tell their figures apart.
func distinctIDs(files []*experiment.File) error {
	seen := map[string]bool{}
	var errs []error
	for _, f := range files {
		if seen[f.ID] {
			errs = append(errs, fmt.Errorf("lab: the experiment %q is given twice", f.ID))
		}
		seen[f.ID] = true
	}
	return errors.Join(errs...)
}

func (a *app) readExperiment(path string) (*experiment.File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("lab: %q is neither a file nor a built-in experiment (%s); contend init writes a file", path, strings.Join(experiment.EmbeddedIDs(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("lab: %q cannot be read: %w; expected an experiment file, as written by contend init", path, setting.Cause(err))
	}
	a.secrets.Learn(string(text))
	return experiment.Parse(path, text)
}

func (l *lab) writeList(files []*experiment.File) error {
	w := tabwriter.NewWriter(l.Out, 0, 0, 2, ' ', 0)
	for _, f := range files {
		status := "ready"
		if f.Status != "" {
			status = f.Status
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.ID, status, f.Title)
	}
	return w.Flush()
}

func (l *lab) run(ctx context.Context, files []*experiment.File) error {
	list, err := l.chosen(files)
	if err != nil {
		return usage(err)
	}
	if l.Count {
		if _, err := count.Path(); err != nil {
			return l.unmeasured(ctx, newDocument("lab"), &l.views, failed(err))
		}
	}
	o, release, err := l.measuring(l.pins.Placement)
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Seed, o.Why, o.Redis = l.Seed, l.Why, l.Redis
	doc := newDocument("lab")
	l.quoteCalibration(doc)
	broken := l.experiments(ctx, list, o, doc)
	doc.Asked = l.asked()
	doc = l.shown(doc)
	place := l.keep(doc)
	if broken == nil && ctx.Err() == nil {
		broken = l.remember(ctx, &l.remembered, doc)
	}
	l.summarize(doc)
	writeErr := l.views.write(l.app, doc)
	if place != "" && writeErr == nil {
		fmt.Fprintln(l.Err, place)
	}
	said := l.page() && len(doc.Experiments) == 1 // on the page; a table of several may cut it
	if err := exitOf(ctx, doc, broken, writeErr, said); err != nil {
		return err
	}
	if exit, ok := errors.AsType[*exitError](outcome(doc)); ok && said {
		return &exitError{exit.code, nil}
	}
	return outcome(doc)
}

// chosen are the experiments as the flags ask for them.
func (l *lab) chosen(files []*experiment.File) (list []*experiment.Experiment, err error) {
	for _, f := range files {
		e := f.Experiment(string(l.Profile))
		e.File = l.typed[f]
		if l.own.has("placement") {
			e.Place(l.pins.Placement)
		}
		if l.Count && !e.Counted() {
			fmt.Fprintf(l.Err, "%s is not counted: it compares no servers that contend starts\n", e.ID)
			continue
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, errors.New("lab: --count requires an experiment that compares servers which contend starts, such as grpc-guard")
	}
	return list, nil
}

// experiments runs one after another, with one progress for all.
func (l *lab) experiments(ctx context.Context, list []*experiment.Experiment, o experiment.Options, doc *report.Document) error {
	all, begun, why := 0.0, 0.0, time.Duration(0)
	takes := func(e *experiment.Experiment) float64 {
		if o.Why {
			return e.Takes() + e.DiagnosisTakes().Seconds()
		}
		return e.Takes()
	}
	for _, e := range list {
		all, why = all+takes(e), why+e.DiagnosisTakes()
	}
	if o.Why {
		fmt.Fprintf(l.Err, "why: about %s more, in which the variants are sampled\n", setting.Duration(trial.RoundUp(why)))
	}
	p := l.progress(l.UI)
	defer p.clear()
	var broken error
	for i, e := range list {
		which := e.ID
		if len(list) > 1 {
			which = fmt.Sprintf("%d of %d, %s", i+1, len(list), e.ID)
		}
		share := takes(e)
		o.Observe = func(now trial.Progress) {
			now.Done = (begun + now.Done*share) / all
			p.follow(now, which, time.Duration((all-begun-share)*float64(time.Second)), doc)
		}
		err := e.Run(ctx, o, doc)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", e.ID, err))
		}
		if ctx.Err() != nil || err != nil && !l.KeepGoing {
			break
		}
		begun += share
	}
	if len(doc.Experiments) == 1 {
		asCompared(list[0], doc)
	}
	return broken
}

// asCompared has the page of one comparison out of a file of the user's own say what that of contend
// compare would: what is compared, and how long it should take where that was too short.
func asCompared(e *experiment.Experiment, doc *report.Document) {
	if e.File == "" || len(e.Parts) != 1 {
		return
	}
	doc.Arms = e.Alternatives()
	if needed := needs(doc); needed > 0 {
		doc.SettleBy(report.Step{Purpose: fmt.Sprintf("give compare in %s duration: %s in place of its duration or rounds, then contend lab %[1]s", report.Quoted(e.File), setting.Duration(needed))})
	}
}

// keep stores the document unless it goes to a file or, by an empty name, nowhere. It
// returns what to say of it.
func (l *lab) keep(doc *report.Document) string {
	switch {
	case l.File != "":
		doc.Again = "contend report " + report.Quoted(string(l.File))
		return fmt.Sprintf("The result is in %s; %s shows it again.", l.File, doc.Again)
	case l.own.has("output"):
		return ""
	}
	path, err := keep(doc)
	if path == "" {
		return fmt.Sprintf("The result could not be stored (%s); use -o FILE.", firstLine(err))
	}
	doc.Again = "contend report"
	text := fmt.Sprintf("The result is in %s (the last %d are kept); %s shows it again.", path, mostKept, doc.Again)
	if err != nil {
		text += " An older one could not be removed: " + firstLine(err)
	}
	return text
}
