package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/report"
	"contend/setting"
)

func newReport(a *app) *cobra.Command {
	r := &reportFlags{app: a}
	cmd := &cobra.Command{
		Use:   "report [FILE]",
		Short: "Show a stored result file again, recomputed and checked",
		Long: "Show a stored result file again: one page, as printed by the command that wrote it, or (with --full)\n" +
			"all of it. Without FILE, show the newest result that contend lab has stored. Every derived number is\n" +
			"recomputed, and differences are reported.\n\n" +
			"With --published VARIANT, FILE is an experiment (a file, or a built-in one of contend lab): show its\n" +
			"published results for that variant as a result file, which contend compare accepts like any other.",
		Example: indent + "contend report\n" +
			indent + "contend report --full run.json\n" +
			indent + "contend report --format benchfmt compare.json\n" +
			indent + "contend report --published mutex --json grpc-guard",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !cmd.Flags().Changed("published") {
				return nil
			}
			return arguments(1, "one file")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			mistakes := errors.Join(r.own.read(), r.oneForm())
			if r.Arm != "" {
				return r.published(args[0], mistakes)
			}
			return r.stored(args, mistakes)
		},
	}
	r.own = optionsOf(cmd, &r.reportOptions)
	return cmd
}

type reportFlags struct {
	*app
	own *options
	reportOptions
}

type reportOptions struct {
	Format report.Format `flag:"format" words:"*format* of the full result"`
	Arm    string        `flag:"published" words:"show the published results of this *variant*, from the experiment FILE"`
	views
}

// oneForm rejects a format together with another form.
func (r *reportFlags) oneForm() error {
	if err := r.views.oneForm(); err != nil {
		return err
	}
	if r.Format != "" && (r.Full || r.Brief || r.Markdown || r.JSON) {
		return errors.New("use either --format or one of --full, --brief, --markdown and --json, not both")
	}
	return nil
}

// show writes the document in the form that is asked for.
func (r *reportFlags) show(doc *report.Document) error {
	doc = r.shown(doc)
	if r.Format != "" {
		return errors.Join(r.writeFile(doc), r.Format.Write(doc, r.Out))
	}
	return r.views.write(r.app, doc)
}

// published shows what an experiment says was published for an arm.
func (r *reportFlags) published(file string, mistakes error) error {
	files, err := (&lab{app: r.app, typed: map[*experiment.File]string{}}).files([]string{file})
	if err := errors.Join(mistakes, err); err != nil {
		return usage(err)
	}
	doc, err := files[0].PublishedDocument(r.Arm)
	if err != nil {
		return usage(err)
	}
	if err := r.show(doc); err != nil {
		return failed(err)
	}
	return nil
}

// openDocument opens a file that holds a document.
func openDocument(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w; expected a result file, as written by -o FILE of run, sweep, compare or lab", path, setting.Cause(err))
	}
	return f, nil
}

// stored shows the document in the file that is named, or the newest that was kept.
func (r *reportFlags) stored(args []string, mistakes error) error {
	var path, again string
	var err error
	if len(args) == 1 {
		path, again = args[0], "contend report "+report.Quoted(args[0])
	} else {
		path, err = newestKept()
		again = "contend report"
	}
	var f *os.File
	if err == nil {
		f, err = openDocument(path)
	}
	if err := errors.Join(mistakes, err); err != nil {
		return usage(err)
	}
	defer f.Close()
	doc, err := report.Read(f)
	if doc == nil {
		return failed(fmt.Errorf("%s: %w", path, err))
	}
	if err != nil {
		err = fmt.Errorf("%s contradicts itself; the recomputed values are shown\n%w", path, err)
	}
	doc.Again = again
	if err := errors.Join(r.show(doc), err); err != nil {
		return failed(err)
	}
	return nil
}
