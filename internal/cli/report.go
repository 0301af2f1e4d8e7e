package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"contend/report"
)

func newReport(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a stored document again, recomputed and checked",
		Long:  "Show a stored document again. Every derived figure is recomputed; those that differ are named.",
		Example: indent + "contend report contend-lab.json\n" +
			indent + "contend report --format markdown contend-lab.json",
		Args: arguments(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.report(args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`view`: text, markdown or json")
	complete(cmd, "format", []string{"text", "markdown", "json"})
	return cmd
}

func (a *app) report(path, format string) error {
	views := map[string]func(*report.Document, io.Writer) error{
		"text": (*report.Document).Text, "markdown": (*report.Document).Markdown, "json": (*report.Document).Write,
	}
	view, ok := views[format]
	var errs []error
	if !ok {
		errs = append(errs, fmt.Errorf("--format is %q, allowed are text, markdown and json", format))
	}
	f, err := os.Open(path)
	if err := errors.Join(append(errs, err)...); err != nil {
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
