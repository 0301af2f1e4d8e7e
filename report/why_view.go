package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/failure"
	"contend/internal/unit"
	"contend/report/plain"
	"contend/trial"
	"contend/why"
)

// diagnosed writes what makes the candidates of a part cost more or less CPU time.
func (d *Document) diagnosed(v *view, at Place) {
	several := d.isLab() || len(d.primary()) != 1 // else the page has the sentences
	for _, t := range d.Trials {
		if t.Place != at || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			if several {
				for _, line := range whySentences(e) {
					v.say("%s", line)
				}
			}
			if len(e.Blocked) > 0 {
				v.say("System calls in which threads wait longer or shorter, in time per op added up over threads:")
				v.table(whyTable(e, "system call", e.Blocked))
			}
			v.sayWaits(t.Why, e, several)
			if len(e.Rows) > 0 {
				v.say("Work that differs, in CPU time per op over %s of their own; %s looked at, with simultaneous intervals at %s; everything else is %s:",
					plural(e.Rounds, "round"), wereLooked(e.Looked), unit.Percent(1-float64(e.Looked)*e.Rows[0].Level), workTimes(e).Signed(e.Unnamed()))
				v.table(whyTable(e, "work", e.Parts()))
			}
			v.ownFunctions(e)
			if len(e.Functions) > 0 {
				v.say("Functions that differ, callees included; one may contain another:")
				v.table(whyTable(e, "function", e.Functions))
			}
			if len(e.Packages) > 0 {
				v.say("Packages (files, if not Go) that differ, callees included, and alone, which add up:")
				v.table(whyTable(e, "package", e.Packages))
			}
			if len(e.Counts) > 0 {
				v.say("What the kernel counted, per op, with simultaneous intervals:")
				v.table(countsTable(e))
			}
			if said := collectingSentence(e); said != "" {
				v.say("%s", said)
			}
			v.sayCounted(e)
			if said := countedSentence(t.Why, e); said != "" && several {
				v.say("%s.", said)
			}
			if said := unnamedSentence(t.Why, t.Arms, e); said != "" && several {
				v.say("%s.", said)
			}
		}
		if len(t.Why.Explanations) == 0 && several {
			said, f := d.noWhy(t.Why)
			v.say("%s.", said)
			v.remains(f)
		}
		if len(t.Why.Profiles) > 0 {
			v.say("%s", sampledSentence(t.Why))
			if words := tracedSentence(t.Why); words != "" {
				v.say("%s", words)
			}
		}
	}
}

func wereLooked(rows int) string {
	if rows == 1 {
		return "1 kind or function was"
	}
	return fmt.Sprintf("%d kinds and functions were", rows)
}

