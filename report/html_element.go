package report

import (
	"html"
	"strings"
)

// html writes the elements as HTML, below a heading of the second level.
func (v *view) html() string {
	var b strings.Builder
	list := false
	for _, e := range v.elements {
		if list != e.kind.listed() {
			b.WriteString(either(list, "</ul>\n", "<ul>\n"))
			list = !list
		}
		writeHTML(&b, e)
	}
	if list {
		b.WriteString("</ul>\n")
	}
	return b.String()
}

func writeHTML(b *strings.Builder, e element) {
	switch e.kind {
	case title, heading:
		b.WriteString("<h3>" + html.EscapeString(e.text) + "</h3>\n")
	case answer, validity, advised, lead, paragraph:
		b.WriteString("<p>" + html.EscapeString(e.text) + "</p>\n")
	case bullet, aside, quoted, caution:
		b.WriteString("<li>" + html.EscapeString(e.text) + "</li>\n")
	case labelled:
		b.WriteString("<li>" + html.EscapeString(e.sentence()) + "</li>\n")
	case tabular:
		e.table.writeHTML(b)
	}
}

func (t table) writeHTML(b *strings.Builder) {
	if t = t.shown(false); t.title != "" {
		b.WriteString("<p>" + html.EscapeString(t.title) + "</p>\n")
	}
	figures := t.figures()
	b.WriteString(`<div class="scroll" tabindex="0"><table><thead><tr>`)
	row := func(tag string, cells []string) {
		for i, cell := range cells {
			tag := tag
			if cell == "" {
				tag = "td" // an empty heading is an ordinary cell
			}
			b.WriteString("<" + tag)
			if figures[i] {
				b.WriteString(` class="n"`)
			}
			b.WriteString(">" + html.EscapeString(cell) + "</" + tag + ">")
		}
	}
	row("th", t.columns)
	b.WriteString("</tr></thead><tbody>\n")
	for _, cells := range t.rows {
		b.WriteString("<tr>")
		row("td", cells)
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
}
