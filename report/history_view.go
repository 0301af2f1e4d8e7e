package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"contend/history"
	"contend/internal/unit"
	"contend/metric"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// A History is what pages show of a folder of results: the first of its lines, and which others there are.
type History struct {
	Folder   string // as typed
	Lines    []history.Line
	Problems []history.Problem
	// InGit says that commits are in the order of git's history, and Shallow that git has a part of it only.
	InGit, Shallow bool
}

// mostPoints are in the table of a page, and mostProblems below it.
const (
	mostPoints   = 20
	mostProblems = 5
)

// HistoryFormats are the forms in which a history is written, by name.
var HistoryFormats = map[string]func(*History, io.Writer) error{
	"text": (*History).Text, "markdown": (*History).Markdown, "html": (*History).HTML, "csv": (*History).CSV, "benchfmt": (*History).Benchmarks, "svg": (*History).SVG,
}

// Screen writes the page of a terminal.
func (h *History) Screen(w io.Writer, look Look) error {
	s := h.screen(mostPoints)
	return look.write(w, s.lines(look.width()), s.mood)
}

// Text writes all of it for a terminal.
func (h *History) Text(w io.Writer) error { return h.whole().write(w, apartInText, writeText) }

// Markdown writes all of it as GitHub Flavored Markdown.
func (h *History) Markdown(w io.Writer) error {
	return h.whole().write(w, apartInMarkdown, writeMarkdown)
}

func (h *History) whole() *view {
	v := new(view)
	h.screen(math.MaxInt).write(v)
	h.others(v)
	return v
}

// HTML writes one page that needs nothing else, with points and intervals to look at closely.
func (h *History) HTML(w io.Writer) error {
	s := h.screen(mostPoints)
	var answer, figures markupWriter
	answer.answer(s, true)
	answer.steps(s)
	v := new(view)
	v.table(h.table(h.Lines[0], math.MaxInt))
	h.others(v)
	figures.section("figures", "", "", h.pictures(), v)
	return writePage(w, "history", s.first, s.mood, &answer, &figures, "")
}

// SVG writes the first of the page's pictures, as a file that needs nothing else.
func (h *History) SVG(w io.Writer) error {
	_, err := io.WriteString(w, h.pictures()[0].file())
	return err
}

// screen answers how the newest revision compares with the anchor, and what changed; its table has so many points.
func (h *History) screen(most int) *screen {
	l := h.Lines[0]
	s := &screen{care: new(findings)}
	last := l.Points[len(l.Points)-1]
	at := l.Last()
	if at == nil {
		h.unlinked(s, l, last)
	} else {
		c := againstAnchor(l, *at)
		s.first, s.mood = sentence(c), moodOf([]Comparison{{Comparison: c}})
		s.trust = fmt.Sprintf("%s, valid: %s, each measured in turns with the anchor", c.Verdict, plural(pointsThat(l, func(p history.Point) bool { return p.Linked }), "result"))
		if c.Verdict == stat.Inconclusive {
			s.trust = "INCONCLUSIVE, which is not \"equal\": the interval is wide; measure the commit longer"
		}
		if at.Over != nil {
			s.trust += fmt.Sprintf("; this one over %s", plural(len(at.Over), "former anchor"))
		}
		if text := since(l, at); text != "" {
			s.aside("%s", text)
		}
		s.asides(suspected(l))
		s.asides(machine(l))
		if !last.Linked {
			s.also = append(s.also, fmt.Sprintf("the newest result, of %s, has no ratio to the anchor: %s", titledPoint(last), whyNot(last)))
		}
	}
	s.aside("measured by: %s", l.Asked)
	s.rows(h.table(l, most))
	h.cautions(s, l)
	return s
}

// unlinked is a page about values that were compared with no anchor.
func (h *History) unlinked(s *screen, l history.Line, last history.Point) {
	m := metric.Name(l.Metric)
	s.first = fmt.Sprintf("%s of %s: %s, as measured", upper(m.Words()), titledPoint(last), m.Format(last.Value.Value))
	s.trust, s.mood = "No change can be claimed: without an anchor, a difference may be the machine's", doubted
	if l.Anchor != "" && last.Anchor != "" {
		s.trust = "No ratio to the anchor yet: " + whyNot(last)
	}
	if l.Anchor == "" {
		s.next = Step{"name a revision that all others are compared with", "contend history --anchor HEAD " + Quoted(h.Folder)}
	}
}

