package report

import "slices"

// own is the experiment of a document that is one comparison from a user's own file, with no
// published figures; false for any other document.
func (d *Document) own() (e Experiment, ok bool) {
	if d.Command != "lab" || len(d.Experiments) != 1 {
		return e, false
	}
	e = d.Experiments[0]
	return e, e.File != "" && len(e.Parts) == 1 && e.Answer.Published == "" && len(e.Answer.Figures) == 0 &&
		len(d.Curves) == 0 && (e.Error != "" || len(d.primary())+len(d.counted()) > 0)
}

// primaryOf are the comparisons that an experiment asks for.
func (d *Document) primaryOf(e Experiment) []Comparison {
	return slices.DeleteFunc(d.primary(), func(c Comparison) bool { return c.Experiment != e.ID })
}
