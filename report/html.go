package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/report/chart"
	"contend/report/page"
	"contend/report/plain"
)

// HTML writes the document as one page that needs nothing else: the answer, pictures with
// their tables, and everything that Text says. It loads nothing and runs no script but its own,
// whatever the names and texts in the document are; it is complete without.
func (d *Document) HTML(w io.Writer) error {
	var answer, figures markupWriter
	first, m := d.head(&answer)
	d.sections(&figures)
	return writePage(w, d.Command, first, m, &answer, &figures, d.Environment.sentence(d.Version))
}

// writePage writes the page of a command, with the answer that it begins with and what is below.
func writePage(w io.Writer, command, first string, m mood, answer, figures *markupWriter, environment string) error {
	p := page.Report{Title: html.EscapeString("contend " + plain.Line(command) + ": " + plain.Clip(first, 80)), Mood: moods[m], Answer: answer.String(), Figures: figures.String(),
		Environment: html.EscapeString(plain.Line(environment)), CSS: chart.CSS}
	if strings.Contains(p.Figures, `<figure data-plot=`) {
		p.CSS, p.Script = chart.CSS+page.UPlotCSS, page.ReportScript()
	}
	if strings.Contains(p.Figures, `<svg class="flame"`) {
		p.Script += page.FlameScript
	}
	_, err := io.WriteString(w, p.HTML())
	return err
}

var moods = map[mood]string{plainly: "plain", good: "good", bad: "bad", doubted: "doubted"}

// A markupWriter writes markup: a format of ours, and texts of anybody's, which are cleaned and
// escaped.
type markupWriter struct{ strings.Builder }

func (b *markupWriter) add(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = tied().ReplaceAllString(html.EscapeString(plain.Line(text)), "$1&nbsp;$2$3")
	}
	fmt.Fprintf(b, format, escaped...)
}

// tied are numbers and their units, which stay on one line.
var tied = lazyregexp.New(`(\d) (` + strings.Join(units, "|") + `)(\W|$)`)

// head writes what the first screen shows.
func (d *Document) head(b *markupWriter) (first string, m mood) {
	s := d.screen()
	if s == nil {
		s = &screen{first: firstLine(d.text()), care: new(findings)}
	}
	b.answer(s, !d.isLab()) // whose questions are below
	list := s.marked()
	slices.SortStableFunc(list, func(a, b located) int { return finding.Rank(a.Code) - finding.Rank(b.Code) })
	if len(list) > 0 {
		b.add("<ul class=\"warnings\">")
		for _, w := range list {
			b.add("<li><strong>! %s</strong> %s.", w.Code, strings.TrimSuffix(w.Text, "."))
			if advice := d.Advice(w.Code); advice != "" {
				b.add(" %s.", upper(advice))
			}
			b.add("</li>\n")
		}
		b.add("</ul>\n")
	}
	b.steps(s)
	return plain.Line(s.first), s.mood
}

// answer writes the first lines of a page, and what is below them.
func (b *markupWriter) answer(s *screen, below bool) {
	b.add("<h1>%s</h1>\n", s.first)
	if s.trust != "" {
		b.add("<p class=\"trust\">%s</p>\n", s.trust)
	}
	if below {
		b.WriteString((&view{s.elements}).html())
	}
}

// steps writes what to do next.
func (b *markupWriter) steps(s *screen) {
	for _, next := range s.todo() {
		if next.Command != "" {
			b.add("<p class=\"next\">Next: %s: <code>%s</code></p>\n", next.Purpose, next.Command)
		} else {
			b.add("<p class=\"next\">Next: %s</p>\n", next.Purpose)
		}
	}
}

// sections writes the experiments of the document, or all of it in one.
func (d *Document) sections(b *markupWriter) {
	if d.isLab() {
		d.questions(b)
	}
	if len(d.Experiments) == 0 {
		v := new(view)
		d.place(v, Place{})
		d.remainder(v)
		b.section("figures", "", "", d.pictures(Place{}), v)
		return
	}
	for i, e := range d.Experiments {
		v := new(view)
		d.experiment(v, e)
		if i == len(d.Experiments)-1 {
			d.remainder(v)
		}
		var pictures []picture
		for _, part := range e.Parts {
			for _, p := range d.pictures(Place{e.ID, part.Name}) {
				if len(e.Parts) > 1 {
					p.title = part.Name + ": " + p.title
				}
				pictures = append(pictures, p)
			}
		}
		title, question := "", ""
		if d.isLab() {
			title, question = e.ID+": "+e.Title, e.Question
		}
		b.section(e.ID, title, question, pictures, v)
	}
}

// questions says of each experiment what was asked, published, and came out.
func (d *Document) questions(b *markupWriter) {
	b.add(`<section><div class="scroll" tabindex="0"><table class="lab"><thead><tr><th>question</th><th>published</th><th>ours</th></tr></thead><tbody>` + "\n")
	for i, r := range d.replies() {
		e := d.Experiments[i]
		b.add("<tr><td><a href=\"#%s\">%s</a><br>%s</td><td>%s</td><td>%s</td></tr>\n", e.ID, e.ID, e.Question, e.Answer.Published, r.said(e, 2))
	}
	b.add("</tbody></table></div></section>\n")
}

// section writes pictures, and everything else for a click.
func (b *markupWriter) section(id, title, question string, pictures []picture, all *view) {
	b.add("<section id=\"%s\">\n", id)
	if title != "" {
		b.add("<h2>%s</h2>\n", title)
	}
	if question != "" {
		b.add("<p>%s</p>\n", question)
	}
	b.pictures(pictures)
	b.add("<details class=\"all\"><summary>")
	if title != "" {
		b.add("All figures of %s", id)
	} else {
		b.add("<h2>All figures</h2>")
	}
	b.add("</summary>\n")
	b.WriteString(all.html())
	b.add("</details>\n</section>\n")
}

// pictures writes pictures with their tables.
func (b *markupWriter) pictures(list []picture) {
	b.add("<div class=\"pictures\">\n")
	for _, p := range list {
		b.add("<figure")
		if p.plot != "" {
			b.add(" data-plot=\"%s\"", p.plot)
		}
		if p.wide {
			b.add(" class=\"wide\"")
		}
		b.add("><figcaption>%s</figcaption>\n", p.title)
		b.WriteString(p.legend + p.svg)
		b.add("\n<p>%s</p>\n<details><summary>Table</summary>\n", p.how)
		p.table.writeHTML(&b.Builder)
		b.add("</details></figure>\n")
	}
	b.add("</div>\n")
}
