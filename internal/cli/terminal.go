package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"contend/docs"
)

// terminalWidth is where text is broken.
const terminalWidth = 100

// columns is the width of a text, where each character takes one column.
func columns(text string) int { return utf8.RuneCountInString(text) }

// writeBlocks writes blocks of documentation with an empty line between them,
// except between the items of a list.
func writeBlocks(b *strings.Builder, blocks []docs.Block) {
	for i, block := range blocks {
		if i > 0 && (block.Kind != docs.Item || blocks[i-1].Kind != docs.Item) {
			b.WriteByte('\n')
		}
		switch block.Kind {
		case docs.Code:
			b.WriteString("    " + strings.ReplaceAll(block.Text, "\n", "\n    ") + "\n")
		case docs.Table:
			writeTable(b, block.Rows)
		case docs.Item:
			writeWrapped(b, block.Text, "- ", "  ")
		default:
			writeWrapped(b, block.Text, "", "")
		}
	}
}

// writeWrapped breaks a text between words.
func writeWrapped(b *strings.Builder, text, first, next string) {
	for i, line := range wrapped(text, terminalWidth-columns(next)) {
		if i == 0 {
			b.WriteString(first + line + "\n")
		} else {
			b.WriteString(next + line + "\n")
		}
	}
}

// wrapped returns the lines of a text. A word that is too long is broken after commas, or has
// a line to itself.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
		for columns(line) > width {
			at := strings.LastIndexByte(string([]rune(line)[:width]), ',') + 1
			if at == 0 {
				break
			}
			lines, line = append(lines, line[:at]), line[at:]
		}
	}
	return append(lines, line)
}

// gap separates the columns of a table.
const gap = "  "

// writeTable writes a table whose widest column is broken where it would not fit.
func writeTable(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	for excess := tableWidth(widths) - terminalWidth; excess > 0; excess = tableWidth(widths) - terminalWidth {
		widest := slices.Index(widths, slices.Max(widths))
		narrower := max(widths[widest]-excess, widths[widest]/2, leastColumn)
		if narrower == widths[widest] {
			break
		}
		widths[widest] = narrower
	}
	for _, row := range rows {
		writeRow(b, row, widths)
	}
}

// leastColumn is how narrow a column may become.
const leastColumn = 10

func tableWidth(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += len(gap) + w
	}
	return sum
}

// writeRow writes one row on as many lines as its longest cell has.
func writeRow(b *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 0
	for i, cell := range row {
		cells[i] = wrapped(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var line strings.Builder
		for i, cell := range cells {
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			line.WriteString(gap + text + strings.Repeat(" ", max(0, widths[i]-columns(text))))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
