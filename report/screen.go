package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"contend/finding"
)

// A Look is how a terminal shows a screen. The zero value is UTF-8 without colour.
type Look struct {
	ASCII  bool // for a locale that is not UTF-8
	Colour bool // the first line has the colour of its verdict, which it says in words, too
}

// A screen is the answer that a document gives, on one page of a terminal.
type screen struct {
	first  string // the question's answer, with direction, size and interval
	trust  string // whether to believe it
	mood   mood
	body   []string
	care   *findings
	next   string // what to do next
	hidden int    // notes that only the whole view has
	most   int    // lines
}

// A mood decides the colour of the first line.
type mood int

const (
	plainly mood = iota
	good
	bad
	doubted
)

var colours = map[mood]string{good: "\x1b[32m", bad: "\x1b[31m", doubted: "\x1b[33m"}

// mostWarnings are shown on a screen; the rest is counted.
const mostWarnings = 3

// Screen writes what the document answers to what was asked, on one page of a terminal;
// of what has no such page, all of it.
func (d *Document) Screen(w io.Writer, look Look) error {
	if d.isLab() {
		lines, m := d.labPage()
		return look.write(w, lines, m)
	}
	s := d.screen()
	if s == nil {
		return d.Text(w)
	}
	return look.write(w, s.lines(), s.mood)
}

// Brief writes the first line of the document's page.
func (d *Document) Brief(w io.Writer, look Look) error {
	if d.isLab() {
		replies := d.replies()
		return look.write(w, []string{clean(d.labSentence(replies))}, moodOfReplies(replies))
	}
	s := d.screen()
	if s == nil {
		first, _, _ := strings.Cut(d.text(), "\n")
		s = &screen{first: first}
	}
	return look.write(w, []string{clean(s.first)}, s.mood)
}

func (d *Document) text() string {
	var b strings.Builder
	_ = d.Text(&b) // a Builder takes everything
	return b.String()
}

// screen is the page of what the document is about; nil: it has none.
func (d *Document) screen() *screen {
	switch {
	case d.failure() != "":
		return &screen{first: "It could not be measured: " + d.failure(), trust: "FAILED: no figure below what was asked for.", mood: bad, most: 20,
			care: new(findings), next: "mend the cause, then the same command again"}
	case len(d.primary()) > 0:
		return d.compareScreen()
	case len(d.Curves) == 1 && len(d.Experiments) == 0:
		return d.sweepScreen(d.Curves[0].Curve)
	case len(d.Searches) == 1 && len(d.Experiments) == 0:
		return d.searchScreen(d.Searches[0].Result)
	case d.Command == "run" && len(d.Results) == 1:
		return d.runScreen(d.Results[0].Cell)
	}
	return nil
}

// lines are those of the page: its warnings are fewer where there is no room for three.
func (s *screen) lines() []string {
	head := slices.Concat(wrapped(s.first), wrapped(s.trust), s.body)
	list := slices.Clone(s.care.list)
	slices.SortStableFunc(list, func(a, b located) int { return weight(a.Code) - weight(b.Code) })
	next := wrapped("Next: " + s.next)
	shown := max(0, min(mostWarnings, len(list), s.most-len(head)-len(next)))
	if rest := len(list) - shown + s.hidden; rest > 0 {
		next = wrapped(plural(rest, "note") + ": --full. Next: " + s.next)
	}
	for _, w := range list[:shown] {
		head = append(head, "! "+clean(w.Code+": "+w.Text))
	}
	return append(head, next...)
}

// wrapped are the lines of a text that may take two.
func wrapped(text string) []string {
	var b strings.Builder
	wrap(&b, clip(clean(text), 2*textWidth-20), "", "  ")
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// weight orders warnings as their table does, which begins with what spoils most.
func weight(code string) int {
	return slices.IndexFunc(finding.Kinds(), func(k finding.Kind) bool { return k.Code == code })
}

// write writes lines that fit a terminal.
func (l Look) write(w io.Writer, lines []string, m mood) error {
	var b strings.Builder
	for i, line := range lines {
		line = clip(strings.TrimRight(printable(line), " "), textWidth)
		if l.ASCII {
			line = clip(toASCII.Replace(line), textWidth)
			line = strings.ReplaceAll(line, "…", ".")
		}
		if colour := colours[m]; l.Colour && i == 0 && colour != "" {
			line = colour + line + "\x1b[0m"
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// toASCII replaces the signs that screens are made of.
var toASCII = strings.NewReplacer("µ", "u", "…", "...", "±", "+-", "×", "x", "÷", "/", "–", "-", "−", "-", "·", ".",
	"█", "#", "│", "|", "┤", "|", "├", "|", "─", "-", "●", "o", "→", "->", "≤", "<=", "≥", ">=", "α", "alpha", "β", "beta", "γ", "gamma")

// lines are those of a table as text.
func (t table) lines() []string {
	var b strings.Builder
	t.writeText(&b)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// standsFor says what stands for a name.
func standsFor(name, does string) string { return fmt.Sprintf("  %s  %s", clean(name), clean(does)) }
