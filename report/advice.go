package report

import (
	"cmp"
	"slices"
	"strings"

	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/load"
)

var (
	inBrackets = lazyregexp.New(` \([^()]*\)`)
	aFlag      = lazyregexp.New(`(?:^|[ (])(--?[a-z][a-z-]*)( of contend)?`)
)

// Advice is what to do about a warning of this code, "" if nothing can be done. It omits what is in
// brackets if that names flags that the command of the page does not have, or --count where nothing can be counted.
func (d *Document) Advice(code string) string {
	return inBrackets().ReplaceAllStringFunc(finding.Advice(code), func(text string) string {
		if strings.HasPrefix(text, " (curl ") {
			return text
		}
		for _, m := range aFlag().FindAllStringSubmatch(text, -1) {
			if m[2] == "" && (d.Has != nil && !d.Has(m[1]) || m[1] == "--count" && !d.countable()) {
				return ""
			}
		}
		return text
	})
}

// countable reports whether the servers that the document compares could be driven again with their instructions counted.
func (d *Document) countable() bool {
	return d.Command == "compare" && len(d.Arms) > 1 && !slices.ContainsFunc(d.Arms, func(a Arm) bool { return a.URL == "" }) &&
		!slices.ContainsFunc(d.Results, func(r Result) bool { return r.Model == load.OpenModel })
}

// curing is the advice on the first caveat whose cause is in the server, as other questions to it come later; empty without one.
func (d *Document) curing(caveats []located) Step {
	slices.SortStableFunc(caveats, func(a, b located) int { return finding.Rank(a.Code) - finding.Rank(b.Code) })
	for _, w := range caveats {
		if finding.InServer(w.Code) {
			return d.afterDoubt(w.Code)
		}
	}
	return Step{}
}

// A Step is what to do next: a command line and what it is for, or advice, which is a purpose alone.
type Step struct{ Purpose, Command string }

func advise(text string) Step { return Step{Purpose: text} }

// Then has the document go on with the step.
func (d *Document) Then(s Step) { d.Next, d.NextFor = cmp.Or(s.Command, s.Purpose), s.ofCommand() }

// SettleBy has the step settle what was not decided.
func (d *Document) SettleBy(s Step) {
	d.Settle, d.SettleFor = cmp.Or(s.Command, s.Purpose), s.ofCommand()
}

// ofCommand is what the command is for; "" for advice.
func (s Step) ofCommand() string {
	if s.Command == "" {
		return ""
	}
	return s.Purpose
}

func (d *Document) goesOn() Step  { return stored(d.NextFor, d.Next) }
func (d *Document) settles() Step { return stored(d.SettleFor, d.Settle) }

// stored is the step of a command line and what it is for, or of advice.
func stored(of, text string) Step {
	if of == "" {
		return advise(text)
	}
	return Step{of, text}
}

func (d *Document) afterDoubt(code string) Step {
	if advice := d.Advice(code); advice != "" {
		return advise(advice)
	}
	return Step{"see what that means", "contend explain " + code}
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
