package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"contend/report"
)

func newReport(a *app) *cobra.Command {
	var r struct {
		Format report.Format `flag:"format" default:"text" words:"the *format* to show it in"`
		Arm    string        `flag:"published" words:"show what the experiment FILE says was published for this *arm*"`
	}
	var o *options
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a stored document again, recomputed and checked",
		Long: "Show a stored document again. Every derived figure is recomputed; those that differ are named.\n" +
			"The formats are " + strings.Join(report.Format("").Values(), ", ") + ".\n\n" +
			"With --published ARM, FILE is an experiment (a file, or one of those of contend lab), and shown is\n" +
			"the document of what was published for that arm, which contend compare judges like any other.",
		Example: indent + "contend report contend-lab.json\n" +
			indent + "contend report --format markdown contend-lab.json\n" +
			indent + "contend report --published mutex --format json grpc-guard",
		Args: arguments(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			mistakes := o.read()
			if r.Arm != "" {
				return a.published(args[0], r.Arm, r.Format, mistakes)
			}
			return a.report(args[0], r.Format, mistakes)
		},
	}
	o = optionsOf(cmd, &r)
	return cmd
}

// published shows what an experiment says was published for an arm.
func (a *app) published(file, arm string, format report.Format, mistakes error) error {
	files, err := (&lab{app: a}).files([]string{file})
	if err := errors.Join(mistakes, err); err != nil {
		return usage(err)
	}
	doc, err := files[0].PublishedDocument(arm)
	if err != nil {
		return usage(err)
	}
	if err := format.Write(doc, a.Out); err != nil {
		return failed(err)
	}
	return nil
}

func (a *app) report(path string, format report.Format, mistakes error) error {
	f, err := os.Open(path)
	if err := errors.Join(mistakes, err); err != nil {
		return usage(err)
	}
	defer f.Close()
	doc, err := report.Read(f)
	if doc == nil {
		return failed(fmt.Errorf("%s: %w", path, err))
	}
	if err != nil {
		err = fmt.Errorf("%s does not agree with itself; shown is what was recomputed\n%w", path, err)
	}
	if err := errors.Join(format.Write(doc, a.Out), err); err != nil {
		return failed(err)
	}
	return nil
}
