package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A view is what a document says, made once of a few kinds of element, and then written for
// terminals, as Markdown and as HTML.
type view struct{ elements []element }

type element struct {
	kind  elementKind
	depth depth
	text  string
	table table
}

// A depth is how much is shown: each shows what those before it do, too.
type depth int

const (
	onPage depth = iota // a page of a terminal
	inFull              // every figure
)

type elementKind int

const (
	answer   elementKind = iota + 1 // the first line of all: never broken
	validity                        // the second line
	aside                           // explains what is above it
	caution
	advised // what to do next
	title
	heading
	paragraph
	bullet
	tabular
)

// A table has as many cells in each row as columns. Columns of figures are
// aligned to the right, columns of words to the left.
type table struct {
	columns []string
	rows    [][]string
	bars    []bar // one behind each row; nil: none
}

// A bar is a share of the longest, which terminals draw, with a remark.
type bar struct {
	share  float64 // 0: it is not drawn
	remark string
}

// shown has the bars, or only their remarks, as the last column.
func (t table) shown(drawn bool) table {
	if len(t.bars) == 0 {
		return t
	}
	s, some := table{columns: append(slices.Clone(t.columns), "")}, false
	for i, row := range t.rows {
		cell := t.bars[i].remark
		if share := t.bars[i].share; drawn && share > 0 {
			cell = strings.TrimRight(marks(share)+"  "+cell, " ")
		}
		some = some || cell != ""
		s.rows = append(s.rows, append(slices.Clone(row), cell))
	}
	if !some {
		return t
	}
	return s
}

func (v *view) answer(format string, args ...any) { v.add(answer, onPage, format, args) }
func (v *view) aside(format string, args ...any)  { v.add(aside, onPage, format, args) }
func (v *view) title(format string, args ...any)  { v.add(title, inFull, format, args) }
func (v *view) head(format string, args ...any)   { v.add(heading, inFull, format, args) }
func (v *view) say(format string, args ...any)    { v.add(paragraph, inFull, format, args) }
func (v *view) bullet(format string, args ...any) { v.add(bullet, inFull, format, args) }

// table and rows leave out a table without rows.
func (v *view) table(t table) { v.addTable(inFull, t) }
func (v *view) rows(t table)  { v.addTable(onPage, t) }

func (v *view) add(kind elementKind, from depth, format string, args []any) {
	v.elements = append(v.elements, element{kind: kind, depth: from, text: clean(fmt.Sprintf(format, args...))})
}

func (v *view) addTable(from depth, t table) {
	if len(t.rows) == 0 {
		return
	}
	cleaned := table{columns: cleanCells(t.columns, len(t.columns)), bars: t.bars}
	for _, row := range t.rows {
		cleaned.rows = append(cleaned.rows, cleanCells(row, len(t.columns)))
	}
	v.elements = append(v.elements, element{kind: tabular, depth: from, table: cleaned})
}

func cleanCells(cells []string, n int) []string {
	cleaned := make([]string, n)
	for i := range min(n, len(cells)) {
		cleaned[i] = clean(cells[i])
	}
	return cleaned
}

// write writes the elements, with an empty line before those that are apart from the one before them.
func (v *view) write(w io.Writer, apart func(before, e element) bool, write func(*strings.Builder, element)) error {
	var b strings.Builder
	for i, e := range v.elements {
		if i > 0 && apart(v.elements[i-1], e) {
			b.WriteByte('\n')
		}
		write(&b, e)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textWidth is where paragraphs are broken on a terminal.
const textWidth = 100

// apartInText says whether a terminal has an empty line between two elements: not within the head of a page,
// nor before what explains a table.
func apartInText(before, e element) bool {
	switch e.kind {
	case validity, aside:
		return false
	case caution, bullet:
		return before.kind != e.kind
	}
	return true
}

func writeText(b *strings.Builder, e element) {
	switch e.kind {
	case answer:
		b.WriteString(e.text + "\n")
	case validity:
		wrap(b, e.text, "", gutter, textWidth)
	case aside:
		wrap(b, e.text, gutter, gutter, textWidth)
	case caution:
		wrap(b, e.text, "! ", gutter, textWidth)
	case advised:
		b.WriteString(strings.Join(nextLines(e.text, textWidth), "\n") + "\n")
	case title:
		b.WriteString(e.text + "\n" + strings.Repeat("=", width(e.text)) + "\n")
	case heading:
		b.WriteString(e.text + "\n" + strings.Repeat("-", width(e.text)) + "\n")
	case paragraph:
		wrap(b, e.text, "", "", textWidth)
	case bullet:
		wrap(b, e.text, "- ", "  ", textWidth)
	case tabular:
		e.table.writeText(b)
	}
}

// wrap breaks text between words at a width, but not between a number and its unit; a
// word that is too long has a line to itself.
func wrap(b *strings.Builder, text, first, next string, most int) {
	line, empty := first, true
	for _, word := range unbreakable(strings.Fields(text)) {
		if !empty && width(line)+1+width(word) > most {
			b.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// broken are the lines of a text that is broken between words to a width, and within
// words that are wider; those behind the first begin with indent.
func broken(text string, most int, indent string) []string {
	var lines []string
	line := ""
	for _, word := range unbreakable(strings.Fields(text)) {
		if line != "" && width(line)+1+width(word) > most {
			lines, line = append(lines, line), indent
		} else if line != "" {
			line += " "
		}
		for line += word; width(line) > most; {
			runes := []rune(line)
			n := min(len(runes)-1, most)
			lines, line = append(lines, string(runes[:n])), indent+string(runes[n:])
		}
	}
	return append(lines, line)
}

// unbreakable joins numbers and the units after them.
func unbreakable(words []string) []string {
	var list []string
	for i, word := range words {
		if i > 0 && endsInDigit(words[i-1]) && slices.Contains(units, strings.TrimRight(word, ".,;:)]")) {
			list[len(list)-1] += " " + word
		} else {
			list = append(list, word)
		}
	}
	return list
}

var units = []string{"%", "ns", "µs", "ms", "s", "B", "kB", "MB", "GB", "core", "cores"}

func endsInDigit(word string) bool {
	last := word[len(word)-1]
	return last >= '0' && last <= '9'
}

func (t table) writeText(b *strings.Builder) {
	t = t.shown(true)
	widths := make([]int, len(t.columns))
	rows := append([][]string{t.columns}, t.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	figures := t.figures()
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if figures[i] {
				line.WriteString("  " + pad + cell)
			} else {
				line.WriteString("  " + cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// figures says which columns hold figures: every cell that is not empty, a dash or
// none begins like a number.
func (t table) figures() []bool {
	columns := make([]bool, len(t.columns))
	for i := range columns {
		for _, row := range t.rows {
			cell := strings.TrimLeft(row[i], "+-−<>≈ ")
			if row[i] == "" || row[i] == "-" || row[i] == "none" {
				continue
			}
			columns[i] = cell != "" && cell[0] >= '0' && cell[0] <= '9'
			if !columns[i] {
				break
			}
		}
	}
	return columns
}
