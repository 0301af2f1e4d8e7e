// Package plain makes text that others wrote fit for a page: a terminal shows it as it is, on one line.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text fit for a terminal and for one line: what a server or a file
// put into an error text, a title or a name must not move the cursor, colour
// the screen or turn the direction of writing. Lines are joined by semicolons,
// and whatever does not print is shown as in a Go string, such as \x1b. Every
// text of a view passes through here once.
func Line(text string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return Printable(strings.Join(lines, "; "))
}

func Printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case r == '\t' || unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Clip shortens text to at most n runes.
func Clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// Width is how many columns text takes on a terminal: two for East Asian wide
// characters (Unicode Standard Annex 11) and pictographs, none for combining
// marks.
func Width(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case r >= 0xff61 && r <= 0xffdc: // halfwidth forms
			n++
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
			r >= 0x3000 && r <= 0x303e || r >= 0xff01 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
			r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}
