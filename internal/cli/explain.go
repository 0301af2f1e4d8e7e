package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/docs"
	"contend/finding"
	"contend/setting"
)

func newExplain(a *app) *cobra.Command {
	var all, full bool
	cmd := &cobra.Command{
		Use:   "explain [TERM]",
		Short: "Explain a word, metric or code in three lines",
		Long: "Explain any word, metric or code that contend prints: what it is, how to read it or what to do, and\n" +
			"where it comes from. Without TERM: the terms you meet first.",
		Example: indent + "contend explain generator_saturated\n" + indent + "contend explain 95% interval\n" + indent + "contend explain --full p",
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && all:
				return usage(fmt.Errorf("--all lists every term; do not give one"))
			case len(args) > 0:
				return explain(a.Out, strings.Join(args, " "), full)
			case full:
				return usage(fmt.Errorf("--full requires a TERM, as in contend explain --full p"))
			case all:
				return listTerms(a.Out)
			}
			return listFirst(a.Out)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completions(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list every term")
	cmd.Flags().BoolVar(&full, "full", false, "also show the section of the documentation that says more")
	return cmd
}

// completions are all terms, each as one word.
func completions() []string {
	var words []string
	for _, t := range docs.Read().Terms {
		for _, name := range slices.Concat(t.Names, t.Elsewhere) {
			words = append(words, strings.ReplaceAll(name, " ", "_"))
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// explain writes the explanation of one term; full adds the sections that its lines
// name.
func explain(w io.Writer, term string, full bool) error {
	index := docs.Read()
	term = finding.Current(term)
	found := index.Find(term)
	if len(found) == 0 {
		hint := " (contend explain --all lists all terms)"
		if near := index.Near(term); len(near) > 0 {
			hint = "; did you mean " + setting.Or(near) + "?"
		}
		return usage(fmt.Errorf("no entry for %q%s", term, hint))
	}
	var b strings.Builder
	for _, t := range found {
		for _, line := range explanation(t) {
			b.WriteString(line + "\n")
		}
	}
	if full {
		writeSections(&b, found)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// explanation is the entry of a term in lines: what it is, how to read it, and where it
// comes from.
func explanation(t docs.Term) []string {
	lines := wrapped(t.Names[0]+": "+t.What, terminalWidth-columns(indent))
	for _, text := range []string{t.Read, t.Source} {
		if text != "" {
			lines = append(lines, wrapped(text, terminalWidth-columns(indent))...)
		}
	}
	for i := range lines[1:] {
		lines[i+1] = indent + lines[i+1]
	}
	return lines
}

// writeSections writes each section once.
func writeSections(b *strings.Builder, terms []docs.Term) {
	written := map[string]bool{}
	for _, t := range terms {
		if t.Page == "" || written[t.Page+t.Section] {
			continue
		}
		written[t.Page+t.Section] = true
		b.WriteString("\n" + t.Section + "\n" + strings.Repeat("-", columns(t.Section)) + "\n")
		writeBlocks(b, docs.Text(t.Page, t.Section))
	}
}

// listFirst writes the terms that a reader meets first, by topic.
func listFirst(w io.Writer) error {
	var b strings.Builder
	b.WriteString("contend explain TERM explains a word in three lines: what it means, how to read it, where it comes from.\n\n")
	rows := byTopic(func(t docs.Term) bool { return t.First })
	for i := range rows {
		rows[i][1] = strings.ReplaceAll(rows[i][1], "; ", ", ")
	}
	writeTable(&b, rows)
	b.WriteString("\nA word with _ in it, after INVALID or !, is a code; contend explain CODE explains what to do about it.\n" +
		"contend explain --all lists every term.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// listTerms writes all terms, by topic.
func listTerms(w io.Writer) error {
	var b strings.Builder
	b.WriteString("contend explain TERM explains each of these.\n")
	for _, row := range byTopic(func(docs.Term) bool { return true }) {
		b.WriteString("\n" + row[0] + "\n")
		writeWrapped(&b, row[1], indent, indent)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// byTopic lists the first names of such terms, in rows of a topic and its terms.
func byTopic(is func(docs.Term) bool) [][]string {
	var rows [][]string
	listed := map[string]bool{}
	for _, t := range docs.Read().Terms {
		if name := strings.ToLower(t.Names[0]); is(t) && !listed[name] {
			listed[name] = true
		} else {
			continue
		}
		at := slices.IndexFunc(rows, func(row []string) bool { return row[0] == t.Topic })
		if at < 0 {
			rows = append(rows, []string{t.Topic, ""})
			at = len(rows) - 1
		}
		if rows[at][1] != "" {
			rows[at][1] += "; "
		}
		rows[at][1] += t.Names[0]
	}
	return rows
}