// cautions says what is wrong with files, and which results are not what they seem.
func (h *History) cautions(s *screen, l history.Line) {
	if n := pointsThat(l, func(p history.Point) bool { return p.Commit != "" && !p.Known }); n > 0 && h.InGit {
		text := fmt.Sprintf("%s of commits that git does not have, as after a rebase: placed by time", plural(n, "result"))
		if h.Shallow {
			text += "; this clone is shallow (git fetch --unshallow brings the rest)"
		}
		s.also = append(s.also, text)
	}
	if former := unbridged(l); len(former) > 0 {
		s.also = append(s.also, fmt.Sprintf("results relative to %s are not shown against the anchor: compare the two once, with --history %s --revisions %s,%s",
			enumerated(former), Quoted(h.Folder), former[0], shortHash(l.Anchor)))
	}
	for i, p := range h.Problems {
		if i == mostProblems {
			s.also = append(s.also, fmt.Sprintf("%s more have problems: add --full", plural(len(h.Problems)-i, "file")))
			break
		}
		s.also = append(s.also, p.String())
	}
}

// unbridged are former anchors that lead to no ratio to the line's anchor.
func unbridged(l history.Line) (former []string) {
	for _, p := range l.Points {
		if c := shortHash(p.Anchor); l.Anchor != "" && !p.Linked && !p.Altered && p.Value.Compared() && p.Anchor != "" && !slices.Contains(former, c) {
			former = append(former, c)
		}
	}
	return former
}

func pointsThat(l history.Line, of func(history.Point) bool) (n int) {
	for _, p := range l.Points {
		if of(p) {
			n++
		}
	}
	return n
}

// againstAnchor is a point's ratio to the anchor as a comparison, in whose words it is told.
func againstAnchor(l history.Line, p history.Point) trial.Comparison {
	m := metric.Name(l.Metric)
	c := trial.Comparison{Baseline: "the anchor " + shortHash(l.Anchor), Candidate: titledPoint(p), Concurrency: l.Concurrency, Metric: m, Margin: m.Margin(),
		Effect: stat.Effect{Ratio: math.Exp(p.LogRatio), Rounds: max(1, len(p.Value.Rounds)), Level: p.Value.Level}}
	if p.Value.Level > 0 {
		c.Low, c.High, c.Confidence = math.Exp(p.Low), math.Exp(p.High), 1-p.Value.Level
	}
	if c.Verdict = stat.Verdict(p.Value.Verdict); p.Over != nil {
		c.Verdict = stat.Decide(c.Effect, c.Margin, m.Kind().Verdict())
	}
	return c
}

// since says how the point differs from the one of another commit before it: from ratios to the same anchor, with an
// interval at 95%.
func since(l history.Line, at *history.Point) string {
	const normal95 = 1.96 // standard deviations
	i := slices.IndexFunc(l.Points, func(p history.Point) bool { return p.Name == at.Name })
	for i--; i >= 0; i-- {
		p := l.Points[i]
		if !p.Linked || p.Commit == at.Commit {
			continue
		}
		change, within := at.LogRatio-p.LogRatio, normal95*math.Hypot(at.StandardError, p.StandardError)
		return fmt.Sprintf("since %s: %s (%s %s to %s)", titledPoint(p), unit.SignedDifference(math.Exp(change)), ci(0.05),
			unit.SignedDifference(math.Exp(change-within)), unit.SignedDifference(math.Exp(change+within)))
	}
	return ""
}

// mostEvents are on a page, of either kind. mostGrown are the functions that a step is explained by.
const (
	mostEvents = 3
	mostGrown  = 2
)

// suspected are the steps that the line seems to have, the newest last.
func suspected(l history.Line) (texts []string) {
	series := l.Series()
	for _, s := range l.Steps() {
		size := stat.Effect{Ratio: math.Exp(s.Size), Low: math.Exp(s.Low), High: math.Exp(s.High), Level: 0.05, Confidence: 0.95}
		words := ofServers(metric.Name(l.Metric))
		text := fmt.Sprintf("suspected: %s since %s (%s %s)", words.change(size), titledPoint(series[s.At]), ci(size.Level), words.interval(size))
		if s.From < s.To {
			text += fmt.Sprintf(", or one from %s to %s", shortHash(series[s.From].Commit), shortHash(series[s.To].Commit))
		}
		grown := history.Between(series[s.From-1], series[s.To])
		for _, f := range grown[:min(len(grown), mostGrown)] {
			text += fmt.Sprintf("; %s %s → %s", plain.Clip(plain.Line(f.Name), 60), unit.Digits(f.Baseline), unit.Digits(f.Value))
		}
		texts = append(texts, text)
	}
	return texts[max(0, len(texts)-mostEvents):]
}

