package report

import "strings"

// For tests of the small parts.
var Escape = escape

func (v *view) text() string {
	var b strings.Builder
	_ = v.write(&b, apartInText, writeText)
	return b.String()
}

func (v *view) markdown() string {
	var b strings.Builder
	_ = v.write(&b, apartInMarkdown, writeMarkdown)
	return b.String()
}

// Below is what the full text has below the page of a terminal, or all of it where there is no page.
func Below(d *Document) string {
	if d.screen() == nil {
		return d.text()
	}
	v := new(view)
	d.below(v)
	return v.text()
}

// Wrap breaks text as a bullet.
func Wrap(text string) string {
	v := new(view)
	v.bullet("%s", text)
	return v.text()
}

// PageTable, TextTable and MarkdownTable write a table.
func PageTable(columns []string, rows ...[]string) []string {
	v := new(view)
	v.rows(table{columns: columns, rows: rows})
	return v.lines(textWidth)
}

func TextTable(columns []string, rows ...[]string) string {
	v := new(view)
	v.table(table{columns: columns, rows: rows})
	return v.text()
}

func MarkdownTable(columns []string, rows ...[]string) string {
	v := new(view)
	v.table(table{columns: columns, rows: rows})
	return v.markdown()
}

// MarkdownLine writes a paragraph.
func MarkdownLine(text string) string {
	v := new(view)
	v.say("%s", text)
	return v.markdown()
}

// PictureOf is the picture of a document by its title, as a file of its own.
func PictureOf(d *Document, title string) string {
	for _, p := range d.pictures(Place{}) {
		if p.title == title {
			return p.file()
		}
	}
	return ""
}
