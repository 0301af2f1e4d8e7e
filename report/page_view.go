package report

import "io"

// A Page is what commands print that measure no load: an answer, a table of as many cells in each
// row as columns, and remarks.
type Page struct {
	Answer  string
	Columns []string
	Rows    [][]string
	Remarks []string
}

// Text writes the page for a terminal. Unprintable characters are shown as in a Go string.
func (p Page) Text(w io.Writer) error {
	v := new(view)
	v.answer("%s", p.Answer)
	v.table(table{columns: p.Columns, rows: p.Rows})
	for _, text := range p.Remarks {
		v.bullet("%s", text)
	}
	return v.write(w, apartInText, writeText)
}
