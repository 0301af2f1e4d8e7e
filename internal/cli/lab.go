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
)

// defaultLabFile is where the lab leaves its document.
const defaultLabFile = "contend-lab.json"

func newLab(a *app) *cobra.Command {
	l := &lab{app: a}
	cmd := &cobra.Command{
		Use:   "lab [ID or FILE ...]",
		Short: "Rerun published experiments, or your own, on real servers",
		Long: "Run experiment files: without arguments the embedded ones, which rerun published experiments,\n" +
			"print our figures beside theirs, and compare ways of sharing a counter. An argument is the id\n" +
			"of an embedded experiment or a file.",
		Example: indent + "contend lab\n" + indent + "contend lab --list\n" +
			indent + "contend lab grpc-guard --profile standard\n" + indent + "contend lab orders.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := l.files(args)
			if profiles := experiment.Profiles(); !slices.Contains(profiles, l.profile) {
				err = errors.Join(fmt.Errorf("--profile is %q, allowed are %s", l.profile, strings.Join(profiles, ", ")), err)
			}
			if err = errors.Join(err, l.pins.check("", true)); err != nil {
				return usage(err)
			}
			if l.list {
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
	f := cmd.Flags()
	f.BoolVar(&l.list, "list", false, "list the experiments and run none")
	f.StringVar(&l.profile, "profile", "quick", "`length` of the runs: quick, standard, or published (the published durations and concurrencies)")
	f.BoolVar(&l.keepGoing, "keep-going", false, "go on with the next experiment when one fails")
	complete(cmd, "profile", experiment.Profiles())
	a.pins.flags(cmd)
	f.Uint64Var(&l.seed, "seed", 1, "seed of all random choices")
	f.BoolVar(&l.out.json, "json", false, "write the document as JSON to standard output instead of the text view")
	f.StringVarP(&l.out.file, "output", "o", defaultLabFile, "write the JSON document to this `file`; empty: to none")
	return cmd
}

type lab struct {
	*app
	list, keepGoing bool
	profile         string
	seed            uint64
	out             output
}

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
	}
	return files, errors.Join(append(errs, twice(files))...)
}

// twice returns an error when two experiments have the same id: the document
// could not tell their figures apart.
func twice(files []*experiment.File) error {
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
		return nil, fmt.Errorf("lab: %q is no file and no embedded experiment (%s)", path, strings.Join(ids, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
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
	free, err := l.pins.apply(l.Err)
	if err != nil {
		return failed(err)
	}
	defer free()
	doc := newDocument("lab")
	l.calibrated(doc)
	var broken error
	for _, f := range files {
		err := l.experiment(ctx, f.Experiment(l.profile), experiment.Options{Seed: l.seed}, doc)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", f.ID, err))
		}
		if ctx.Err() != nil || err != nil && !l.keepGoing {
			break
		}
	}
	writeErr := l.out.write(l.app, doc)
	if l.out.file != "" && writeErr == nil {
		fmt.Fprintf(l.Err, "The document is in %s; contend report %s shows it again.\n", l.out.file, l.out.file)
	}
	switch broken = errors.Join(broken, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case broken == nil:
		broken = succeeded(doc)
	}
	if broken != nil {
		return failed(broken)
	}
	return unmet(doc)
}

// unmet returns an error when an expectation of an experiment failed.
func unmet(doc *report.Document) error {
	var errs []error
	for _, e := range doc.Experiments {
		for _, x := range e.Expectations {
			if !x.Held {
				errs = append(errs, fmt.Errorf("%s: expectation %q failed: %s", e.ID, x.Text, x.Detail))
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &exitError{exitUnmet, errors.Join(errs...)}
}
