package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
	"contend/metric"
)

// figureForm is how figures are named that are no metrics.
var figureForm = lazyregexp.New(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// published checks a table of published figures.
func (v *validator) published(path string, p Published) {
	for _, field := range []struct{ name, value, what string }{
		{"title", p.Title, "what the table shows"},
		{"environment", p.Environment, "the machine and the tool that the figures come from"},
	} {
		if field.value == "" {
			v.missing(path+"."+field.name, "%s", field.what)
		}
	}
	v.ofSomePart(path+".part", p.Part)
	v.extra(path, p)
	v.columns(path, p)
	for i, note := range p.Notes {
		v.note(fmt.Sprintf("%s.notes[%d]", path, i), note, p)
	}
	if len(p.Rows) == 0 {
		v.missing(path+".rows", "at least one row of figures")
	}
	for i, row := range p.Rows {
		v.row(fmt.Sprintf("%s.rows[%d]", path, i), row, p)
	}
}

// ofSomePart checks the name of a part that figures belong to.
func (v *validator) ofSomePart(path, part string) {
	var names []string
	for _, p := range v.file.Parts {
		if p.Name != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	switch {
	case slices.Contains(names, part) || part == "" && len(names) == 0 || v.anyUnread("parts"):
	case part == "":
		v.missing(path, "the part that the figures belong to%s", oneOf("", names))
	default:
		v.add(path, "is %q%s", part, oneOf(part, names))
	}
}

// answer checks what of ours answers the question.
func (v *validator) answer() {
	a := v.file.Answer
	for i, part := range a.Parts {
		v.ofSomePart(fmt.Sprintf("answer.parts[%d]", i), part)
	}
	if len(a.Parts) > 0 && len(a.Figures) > 0 {
		v.addSentence("answer.figures", "use either figures or parts to answer the question, not both")
	}
	for i, f := range a.Figures {
		path := fmt.Sprintf("answer.figures[%d]", i)
		v.ofSomePart(path+".part", f.Part)
		v.armOf(path+".arm", f.Arm, f.Part)
		if err := f.Metric.Check(); err != nil {
			v.addSentence(path+".metric", "%v", err)
		}
	}
}

func (v *validator) extra(path string, p Published) {
	for i, name := range p.Extra {
		at := fmt.Sprintf("%s.extra[%d]", path, i)
		switch {
		case !figureForm().MatchString(name):
			v.add(at, "is %q; expected lower-case letters and digits joined by _, as in allocs_per_op", name)
		case isOurs(name):
			v.add(at, "is %q, which can be a column without being named here", name)
		case !slices.Contains(p.Columns, name):
			v.add(at, "is %q, none of the columns%s", name, oneOf(name, p.Columns))
		}
	}
}

// isOurs reports whether a column has a meaning of its own.
func isOurs(column string) bool {
	return column == armColumn || column == vusColumn || metric.Name(column).Check() == nil
}

func (v *validator) columns(path string, p Published) {
	if !slices.Contains(p.Columns, armColumn) {
		v.missing(path+".columns", "the column %s, and a column for each figure", armColumn)
	}
	for i, column := range p.Columns {
		at := fmt.Sprintf("%s.columns[%d]", path, i)
		if slices.Index(p.Columns, column) < i {
			v.add(at, "is %q for the second time", column)
		}
		if !isOurs(column) && !slices.Contains(p.Extra, column) {
			v.add(at, "is %q, neither %s, %s nor a name of extra, and %v", column, armColumn, vusColumn, metric.Name(column).Check())
		}
	}
}

func (v *validator) note(path string, n Note, p Published) {
	if n.Because == "" {
		v.missing(path+".because", "why the published numbers can or cannot be compared with those measured here")
	}
	if !v.given(path + ".comparable") {
		v.missing(path+".comparable", "true or false")
	}
	for i, m := range n.Metrics {
		if err := m.Check(); err != nil && !slices.Contains(p.Extra, string(m)) {
			v.addSentence(fmt.Sprintf("%s.metrics[%d]", path, i), "%v", err)
		}
	}
}

func (v *validator) row(path string, row Row, p Published) {
	if v.anyUnread("columns") {
		return
	}
	if len(row) != len(p.Columns) {
		v.add(path, "has %d values for %d columns (%s)", len(row), len(p.Columns), strings.Join(p.Columns, ", "))
		return
	}
	for i, cell := range row {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch column := p.Columns[i]; column {
		case armColumn:
			v.armOf(at, cell, p.Part)
		case vusColumn:
			if n, err := strconv.Atoi(cell); cell != notPublished && (err != nil || n < 1) {
				v.add(at, "is %q; expected a concurrency, 1 or more, or ~", cell)
			}
		default:
			if _, err := publishedValue(metric.Name(column), cell); cell != notPublished && err != nil {
				v.addSentence(at, "%s: %v", column, err)
			}
		}
	}
}

// armOf checks that the arm is one of the part's; a planned file may have none
// yet.
func (v *validator) armOf(path, arm, partName string) {
	for _, part := range v.file.Experiment("").Parts {
		if _, ok := part.Arms[arm]; ok && part.Name == partName {
			return
		}
		if part.Name == partName && (len(part.Arms) > 0 || v.file.Status != planned) && !v.anyUnread("arms", "subjects", "parts") {
			v.add(path, "is %q, which is not a variant%s%s", arm, ofPart(part.Name), oneOf(arm, sortedKeys(part.Arms)))
			return
		}
	}
}
