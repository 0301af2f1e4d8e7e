package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"contend/finding"
	"contend/report/plain"
	"contend/stat"
)

// A Look is how a terminal shows a screen. The zero value is UTF-8 without colour.
type Look struct {
	ASCII  bool // for a locale that is not UTF-8
	Colour bool // the first line has the colour of its verdict, which it names as well
	Width  int  // columns of the terminal; 0 or more than 100: 100
}

// A screen is the answer that a document gives, on one page of a terminal.
type screen struct {
	first  string // the question's answer, with direction, size and interval
	trust  string // its status: valid or not, and how it was measured
	mood   mood
	view            // what is below these
	also   []string // caveats without a code, above the others
	care   *findings
	next   Step   // what to do next
	steps  []Step // used instead of next if there are several
	hidden int    // notes that only the whole view has
	inAll  string // for several answers: the INVALID summary; "" if none is INVALID
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
	s := d.screen()
	if s == nil {
		return d.Text(w)
	}
	return look.write(w, s.lines(look.width()), s.mood)
}

// Brief writes the answer of the document's page in one line, however long.
func (d *Document) Brief(w io.Writer, look Look) error {
	s, first := d.screen(), ""
	switch {
	case s == nil:
		s, first = new(screen), firstLine(d.text())
	case d.isLab():
		first = s.first
	default:
		first = s.inShort()
	}
	_, err := io.WriteString(w, look.coloured(look.line(plain.Line(first), math.MaxInt), s.mood)+"\n")
	return err
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// inShort is the first line and, of what is refused, the code of the second.
func (s *screen) inShort() string {
	first, refused := strings.TrimSuffix(s.first, " below"), s.inAll
	if status, _, _ := strings.Cut(s.trust, ": "); strings.HasPrefix(status, string(stat.Invalid)) {
		refused = status
	}
	if refused != "" {
		return first + ": " + refused
	}
	return first
}

func (d *Document) text() string {
	var b strings.Builder
	_ = d.Text(&b) // a Builder takes everything
	return b.String()
}

// screen is the page of what the document is about; nil: it has none. After an interruption it
// says so first; the second line ends with where the load generator and the servers ran.
func (d *Document) screen() *screen {
	if d.isLab() {
		return d.labScreen()
	}
	s := d.page()
	if s == nil || d.failure() != "" {
		return s
	}
	if d.wasInterrupted() {
		s.first = soFar + s.first
	}
	s.trust += d.placed()
	s.ledByStall(d.Results)
	if d.Found != "" {
		s.steps = append(s.todo(), Step{"repeat this elsewhere, as in CI, with all that contend found out", d.Found})
	}
	return s
}

func (d *Document) wasInterrupted() bool {
	return slices.ContainsFunc(d.Experiments, Experiment.interrupted) || slices.ContainsFunc(d.Curves, func(c Curve) bool { return c.Interrupted })
}

const soFar = "Interrupted; so far: "

func (d *Document) page() *screen {
	switch {
	case d.failure() != "":
		return d.failedScreen()
	case len(d.counted())+len(d.primary()) > 0 && d.Bisection != nil:
		return d.bisectScreen()
	case len(d.counted())+len(d.primary()) > 0:
		return d.compareScreen()
	case len(d.Curves) > 0 && len(d.Experiments) == 0:
		return d.sweepScreen(d.Curves[0].Curve)
	case len(d.Searches) > 0 && len(d.Experiments) == 0:
		return d.searchScreen(d.Searches[0].Result)
	case d.Command == "calibrate" && d.Calibration != nil:
		return d.calibrateScreen()
	case d.Command == "guard" && len(d.Experiments) == 1 && len(d.Experiments[0].Analyses) == 1:
		return d.insideScreen(d.Experiments[0].Analyses[0])
	case d.Command == "guard" && len(d.Results) > 0:
		return d.guardScreen()
	case d.Command == "pipe" && len(d.Results) > 0:
		return d.pipeScreen()
	case d.Command == "run" && len(d.Results) == 1:
		return d.runScreen(d.Results[0].Cell)
	case d.wasInterrupted():
		return &screen{first: "nothing to compare", trust: "INCONCLUSIVE: no variant ran often enough for a comparison",
			mood: doubted, care: new(findings), next: advise("run the same command again, and let it end")}
	}
	return nil
}

// lines are those of the page at a width: its warnings are fewer where there is no room for three.
func (s *screen) lines(most int) []string {
	list := s.marked()
	slices.SortStableFunc(list, func(a, b located) int { return finding.Rank(a.Code) - finding.Rank(b.Code) })
	shown := min(mostWarnings, len(list))
	lines := slices.Concat(wrappedTo(s.first, most), wrappedTo(s.trust, most), s.view.lines(most))
	rest := len(s.care.list) - shown + s.hidden
	if len(s.also) > 0 || shown > 0 || rest > 0 {
		lines = append(lines, "")
	}
	for _, text := range s.also {
		lines = append(lines, wrappedTo("! "+text, most)...)
	}
	for _, w := range list[:shown] {
		lines = append(lines, "! "+plain.Line(s.care.line(w)))
	}
	if rest > 0 {
		lines = append(lines, "  "+plural(rest, "note")+": add --full")
	}
	for i, next := range s.todo() {
		if i == 0 {
			lines = append(lines, "")
		}
		lines = append(lines, next.lines(most)...)
	}
	return lines
}

// lines are those of a page on a terminal so many columns wide. The status above them decides
// whether an empty line comes first: an empty one takes its place here, and is left out again.
func (v *view) lines(most int) []string {
	var b strings.Builder
	head := view{append([]element{{kind: validity}}, v.elements...)}
	_ = head.write(&b, apartInText, func(b *strings.Builder, e element) { // a Builder takes everything
		e.table = e.table.fitted()
		e.writeText(b, most)
	})
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")[1:]
}

// write writes all of the page.
func (s *screen) write(v *view) {
	v.answer("%s", s.first)
	if s.trust != "" {
		v.add(validity, onPage, "%s", []any{s.trust})
	}
	v.elements = append(v.elements, s.elements...)
	for _, text := range s.also {
		v.add(caution, onPage, "%s", []any{text})
	}
	for _, w := range s.marked() {
		v.add(caution, onPage, "%s", []any{s.care.line(w)})
	}
	for _, next := range s.todo() {
		if !strings.HasPrefix(next.Purpose, addFull) && !strings.HasPrefix(next.Purpose, EveryNumber) {
			v.elements = append(v.elements, element{kind: advised, text: plain.Line(next.Purpose), also: plain.Line(next.Command)})
		}
	}
}

// addFull begins the advice to see what is written here.
const addFull = "add --full for "

// EveryNumber begins what a command with --full is for, and the others are what commands are for that several pages
// advise.
const (
	EveryNumber   = "see every number"
	MeasureLonger = "measure longer"
	FindBest      = "find the best concurrency"
	FindRate      = "find the highest rate that meets a goal"
	AllDesigns    = "compare all designs"
	compareTwo    = "compare two, with a confidence interval"
)

// marked are the caveats.
func (s *screen) marked() []located {
	return slices.DeleteFunc(slices.Clone(s.care.list), func(w located) bool { return w.Aside() })
}

// countCaveats adds how many there are to a status that begins so.
func (s *screen) countCaveats(valid string) {
	if rest, ok := strings.CutPrefix(s.trust, valid); ok {
		s.trust = valid + withCaveats(len(s.marked())+len(s.also)) + rest
	}
}

// todo are the steps of a page.
func (s *screen) todo() []Step {
	if len(s.steps) > 0 || s.next == (Step{}) {
		return s.steps
	}
	return []Step{s.next}
}

// lines are the purpose and, on lines of its own, the command, or what is new of it where it is too long.
func (s Step) lines(most int) []string {
	purpose := "Next: " + plain.Line(s.Purpose)
	if s.Command == "" {
		return wrappedTo(purpose, most)
	}
	words := shellWords(plain.Line(s.Command))
	lines := pasted(words, textWidth)
	if len(lines) <= mostPasted && !slices.ContainsFunc(lines, func(line string) bool { return plain.Width(line) > textWidth }) || len(words) < 5 {
		return append(wrappedTo(purpose, most), pasted(words, most)...)
	}
	flag := words[2] // what is new is in front
	if !strings.HasPrefix(words[3], "-") {
		flag += " " + words[3]
	}
	return wrappedTo(fmt.Sprintf("%s: the same command with %s", purpose, flag), most)
}

// mostPasted are the lines of a command line on a page.
const mostPasted = 3

// pasted are the lines of a command line, broken between its words as a shell reads it.
func pasted(words []string, most int) []string {
	lines := []string{"  " + words[0]}
	for _, word := range words[1:] {
		last := len(lines) - 1
		if plain.Width(lines[last])+1+plain.Width(word) <= most-len(` \`) {
			lines[last] += " " + word
			continue
		}
		lines[last] += ` \`
		lines = append(lines, "    "+word)
	}
	return lines
}

// shellWords are the words of a command line with their quotes.
func shellWords(command string) []string {
	var words []string
	quoted, escaped := false, false
	begin := 0
	for i, r := range command {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && !quoted:
			escaped = true
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words = append(words, command[begin:i])
			begin = i + 1
		}
	}
	return append(words, command[begin:])
}

// wrappedTo breaks a text at most columns, after clipping it to three lines of full width: breaking them between words
// leaves about ten columns of each empty.
func wrappedTo(text string, most int) []string {
	var b strings.Builder
	wrap(&b, plain.Clip(plain.Line(text), 3*(textWidth-10)), "", "  ", most)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// write writes lines that fit a terminal.
func (l Look) write(w io.Writer, lines []string, m mood) error {
	var b strings.Builder
	for i, line := range narrowed(lines, l.width()) {
		line = l.line(line, textWidth)
		if i == 0 {
			line = l.coloured(line, m)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is a line of at most so many characters, in the alphabet of the terminal.
func (l Look) line(text string, most int) string {
	text = plain.Clip(strings.TrimRight(plain.Printable(text), " "), most)
	if l.ASCII {
		text = strings.ReplaceAll(plain.Clip(toASCII.Replace(text), most), "…", ".")
	}
	return text
}

func (l Look) coloured(line string, m mood) string {
	if colour := colours[m]; l.Colour && colour != "" {
		return colour + line + "\x1b[0m"
	}
	return line
}

// toASCII replaces the signs that screens are made of.
var toASCII = strings.NewReplacer("µ", "u", "…", "...", "±", "+-", "×", "x", "÷", "/", "–", "-", "−", "-", "·", ".",
	"█", "#", "│", "|", "┤", "|", "├", "|", "─", "-", "●", "o", "→", "->", "←", "<-", "≤", "<=", "≥", ">=", "α", "alpha", "β", "beta", "γ", "gamma")

// lines are those of a table as text.
func (t table) lines() []string {
	var b strings.Builder
	t.writeText(&b)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// leastName is how many columns are left of a name at least.
const leastName = 20

// fitted shortens the names in the first column where a line is wider than a page, which would lose its figures.
func (t table) fitted() table {
	if len(t.rows) == 0 || !t.headed() {
		return t
	}
	longest, over := 0, -textWidth
	for _, line := range t.lines() {
		over = max(over, plain.Width(line)-textWidth)
	}
	for _, row := range t.rows {
		longest = max(longest, plain.Width(row[0]))
	}
	if over <= 0 || longest-over < leastName {
		return t
	}
	rows := slices.Clone(t.rows)
	for i, row := range rows {
		rows[i] = slices.Concat([]string{plain.Clip(row[0], longest-over)}, row[1:])
	}
	t.rows = rows
	return t
}

// standFor says what runs under each name.
func (v *view) standFor(arms []Arm) {
	t := table{columns: []string{"", ""}}
	for _, a := range arms {
		t.rows = append(t.rows, []string{a.Name, a.Does})
	}
	if len(arms) > 0 && arms[0].URL != "" { // all of a page have the same
		t.rows = append(t.rows, []string{"at", arms[0].URL})
	}
	v.rows(t)
}

// asides are sentences of their own.
func (v *view) asides(texts []string) {
	for _, text := range texts {
		v.aside("%s", text)
	}
}
