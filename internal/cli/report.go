package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"contend/report"
)

func newReport(a *app) *cobra.Command {
	var format, arm string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a stored document again, recomputed and checked",
		Long: "Show a stored document again. Every derived figure is recomputed; those that differ are named.\n\n" +
			"With --published ARM, FILE is an experiment (a file, or one of those of contend lab), and shown is\n" +
			"the document of what was published for that arm, which contend compare judges like any other.",
		Example: indent + "contend report contend-lab.json\n" +
			indent + "contend report --format markdown contend-lab.json\n" +
			indent + "contend report --published mutex --format json grpc-guard",
		Args: arguments(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if arm != "" {
				return a.published(args[0], arm, format)
			}
			return a.report(args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`view`: "+strings.Join(formats(), ", "))
	complete(cmd, "format", formats())
	cmd.Flags().StringVar(&arm, "published", "", "show what the experiment FILE says was published for this `arm`")
	return cmd
}

// formats are the views of a document by name.
func formats() []string { return []string{"text", "markdown", "json", "benchfmt"} }

func viewOf(format string) (func(*report.Document, io.Writer) error, error) {
	switch format {
	case "text":
		return (*report.Document).Text, nil
	case "markdown":
		return (*report.Document).Markdown, nil
	case "json":
		return (*report.Document).Write, nil
	case "benchfmt":
		return (*report.Document).Benchmarks, nil
	}
	return nil, fmt.Errorf("--format is %q, allowed are %s", format, strings.Join(formats(), ", "))
}

// published shows what an experiment says was published for an arm.
func (a *app) published(file, arm, format string) error {
	view, wrong := viewOf(format)
	files, err := (&lab{app: a}).files([]string{file})
	if err := errors.Join(wrong, err); err != nil {
		return usage(err)
	}
	doc, err := files[0].PublishedDocument(arm)
	if err != nil {
		return usage(err)
	}
	if err := view(doc, a.Out); err != nil {
		return failed(err)
	}
	return nil
}

func (a *app) report(path, format string) error {
	view, wrong := viewOf(format)
	f, err := os.Open(path)
	if err := errors.Join(wrong, err); err != nil {
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
	if err := errors.Join(view(doc, a.Out), err); err != nil {
		return failed(err)
	}
	return nil
}