// whyTable has rows of what the first column is headed with, all times in one unit.
func whyTable(e why.Explanation, what string, rows []why.Row) table {
	t := table{columns: []string{what, plain.Line(e.Baseline), plain.Line(e.Candidate), "difference", "interval"}}
	detailed := slices.ContainsFunc(rows, func(r why.Row) bool { return len(r.Functions) > 0 })
	if detailed {
		t.columns = append(t.columns, "mainly in")
	}
	times := timesOf(rows)
	for _, r := range rows {
		cells := append([]string{plain.Line(r.Name)}, comparedCells(r, times)...)
		if detailed {
			cells = append(cells, mostlyIn(r))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// comparedCells are the figures of both sides and their difference.
func comparedCells(r why.Row, times unit.Times) []string {
	return []string{times.Format(r.BaselineValue), times.Format(r.CandidateValue), times.Signed(r.Value), times.Signed(r.Low) + " … " + times.Signed(r.High)}
}

// timesOf writes all that a table has of rows.
func timesOf(rows []why.Row) unit.Times {
	var all []float64
	for _, r := range rows {
		all = append(all, r.BaselineValue, r.CandidateValue, r.Value)
	}
	return unit.TimesUpTo(all...)
}

// workTimes writes the difference in CPU time and the rows that it is made of.
func workTimes(e why.Explanation) unit.Times {
	all := []float64{e.CPU.Value}
	if !e.CPU.Excludes0() {
		all = append(all, e.CPU.Low, e.CPU.High) // the only line about it
	}
	for _, r := range e.Parts() {
		all = append(all, r.Value)
	}
	return unit.TimesUpTo(all...)
}

// waitTimes writes the difference in waiting and the rows that say where.
func waitTimes(e why.Explanation) unit.Times {
	all := []float64{e.Wait.Value}
	for _, r := range e.Blocked {
		all = append(all, r.Value)
	}
	for _, w := range e.Waits {
		all = append(all, w.Value)
	}
	return unit.TimesUpTo(all...)
}

// sampledSentence says how the samples were taken and what that cost.
func sampledSentence(d *trial.Diagnosis) string {
	samples, lost := int64(0), int64(0)
	for _, p := range d.Profiles {
		samples, lost = samples+p.Samples, lost+p.Lost
	}
	text := fmt.Sprintf("%s CPU samples were taken after the comparison, in %s; that cost %s of the throughput.",
		unit.Count(samples), roughly(d.Elapsed), unit.Percent(d.Overhead))
	if lost > 0 {
		text += fmt.Sprintf(" %s were lost.", unit.Count(lost))
	}
	text += pressureSentence(d)
	for _, missing := range d.Missing {
		text += " " + plain.Line(missing) + "."
	}
	return text
}

// whySentence says how much more CPU time an operation of the candidate takes.
func whySentence(e why.Explanation) string {
	cpu, times := e.CPU, workTimes(e)
	ratio := cpu.CandidateValue / math.Max(1, cpu.BaselineValue)
	if !cpu.Excludes0() {
		between := fmt.Sprintf("(%s %s to %s)", ci(cpu.Level), unit.Signed(cpu.Low, times.Amount), times.Signed(cpu.High))
		switch {
		case onlyCounted(e):
			return "CPU per op: no clear difference " + between + ", but the instructions differ:"
		case len(e.Rows)+len(e.Roots) > 0:
			return "CPU per op: no clear difference as a whole " + between + ", but in some of what it is spent on"
		case waitSentence(e) == "" && e.Counted != nil && e.Counted.Same:
			return "No clear difference in CPU per op " + between + " or waiting, and none in instructions"
		case waitSentence(e) == "":
			text := "No clear difference in CPU per op " + between + " or waiting; the cause is too small for these rounds"
			if n := len(e.Changed); n > 0 && n <= 3 { // more is no hint
				text += "; of your functions the code of " + mostlyIn(why.Row{Functions: e.Changed}) + " alone differs"
			}
			return text
		}
		return "CPU per op: no clear difference " + between
	}
	return fmt.Sprintf("%s uses %s %s CPU per op (%s, %s %s)", plain.Line(e.Candidate), times.Format(math.Abs(cpu.Value)), either(cpu.Value > 0, "more", "less"),
		unit.Change(ratio), ci(cpu.Level), span(cpu, times))
}

// span is the interval of an amount, whatever its sign.
func span(r why.Row, times unit.Times) string {
	low, high := math.Abs(r.Low), math.Abs(r.High)
	return times.Amount(min(low, high)) + " to " + times.Format(max(low, high))
}

// whySentences say what differs in work and, if that does, in waiting, the one that explains first.
func whySentences(e why.Explanation) []string {
	sentences := []string{whySentence(e)}
	if wait := waitSentence(e); wait != "" {
		sentences = append(sentences, wait)
	}
	if waitsFirst(e) {
		slices.Reverse(sentences)
	}
	sentences[0] = "Why: " + sentences[0]
	return sentences
}

// waitsFirst reports whether it is waiting that explains the difference, and not work.
func waitsFirst(e why.Explanation) bool {
	return e.Wait.Excludes0() || len(e.Waits) > 0 && !e.CPU.Excludes0()
}

// waitSentence says how much longer or shorter an operation takes than its work explains, or
// else that more goroutines wait, or that fewer can run; "" if none of these clearly
// differs.
func waitSentence(e why.Explanation) string {
	wait := e.Wait
	switch {
	case !wait.Excludes0() && len(e.Waits) == 0:
		return unlikeProcessors(e)
	case !wait.Excludes0():
		return fmt.Sprintf("%s goroutines of %s wait at the same time", either(e.Waits[0].Goroutines.Value > 0, "more", "fewer"), plain.Line(e.Candidate))
	}
	times := waitTimes(e)
	return fmt.Sprintf("an op of %s waits at least %s %s than its CPU time explains (%s %s)", plain.Line(e.Candidate), times.Format(math.Abs(wait.Value)),
		either(wait.Value > 0, "longer", "less"), ci(wait.Level), span(wait, times))
}

// signed formats a difference of times that stands alone.
func signed(ns float64) string { return unit.Signed(ns, unit.Duration) }

// mostWhy are the rows of work on a page.
const mostWhy = 10

// because writes why a comparison came out as it did: sentences, and rows of work and of waiting.
func (d *Document) because(v *view, c Comparison) {
	of, e, known := d.explanation(c)
	if !known {
		d.notDiagnosed(v, c)
		return
	}
	parts := []func(){func() { v.rows(rootRows(e)); v.rows(workRows(e)) }, func() { v.waits(of.Why, e) }}
	if waitsFirst(e) {
		slices.Reverse(parts)
	}
	for i, sentence := range whySentences(e) {
		v.lead("%s", sentence)
		parts[i]()
	}
	for _, said := range []string{countedSentence(of.Why, e), alsoDiffers(e), allocating(e), unnamedSentence(of.Why, of.Arms, e)} {
		if said != "" {
			v.lead("%s", said)
		}
	}
}

// workRows are the rows of work, and what they leave; all together are the difference. There are none if the functions
// that explain it are all that there is.
func workRows(e why.Explanation) table {
	t, times, parts := table{columns: []string{"", ""}}, workTimes(e), e.Parts()
	if !slices.ContainsFunc(parts, func(part why.Row) bool { return !e.IsRoot(part.Name) }) {
		return t
	}
	say := func(ns float64, words string) { t.rows = append(t.rows, []string{times.Signed(ns), words}) }
	most := mostWhy
	if len(e.Roots) > 0 { // they say more
		most = mostRoots
	}
	shown := parts[:min(len(parts), most)]
	for _, r := range shown {
		say(r.Value, workName(r, textWidth-len("  +0.00 µs   ")))
	}
	if more := parts[len(shown):]; len(more) > 0 {
		sum := 0.0
		for _, r := range more {
			sum += r.Value
		}
		say(sum, fmt.Sprintf("%d more: add --full", len(more)))
	}
	rest, share := e.Unnamed(), ""
	if e.CPU.Excludes0() {
		share = fmt.Sprintf(" (%.0f%%)", 100*math.Abs(rest/e.CPU.Value))
	}
	say(rest, "everything else"+share)
	return t
}

// mostInShort are the comparisons of a page of several that say why, and mostRowsInShort the rows of each.
const (
	mostInShort     = 4
	mostRowsInShort = 3
)

// becauseInShort says of several comparisons why, each in a sentence with the rows that differ most.
func (d *Document) becauseInShort(v *view, list []Comparison) {
	var texts []string
	for _, c := range list {
		if _, e, known := d.explanation(c); known {
			texts = append(texts, "Why, "+asked(c)+": "+inShort(e, func(function string) string { return d.instructions(c, function) }))
		} else if of := d.diagnosis(c); of != nil {
			if said, _ := d.noWhy(of); !slices.Contains(texts, said) {
				texts = append(texts, said)
			}
		}
	}
	for _, text := range texts[:min(len(texts), mostInShort)] {
		v.lead("%s", text)
	}
	if more := len(texts) - mostInShort; more > 0 {
		v.aside("%d more: add --full", more)
	}
}

// asked tells a comparison apart from others of a page.
func asked(c Comparison) string {
	where := fmt.Sprintf("%s at concurrency %d", plain.Line(c.Candidate), c.Concurrency)
	if c.Part != "" {
		return plain.Line(c.Part) + ", " + where
	}
	return where
}

// inShort is what explains most, in one sentence: waiting or CPU time, and the rows that differ most, each with what
// also says of it.
func inShort(e why.Explanation, also func(function string) string) string {
	text := strings.TrimPrefix(strings.TrimPrefix(whySentences(e)[0], "Why: "), plain.Line(e.Candidate)+" ")
	times, rows := workTimes(e), e.Rows
	if len(e.Roots) > 0 {
		rows = nil
		for _, r := range e.Roots {
			rows = append(rows, r.Row)
		}
	}
	for i, r := range rows[:min(len(rows), mostRowsInShort)] {
		time := times.Signed(r.Value) + " "
		if i < len(e.Roots) && r.Level == 0 {
			time = ""
		}
		text += either(i == 0, either(waitsFirst(e), "; CPU ", ": "), ", ") + time + shortName(r.Name) + also(r.Name)
	}
	return text
}

// explanation returns what is known of why a comparison came out as it did.
func (d *Document) explanation(c Comparison) (*Trials, why.Explanation, bool) {
	for i, t := range d.Trials {
		if t.Place != c.Place || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			if e.Baseline == c.Baseline && e.Candidate == c.Candidate && e.Concurrency == c.Concurrency {
				return &d.Trials[i], e, true
			}
		}
	}
	return nil, why.Explanation{}, false
}

// notDiagnosed says why there is no explanation, where one was asked for.
func (d *Document) notDiagnosed(v *view, c Comparison) {
	if of := d.diagnosis(c); of != nil {
		said, f := d.noWhy(of)
		v.lead("%s", said)
		v.remains(f)
	}
}

// diagnosis is that of a comparison; nil: none was asked for.
func (d *Document) diagnosis(c Comparison) *trial.Diagnosis {
	for _, t := range d.Trials {
		if t.Place == c.Place && t.Why != nil {
			return t.Why
		}
	}
	return nil
}

// noWhy says why a diagnosis explains nothing, and what a server that failed has left.
func (d *Document) noWhy(of *trial.Diagnosis) (said string, left failure.Failure) {
	switch {
	case of.Failed != "":
		f := failure.Failure{Cause: of.Failed}
		if len(of.Failures) > 0 {
			f = of.Failures[0]
		}
		who := nameOf(f)
		switch {
		case who != "" && f.Died:
			who += " died during sampling: "
		case who != "":
			who += ": "
		}
		return "Why: unknown: " + plain.Line(who+whyOf(f)) + "; the verdict does not depend on it", f
	case len(of.Profiles) == 0:
		return "Why: unknown: sampling is not possible here: " + plain.Line(strings.Join(of.Missing, "; ")), left
	}
	return fmt.Sprintf("Why: unknown: fewer than %d rounds have successful responses and CPU time of both", why.LeastRounds), left
}
