package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A view is made once, of a few kinds of element, and then written as text or
// as Markdown.
type element struct {
	kind  elementKind
	text  string
	table table
}

type elementKind int

const (
	title elementKind = iota + 1
	heading
	paragraph
	bullet
	tabular
)

type table struct {
	columns []string
	rows    [][]string
	// words is how many columns from the left hold words; the others hold
	// figures and are aligned to the right.
	words int
}

type view struct{ elements []element }

func (v *view) title(format string, args ...any)  { v.add(title, format, args) }
func (v *view) head(format string, args ...any)   { v.add(heading, format, args) }
func (v *view) say(format string, args ...any)    { v.add(paragraph, format, args) }
func (v *view) bullet(format string, args ...any) { v.add(bullet, format, args) }

func (v *view) add(kind elementKind, format string, args []any) {
	v.elements = append(v.elements, element{kind: kind, text: fmt.Sprintf(format, args...)})
}

func (v *view) table(t table) {
	if len(t.rows) > 0 {
		v.elements = append(v.elements, element{kind: tabular, table: t})
	}
}

// textWidth is where paragraphs are broken on a terminal.
const textWidth = 100

func (v *view) writeText(w io.Writer) error {
	var b strings.Builder
	for i, e := range v.elements {
		if i > 0 && (e.kind != bullet || v.elements[i-1].kind != bullet) {
			b.WriteByte('\n')
		}
		switch e.kind {
		case title:
			b.WriteString(e.text + "\n" + strings.Repeat("=", utf8.RuneCountInString(e.text)) + "\n")
		case heading:
			b.WriteString(e.text + "\n" + strings.Repeat("-", utf8.RuneCountInString(e.text)) + "\n")
		case paragraph:
			wrap(&b, e.text, "", "")
		case bullet:
			wrap(&b, e.text, "- ", "  ")
		case tabular:
			e.table.writeText(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func wrap(b *strings.Builder, text, first, next string) {
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
			b.WriteString(line + "\n")
			line = next + word
			continue
		}
		if line != first && line != next || i > 0 {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}

func (t table) widths() []int {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t table) writeText(b *strings.Builder) {
	widths := t.widths()
	for _, row := range append([][]string{t.columns}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.words {
				line.WriteString("  " + cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func (v *view) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, e := range v.elements {
		if i > 0 && (e.kind != bullet || v.elements[i-1].kind != bullet) {
			b.WriteByte('\n')
		}
		switch e.kind {
		case title:
			b.WriteString("# " + escape(e.text) + "\n")
		case heading:
			b.WriteString("## " + escape(e.text) + "\n")
		case paragraph:
			b.WriteString(escape(e.text) + "\n")
		case bullet:
			b.WriteString("- " + escape(e.text) + "\n")
		case tabular:
			e.table.writeMarkdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t table) writeMarkdown(b *strings.Builder) {
	markdownRow(b, t.columns)
	rule := make([]string, len(t.columns))
	for i := range rule {
		rule[i] = "---:"
		if i < t.words {
			rule[i] = "---"
		}
	}
	b.WriteString("| " + strings.Join(rule, " | ") + " |\n")
	for _, row := range t.rows {
		markdownRow(b, row)
	}
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteString(" " + escape(cell) + " |")
	}
	b.WriteByte('\n')
}

// escape keeps text from being read as Markdown.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(strings.ReplaceAll(text, "\n", " "))
}
