package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/docs"
	"contend/finding"
)

func newExplain(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [TERM]",
		Short: "Explain a term of a report: a verdict, a metric, a warning, a figure",
		Long: "Explain any word or figure of a report in words, with its formula and source: verdicts, metrics,\n" +
			"codes of warnings and refusals, statistics, keys of the JSON document. Without a TERM: all of them.",
		Example: indent + "contend explain generator_saturated\n" + indent + "contend explain rounds needed",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listTerms(a.Out)
			}
			return explain(a.Out, strings.Join(args, " "))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completions(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// completions are all terms, each as one word.
func completions() []string {
	var words []string
	for _, e := range docs.Read().Entries {
		for _, term := range e.Terms {
			words = append(words, strings.ReplaceAll(term, " ", "_"))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// explain writes the explanation of one term.
func explain(w io.Writer, term string) error {
	index := docs.Read()
	term = finding.Current(term)
	found := index.Find(term)
	if len(found) == 0 {
		hint := "contend explain lists all terms"
		if near := index.Near(term); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return usage(fmt.Errorf("nothing explains %q: %s", term, hint))
	}
	var b strings.Builder
	for i, e := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeEntry(&b, e)
	}
	if more := index.SeeAlso(term); len(more) > 0 {
		b.WriteByte('\n')
		writeWrapped(&b, "See also: "+strings.Join(more, "; "), "", "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeEntry writes a section as it stands in its page, and what a row says in
// a few lines.
func writeEntry(b *strings.Builder, e docs.Entry) {
	source := "docs/" + e.Page
	if e.Section != e.Title {
		source += ", " + e.Section
	}
	if e.Kind != docs.Section {
		text := e.Title + ": " + sentences(e)
		writeWrapped(b, text+" ("+source+")", "", "  ")
		return
	}
	b.WriteString(e.Title + "\n" + strings.Repeat("-", columns(e.Title)) + "\n")
	writeBlocks(b, e.Blocks)
	b.WriteString("\n(" + source + ")\n")
}

// sentences joins what a row says.
func sentences(e docs.Entry) string {
	var list []string
	for _, block := range e.Blocks {
		list = append(list, strings.TrimRight(block.Text, ".:"))
	}
	if e.Advice != "" {
		list = append(list, "What to do: "+e.Advice)
	}
	return strings.Join(list, ". ") + "."
}

// listTerms writes all terms, by page.
func listTerms(w io.Writer) error {
	titles := map[string][]string{}
	var pages []string
	for _, e := range docs.Read().Entries {
		if titles[e.Page] == nil {
			pages = append(pages, e.Page)
		}
		if e.Kind != docs.Elsewhere && !slices.Contains(titles[e.Page], e.Title) {
			titles[e.Page] = append(titles[e.Page], e.Title)
		}
	}
	var b strings.Builder
	b.WriteString("contend explain TERM explains each of these.\n")
	for _, page := range pages {
		b.WriteString("\ndocs/" + page + "\n")
		writeWrapped(&b, strings.Join(titles[page], "; "), "  ", "  ")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
