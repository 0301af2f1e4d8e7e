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
			"of an embedded experiment or a file. The document is written to " + defaultLabFile + ";\n" +
			"--output names another file, or with an empty name none.",
		Example: indent + "contend lab\n" + indent + "contend lab --list\n" +
			indent + "contend lab grpc-guard --profile standard\n" + indent + "contend lab orders.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			mistakes := l.own.read()
			files, err := l.files(args)
			if err = errors.Join(mistakes, err, l.pins.check("", true)); err != nil {
				return usage(err)
			}
			if !l.own.has("output") {
				l.File = defaultLabFile
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
}

type labOptions struct {
	List      bool    `flag:"list" words:"list the experiments and run none"`
	Profile   profile `flag:"profile" default:"quick" words:"*length* of the runs: quick, standard, or published (the published durations and concurrencies)"`
	KeepGoing bool    `flag:"keep-going" words:"go on with the next experiment when one fails"`
	Seed      uint64  `flag:"seed" default:"1" words:"seed of all random choices"`
	output
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
	o, release, err := l.measuring()
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Seed = l.Seed
	doc := newDocument("lab")
	l.calibrated(doc)
	var broken error
	for _, f := range files {
		err := l.experiment(ctx, f.Experiment(string(l.Profile)), o, doc, 0)
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", f.ID, err))
		}
		if ctx.Err() != nil || err != nil && !l.KeepGoing {
			break
		}
	}
	writeErr := l.output.write(l.app, doc)
	if l.File != "" && writeErr == nil {
		fmt.Fprintf(l.Err, "The document is in %s; contend report %s shows it again.\n", l.File, l.File)
	}
	switch broken = errors.Join(broken, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case broken != nil:
		return failed(broken)
	}
	return outcome(doc)
}
