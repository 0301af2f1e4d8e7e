package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"contend/report"
)

func newReport(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "report FILE",
		Short:   "Show a stored document again, with every derived figure recomputed and checked",
		Example: exampleIndenting + "contend report contend-lab.json\n" + exampleIndenting + "contend report --format markdown contend-lab.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return usage(err)
			}
			defer f.Close()
			doc, err := report.Read(f)
			if doc == nil {
				return &exitError{exitFailed, fmt.Errorf("%s: %w", args[0], err)}
			}
			views := map[string]func() error{
				"text":     func() error { return doc.Text(a.Out) },
				"markdown": func() error { return doc.Markdown(a.Out) },
				"json":     func() error { return doc.Write(a.Out) },
			}
			view, ok := views[format]
			if !ok {
				return usage(fmt.Errorf("--format is %q, allowed are text, markdown and json", format))
			}
			if viewErr := view(); viewErr != nil {
				return &exitError{exitFailed, viewErr}
			}
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("%s does not agree with itself:\n%w", args[0], err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`view`: text, markdown or json")
	return cmd
}
