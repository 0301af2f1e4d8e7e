package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"contend/report/plain"
)

// A view is what a document says, made once of a few kinds of element, and then written for
// terminals, as Markdown and as HTML.
type view struct{ elements []element }

type element struct {
	kind  elementKind
	depth depth
	text  string
	table table
	label string // of what is labelled
	also  string // a command to type; of a label, what its line ends with
}

// A depth is how much is shown: each includes what those before it show.
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
	lead                            // a sentence that is not about what is above it
	labelled
	quoted // a line that a server wrote
	drawn  // a line for terminals alone
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
	title   string // what the rows are, where the columns have no names
	bars    []bar  // one after each row; nil: none
	over    string // the bars
	longest int    // columns of the longest bar; 0: barColumns
}

// A bar is a share of the longest, or signs, which terminals draw, with a remark.
type bar struct {
	share  float64 // 0: it is not drawn
	remark string
	signs  string
}

// headed reports whether the columns have names.
func (t table) headed() bool { return strings.Join(t.columns, "") != "" }

// shown has the bars, or only their remarks, as the last column.
func (t table) shown(drawn bool) table {
	if len(t.bars) == 0 {
		return t
	}
	s, some := table{columns: append(slices.Clone(t.columns), either(drawn, t.over, "")), title: t.title}, false
	for i, row := range t.rows {
		b := t.bars[i]
		cell := b.remark
		if drawn && b.share > 0 {
			cell = strings.TrimRight(marksOf(b.share, cmp.Or(t.longest, barColumns))+"  "+cell, " ")
		} else if drawn && b.signs != "" {
			cell = b.signs
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
func (v *view) lead(format string, args ...any)   { v.add(lead, onPage, format, args) }
func (v *view) title(format string, args ...any)  { v.add(title, inFull, format, args) }
func (v *view) head(format string, args ...any)   { v.add(heading, inFull, format, args) }
func (v *view) say(format string, args ...any)    { v.add(paragraph, inFull, format, args) }
func (v *view) bullet(format string, args ...any) { v.add(bullet, inFull, format, args) }

// table and rows leave out a table without rows.
func (v *view) table(t table) { v.addTable(inFull, t) }
func (v *view) rows(t table)  { v.addTable(onPage, t) }

func (v *view) add(kind elementKind, from depth, format string, args []any) {
	v.elements = append(v.elements, element{kind: kind, depth: from, text: plain.Line(fmt.Sprintf(format, args...))})
}

func (v *view) addTable(from depth, t table) {
	if len(t.rows) == 0 {
		return
	}
	cleaned := table{columns: cleanCells(t.columns, len(t.columns)), title: t.title, bars: t.bars, over: t.over, longest: t.longest}
	for _, row := range t.rows {
		cleaned.rows = append(cleaned.rows, cleanCells(row, len(t.columns)))
	}
	v.elements = append(v.elements, element{kind: tabular, depth: from, table: cleaned})
}

// draw writes lines as they are.
func (v *view) draw(lines ...string) {
	for _, line := range lines {
		v.elements = append(v.elements, element{kind: drawn, text: line})
	}
}

func cleanCells(cells []string, n int) []string {
	cleaned := make([]string, n)
	for i := range min(n, len(cells)) {
		cleaned[i] = plain.Line(cells[i])
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

// apartInText reports whether a terminal has an empty line between two elements: not within the head of a page,
// nor before what explains a table.
func apartInText(before, e element) bool {
	switch e.kind {
	case validity, aside, lead, quoted, drawn:
		return false
	case labelled:
		return !strings.HasPrefix(e.label, gutter) || before.kind == tabular || before.kind == advised
	case caution, bullet:
		return before.kind != e.kind && before.kind != validity
	case tabular:
		return e.depth == inFull || e.table.title != "" || e.table.headed() && !(before.kind == tabular && before.table.headed())
	}
	return true
}

func writeText(b *strings.Builder, e element) { e.writeText(b, textWidth) }

// writeText writes the element for a terminal so many columns wide.
func (e element) writeText(b *strings.Builder, most int) {
	switch e.kind {
	case answer, drawn:
		b.WriteString(e.text + "\n")
	case validity, lead:
		wrap(b, e.text, "", gutter, most)
	case aside:
		wrap(b, e.text, gutter, gutter, most)
	case labelled:
		b.WriteString(strings.Join(e.labelled(most), "\n") + "\n")
	case quoted:
		b.WriteString(lastWord + e.text + "\n")
	case caution:
		wrap(b, e.text, "! ", gutter, most)
	case advised:
		b.WriteString(strings.Join(Step{e.text, e.also}.lines(most), "\n") + "\n")
	case title:
		b.WriteString(e.text + "\n" + strings.Repeat("=", plain.Width(e.text)) + "\n")
	case heading:
		b.WriteString(e.text + "\n" + strings.Repeat("-", plain.Width(e.text)) + "\n")
	case paragraph:
		wrap(b, e.text, "", "", most)
	case bullet:
		wrap(b, e.text, "- ", "  ", most)
	case tabular:
		e.table.writeText(b)
	}
}

// wrap breaks text between words at a width, but not between a number and its unit; a
// word that is too long has a line to itself.
func wrap(b *strings.Builder, text, first, next string, most int) {
	line, empty := first, true
	for _, word := range unbreakable(strings.Fields(text)) {
		if !empty && plain.Width(line)+1+plain.Width(word) > most {
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
// words that are wider.
func broken(text string, most int) []string {
	var lines []string
	line := ""
	for _, word := range unbreakable(strings.Fields(text)) {
		if line != "" && plain.Width(line)+1+plain.Width(word) > most {
			lines, line = append(lines, line), ""
		} else if line != "" {
			line += " "
		}
		for line += word; plain.Width(line) > most; {
			runes := []rune(line)
			n := min(len(runes)-1, most)
			lines, line = append(lines, string(runes[:n])), string(runes[n:])
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
	if !t.headed() {
		rows = t.rows
	}
	if t.title != "" {
		b.WriteString(gutter + t.title + "\n")
	}
	figures := t.figures()
	spills := func(row []string, i int) bool { // into a column without a name
		return i+1 < len(row) && row[i+1] == "" && t.columns[i+1] == "" && !figures[i]
	}
	for _, over := range []bool{false, true} {
		for _, row := range rows {
			for i, cell := range row {
				if !spills(row, i) {
					widths[i] = max(widths[i], plain.Width(cell))
				} else if over {
					widths[i+1] = max(widths[i+1], plain.Width(cell)-widths[i]-len(gutter))
				}
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		end := 0 // of the columns so far
		for i, cell := range row {
			end += len(gutter) + widths[i]
			if figures[i] {
				cell = strings.Repeat(" ", widths[i]-plain.Width(cell)) + cell
			}
			if cell != "" {
				line.WriteString(strings.Repeat(" ", end-widths[i]-plain.Width(line.String())) + cell)
			}
		}
		lines := []string{line.String()}
		if !t.headed() {
			lines = folded(lines[0], textWidth)
		}
		b.WriteString(strings.TrimRight(strings.Join(lines, "\n"), " ") + "\n")
	}
}

// figures says which columns hold figures: every cell that is not empty, a dash or
// none begins like a number.
func (t table) figures() []bool {
	columns := make([]bool, len(t.columns))
	for i := range columns {
		for _, row := range t.rows {
			cell := strings.TrimLeft(row[i], "+-−±<>≈ ")
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
