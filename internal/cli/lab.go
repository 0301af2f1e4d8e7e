package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

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
		Long: "Run experiment files: without arguments the embedded ones, which rerun published experiments,\n" +
			"set our answers beside theirs, and compare ways of sharing a counter. An argument is the id of\n" +
			"an embedded experiment or a file. The document is kept in a folder of the user's cache, where\n" +
			"contend report finds it; --output names a file instead, or with an empty name none.",
		Example: indent + "contend lab\n" + indent + "contend lab --list\n" +
			indent + "contend lab grpc-guard --profile standard\n" + indent + "contend lab orders.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			mistakes := l.own.read()
			files, err := l.files(args)
			if err = errors.Join(mistakes, l.oneForm(), err, l.pins.check("", true)); err != nil {
				return usage(err)
			}
			if l.List {
				return l.writeList(files)
			}
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
	List      bool    `flag:"list" words:"list the experiments and run none"`
	Profile   profile `flag:"profile" default:"quick" words:"*length* of the runs: quick, standard, or published (the published durations and concurrencies)"`
	KeepGoing bool    `flag:"keep-going" words:"go on with the next experiment when one fails"`
	Seed      uint64  `flag:"seed" default:"1" words:"seed of all random choices"`
	views
}

type profile string

// Values are the profiles of experiments.
func (profile) Values() []string { return experiment.Profiles() }

// files resolves the arguments; every mistake is reported at once.
func (l *lab) files(args []string) ([]*experiment.File, error) {
	embedded := experiment.Embedded()
	if len(args) == 0 {
		return embedded, nil
	}
	var files []*experiment.File
	var errs []error
	for _, arg := range args {
		i := slices.IndexFunc(embedded, func(f *experiment.File) bool { return f.ID == arg })
		if i >= 0 {
			files = append(files, embedded[i])
			continue
		}
		f, err := readExperiment(arg, embedded)
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

func readExperiment(path string, embedded []*experiment.File) (*experiment.File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		var ids []string
		for _, f := range embedded {
			ids = append(ids, f.ID)
		}
		return nil, fmt.Errorf("lab: %q is no file and no embedded experiment (%s); contend init writes a file", path, strings.Join(ids, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("lab: %q cannot be read: %w; allowed: an experiment file, as contend init writes one", path, setting.Cause(err))
	}
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
	o, release, err := l.measuring()
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Seed = l.Seed
	doc := newDocument("lab")
	l.calibrated(doc)
	broken := l.experiments(ctx, files, o, doc)
	place := l.keep(doc)
	writeErr := l.views.write(l.app, doc)
	if place != "" && writeErr == nil {
		fmt.Fprintln(l.Err, place)
	}
	switch broken = errors.Join(broken, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case broken != nil:
		return failed(broken)
	}
	return outcome(doc)
}

// experiments runs one after another, with one progress for all.
func (l *lab) experiments(ctx context.Context, files []*experiment.File, o experiment.Options, doc *report.Document) error {
	var list []*experiment.Experiment
	all, begun := 0.0, 0.0
	for _, f := range files {
		e := f.Experiment(string(l.Profile))
		e.File = l.typed[f]
		list, all = append(list, e), all+e.Takes()
	}
	p := newProgress(l.Err)
	defer p.clear()
	l.pins.describe(&doc.Environment)
	var broken error
	for i, e := range list {
		which := e.ID
		if len(list) > 1 {
			which = fmt.Sprintf("%d of %d, %s", i+1, len(list), e.ID)
		}
		o.Observe = func(now trial.Progress) {
			p.show((begun+now.Done*e.Takes())/all, which+": "+now.Label)
		}
		err := e.Run(ctx, o, doc)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", e.ID, err))
		}
		if ctx.Err() != nil || err != nil && !l.KeepGoing {
			break
		}
		begun += e.Takes()
	}
	return broken
}

// keep stores the document unless it goes to a file or, by an empty name, nowhere. It
// returns what to say of it.
func (l *lab) keep(doc *report.Document) string {
	switch {
	case l.File != "":
		doc.Again = "contend report " + quoted(string(l.File))
		return fmt.Sprintf("The document is in %s; %s shows it again.", l.File, doc.Again)
	case l.own.has("output"):
		return ""
	}
	path, err := keep(doc)
	if path == "" {
		return fmt.Sprintf("The document could not be kept (%s); -o FILE keeps it elsewhere.", firstLine(err))
	}
	doc.Again = "contend report"
	text := fmt.Sprintf("The document is in %s (the last %d are kept); %s shows it again.", path, mostKept, doc.Again)
	if err != nil {
		text += " An older one could not be removed: " + firstLine(err)
	}
	return text
}
