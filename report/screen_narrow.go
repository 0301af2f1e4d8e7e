package report

import (
	"math"
	"slices"
	"strings"

	"contend/report/plain"
)

// width is how wide a page is.
func (l Look) width() int {
	if l.Width <= 0 || l.Width > textWidth {
		return textWidth
	}
	return max(narrowest, l.Width)
}

// narrowest is the least width that pages are made for: less has no room for how a command line begins.
const narrowest = 30

// narrowed fits the lines of a page to a terminal: bars are shortened by the same share or left
// out, so is the axis of a comparison, and what is still too wide is folded between words. A
// command line to be pasted stays as it is.
func narrowed(lines []string, most int) []string {
	if most >= textWidth {
		return lines
	}
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = strings.TrimRight(plain.Printable(line), " ")
	}
	shortenBars(lines, most)
	var fitting []string
	command := false
	for _, line := range lines {
		continued := command
		command = strings.HasSuffix(line, ` \`)
		switch {
		case plain.Width(line) <= most || command || continued:
			fitting = append(fitting, line)
		case strings.ContainsAny(line, axisSigns) && !strings.HasPrefix(line, lastWord):
			fitting = append(fitting, withoutAxis(line, most)...)
		default:
			fitting = append(fitting, folded(line, most)...)
		}
	}
	return fitting
}

// leastBar is the shortest that the longest bar of a page may become.
const leastBar = 8

// shortenBars gives all bars the same share of their lengths, so that the longest fit, or none.
func shortenBars(lines []string, most int) {
	longest, room := 0, math.MaxInt
	for _, line := range lines {
		if bar := strings.Count(line, "█"); bar > 0 {
			longest, room = max(longest, bar), min(room, most-plain.Width(line)+bar)
		}
	}
	if room >= longest {
		return
	}
	for i, line := range lines {
		bar := strings.Count(line, "█")
		if bar == 0 {
			continue
		}
		short := ""
		if room >= leastBar {
			short = marksOf(float64(bar)/float64(longest), room)
		}
		lines[i] = strings.TrimRight(strings.Replace(line, strings.Repeat("█", bar), short, 1), " ")
	}
}

// axisSigns occur in an axis only.
const axisSigns = "─├┤"

// withoutAxis leaves the axis out of a row, and all of a line that is nothing else.
func withoutAxis(line string, most int) []string {
	begin := strings.IndexAny(line, axisSigns+"●")
	row := strings.TrimRight(line[:begin], " ")
	if slices.Contains([]string{"slower", "shorter", "fewer", "less"}, strings.TrimSpace(row)) {
		return nil
	}
	return folded(row, most)
}

// folded breaks a line at the last space that fits and keeps all others, as of a table; a word that
// is too wide stays whole.
func folded(line string, most int) []string {
	const indent = "    "
	var lines []string
	for rest := line; ; {
		cut := lastSpace(rest, most)
		if cut < 0 {
			return append(lines, rest)
		}
		lines = append(lines, strings.TrimRight(rest[:cut], " "))
		rest = indent + strings.TrimLeft(rest[cut:], " ")
	}
}

// lastSpace is where a line that is too wide is broken: at the last space within the width that is
// not between quotes, else the first beyond it; -1: nowhere, or it need not be.
func lastSpace(line string, most int) int {
	if plain.Width(line) <= most {
		return -1
	}
	at, begin := -1, len(line)-len(strings.TrimLeft(line, " "))
	quoted := false
	for i, r := range line {
		if r == '\'' && (quoted || i > 0 && strings.ContainsRune(" (=", rune(line[i-1]))) {
			quoted = !quoted // an apostrophe follows a letter
		}
		if i < begin || r != ' ' || quoted {
			continue
		}
		if at >= 0 && plain.Width(line[:i]) > most {
			break
		}
		at = i
	}
	return at
}
