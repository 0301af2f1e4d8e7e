package report

import (
	"regexp"
	"strings"

	"contend/finding"
)

var (
	inBrackets = regexp.MustCompile(` \([^()]*\)`)
	aFlag      = regexp.MustCompile(`(?:^|[ (])(--?[a-z][a-z-]*)( of contend)?`)
)

// Advice is what to do about a warning of this code, "" where there is nothing: without what stands
// in brackets there if that names flags which the command of the page does not have.
func (d *Document) Advice(code string) string {
	return inBrackets.ReplaceAllStringFunc(finding.Advice(code), func(text string) string {
		if d.Has == nil || strings.HasPrefix(text, " (curl ") {
			return text
		}
		for _, m := range aFlag.FindAllStringSubmatch(text, -1) {
			if m[2] == "" && !d.Has(m[1]) {
				return ""
			}
		}
		return text
	})
}

func (d *Document) afterDoubt(code string) string {
	if advice := d.Advice(code); advice != "" {
		return advice
	}
	return "contend explain " + code
}

// whatToDo joins the advice for each code.
func (d *Document) whatToDo(refused []string) string {
	var advice []string
	for _, code := range refused {
		what := d.Advice(code)
		switch {
		case what != "" && len(refused) > 1:
			advice = append(advice, code+": "+what)
		case what != "":
			advice = append(advice, what)
		}
	}
	return strings.Join(advice, "; ")
}