// machine says what changed that is not the program, the newest last.
func machine(l history.Line) (texts []string) {
	for _, p := range l.Points {
		if event := eventOf(p); event != "" {
			texts = append(texts, fmt.Sprintf("the machine changed at %s, which the ratios leave out: %s", titledPoint(p), event))
		}
	}
	return texts[max(0, len(texts)-mostEvents):]
}

// eventOf is what changed about the machine and its tools before a point; "": nothing.
func eventOf(p history.Point) string {
	var list []string
	for _, e := range p.Events {
		list = append(list, fmt.Sprintf("%s %s → %s", e.Field, cmp.Or(e.Was, "unknown"), cmp.Or(e.Is, "unknown")))
	}
	if p.Moved != 0 {
		list = append(list, "the anchor "+unit.SignedDifference(p.Moved))
	}
	return strings.Join(list, ", ")
}

// titledPoint is a point's commit with what its message begins with.
func titledPoint(p history.Point) string {
	if p.Commit == "" {
		return "a result of " + p.Time.UTC().Format("2006-01-02 15:04")
	}
	text := shortHash(p.Commit) + either(p.Changed, "+", "")
	if p.Subject != "" {
		text += " (" + plain.Clip(p.Subject, 40) + ")"
	}
	return text
}

// whyNot says why a point has no ratio to the anchor.
func whyNot(p history.Point) string {
	switch {
	case p.Altered:
		return "its file was altered"
	case p.Value.Verdict == string(stat.Invalid):
		return strings.TrimSpace("INVALID " + p.Value.Reason)
	case p.Anchor == "":
		return "it was not compared with a revision"
	}
	return "it was compared with " + shortHash(p.Anchor)
}

// table is a line's newest points, a row each.
func (h *History) table(l history.Line, most int) table {
	m := metric.Name(l.Metric)
	t := table{columns: []string{"commit", "measured", m.ShortWords(), "anchor", "difference", "interval", ""}}
	points := l.Points[max(0, len(l.Points)-most):]
	if rest := len(l.Points) - len(points); rest > 0 {
		t.title = fmt.Sprintf("The newest %d of %s:", most, plural(len(l.Points), "result"))
	}
	for _, p := range points {
		row := []string{cmp.Or(shortHash(p.Commit)+either(p.Changed, "+", ""), "-"), p.Time.UTC().Format("2006-01-02"), m.Format(p.Value.Value), "-", "-", "-", remarkOn(h, l, p)}
		if p.Value.Baseline > 0 && p.Anchor == l.Anchor && l.Anchor != "" {
			row[3] = m.Format(p.Value.Baseline)
		}
		if p.Linked {
			c := againstAnchor(l, p)
			row[4], row[5] = signedAs(c.Effect)(c.Ratio), "-"
			if c.Bounded() {
				row[5] = signedAs(c.Effect)(c.Low) + " to " + signedAs(c.Effect)(c.High)
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// remarkOn is what is to be known of a point: that the machine changed before it, and why it has no ratio.
func remarkOn(h *History, l history.Line, p history.Point) string {
	var list []string
	if eventOf(p) != "" {
		list = append(list, "machine changed")
	}
	if p.Commit != "" && !p.Known && h.InGit {
		list = append(list, "not in git")
	}
	if !p.Linked && p.Value.Baseline > 0 && l.Anchor != "" || p.Altered {
		list = append(list, whyNot(p))
	}
	if p.Over != nil {
		list = append(list, "over "+shortHash(p.Over[len(p.Over)-1]))
	}
	return strings.Join(append(list, plain.Clip(p.Subject, 30)), "; ")
}

// others lists all lines, with the flags that show them.
func (h *History) others(v *view) {
	if len(h.Lines) > 1 {
		v.say("Other lines of this folder, which --metric and --only show:")
	}
	t := table{columns: []string{"metric", "of", "results", "latest", "difference", "measured by"}}
	for _, l := range h.Lines[1:] {
		m, last := metric.Name(l.Metric), l.Points[len(l.Points)-1]
		row := []string{l.Metric, placeOf(l.Of), unit.Count(len(l.Points)), m.Format(last.Value.Value), "-", l.Asked}
		if at := l.Last(); at != nil {
			row[4] = unit.SignedDifference(math.Exp(at.LogRatio))
		}
		t.rows = append(t.rows, row)
	}
	v.table(t)
	for _, p := range h.Problems {
		v.bullet("%s", p)
	}
}

// placeOf says what a value is of.
func placeOf(of history.Of) string {
	var list []string
	for _, text := range []string{of.Experiment, of.Part, of.Variant} {
		if text != "" {
			list = append(list, text)
		}
	}
	if of.Concurrency > 0 {
		list = append(list, atConcurrency(of.Concurrency))
	}
	return strings.Join(list, ", ")
}
