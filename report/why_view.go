package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/metric"
	"contend/trial"
	"contend/why"
)

// diagnosed writes what makes the candidates of a part cost more or less CPU time.
func (d *Document) diagnosed(v *view, at Place) {
	for _, t := range d.Trials {
		if t.Place != at || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			for _, line := range whySentences(e) {
				v.say("%s", line)
			}
			if len(e.Blocked) > 0 {
				v.say("System calls in which threads wait longer or shorter, in time per operation added up over threads:")
				v.table(whyTable(e, e.Blocked))
			}
			v.sayWaits(t.Why, e)
			if len(e.Rows) > 0 {
				v.say("Work that differs, in CPU time per operation over %s of their own; %s looked at, whose intervals hold together at %s, and what is not named is %s:",
					plural(e.Rounds, "round"), wereLooked(e.Looked), confidence(float64(e.Looked)*e.Rows[0].Level), signed(e.Unnamed()))
				v.table(whyTable(e, e.Rows))
			}
			if len(e.Functions) > 0 {
				v.say("Functions that differ with all that they call, one of which may contain the other:")
				v.table(whyTable(e, e.Functions))
			}
			if len(e.Counts) > 0 {
				v.say("What the kernel counted, per operation, whose intervals hold together:")
				v.table(countsTable(e))
			}
			if said := collectingSentence(e); said != "" {
				v.say("%s", said)
			}
			v.sayCounted(e)
		}
		if len(t.Why.Explanations) == 0 {
			said, words := d.noWhy(t.Why)
			v.say("%s.", said)
			for _, line := range words {
				v.say("%s", line)
			}
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

func whyTable(e why.Explanation, rows []why.Row) table {
	t := table{columns: []string{"work", clean(e.Baseline), clean(e.Candidate), "difference", "interval", "mostly in"}}
	for _, r := range rows {
		t.rows = append(t.rows, []string{clean(r.Name), metric.Duration(r.BaselineValue), metric.Duration(r.CandidateValue), signed(r.Value),
			signed(r.Low) + " … " + signed(r.High), mostlyIn(r)})
	}
	return t
}

// mostlyIn are the functions of a row.
func mostlyIn(r why.Row) string {
	names := make([]string, len(r.Functions))
	for i, name := range r.Functions {
		names[i] = shortName(name)
	}
	return strings.Join(names, ", ")
}

// shortName leaves out of a function of Go the path that its package lies in:
// sha256.block of crypto/internal/fips140/sha256.block.
func shortName(function string) string {
	path, _, _ := strings.Cut(function, "[") // with its type parameters, or [unknown] in a file
	path, _, _ = strings.Cut(path, "(")
	return clean(function[strings.LastIndexByte(path, '/')+1:])
}

// sampledSentence says how the samples were taken and what that cost.
func sampledSentence(d *trial.Diagnosis) string {
	samples, lost := int64(0), int64(0)
	for _, p := range d.Profiles {
		samples, lost = samples+p.Samples, lost+p.Lost
	}
	text := fmt.Sprintf("%s samples of CPU time were taken after the comparison, in %s; that cost %.2g %% of the throughput.",
		metric.Number(float64(samples)), roughly(d.Elapsed), 100*d.Overhead)
	if lost > 0 {
		text += fmt.Sprintf(" %s were lost.", metric.Number(float64(lost)))
	}
	text += pressureSentence(d)
	for _, missing := range d.Missing {
		text += " " + clean(missing) + "."
	}
	return text
}

// whySentence says how much more CPU time an operation of the candidate takes.
func whySentence(e why.Explanation) string {
	cpu := e.CPU
	ratio := cpu.CandidateValue / math.Max(1, cpu.BaselineValue)
	switch {
	case !cpu.Excludes0() && waitSentence(e) != "":
		return fmt.Sprintf("CPU time an operation is not told apart (%s to %s)", signed(cpu.Low), signed(cpu.High))
	case !cpu.Excludes0():
		return fmt.Sprintf("CPU time an operation is not told apart (%s to %s), nor is waiting: what differs is less than these rounds see", signed(cpu.Low), signed(cpu.High))
	case cpu.Value > 0:
		return fmt.Sprintf("%s spends %s more CPU time on an operation (%s; %s to %s)", clean(e.Candidate), metric.Duration(cpu.Value), percent(ratio),
			metric.Duration(cpu.Low), metric.Duration(cpu.High))
	}
	return fmt.Sprintf("%s spends %s less CPU time on an operation (%s; %s to %s)", clean(e.Candidate), metric.Duration(-cpu.Value), percent(ratio),
		metric.Duration(-cpu.High), metric.Duration(-cpu.Low))
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

// waitsFirst says whether it is waiting that explains the difference, and not work.
func waitsFirst(e why.Explanation) bool {
	return e.Wait.Excludes0() || len(e.Waits) > 0 && !e.CPU.Excludes0()
}

// waitSentence says how much longer or shorter an operation takes than its work explains, or
// else that more goroutines wait, or that fewer can run; "" where none of it is told apart.
func waitSentence(e why.Explanation) string {
	wait := e.Wait
	switch {
	case !wait.Excludes0() && len(e.Waits) == 0:
		return unlikeProcessors(e)
	case !wait.Excludes0():
		return fmt.Sprintf("%s goroutines of %s wait at once", either(e.Waits[0].Goroutines.Value > 0, "more", "fewer"), clean(e.Candidate))
	case wait.Value > 0:
		return fmt.Sprintf("%s waits at least %s longer an operation than its work explains (%s to %s)", clean(e.Candidate),
			metric.Duration(wait.Value), metric.Duration(wait.Low), metric.Duration(wait.High))
	}
	return fmt.Sprintf("%s waits at least %s less an operation than its work explains (%s to %s)", clean(e.Candidate),
		metric.Duration(-wait.Value), metric.Duration(-wait.High), metric.Duration(-wait.Low))
}

// signed formats a difference of times.
func signed(ns float64) string { return signedAs(ns, metric.Duration) }

// signedAs formats a difference as amounts are formatted.
func signedAs(value float64, format func(float64) string) string {
	switch {
	case value > 0:
		return "+" + format(value)
	case value < 0:
		return "−" + format(-value)
	}
	return format(0)
}

// mostWhy are the rows of work on a page.
const mostWhy = 10

// whyLines are what a page says about why: a sentence, and a line for each row.
func (d *Document) whyLines(c Comparison) []string {
	diagnosis, e, known := d.explanation(c)
	if !known {
		return d.notDiagnosed(c)
	}
	parts := [][]string{workLines(e), append(blockedLines(e), waitLines(diagnosis, e)...)}
	if waitsFirst(e) {
		slices.Reverse(parts)
	}
	var lines []string
	for i, sentence := range whySentences(e) {
		lines = append(append(lines, wrapped(sentence)...), parts[i]...)
	}
	for _, said := range []string{beside(e), allocating(e)} {
		if said != "" {
			lines = append(lines, wrapped(said)...)
		}
	}
	return lines
}

// blockedLines are the system calls in which threads wait, where an explanation says that operations do.
func blockedLines(e why.Explanation) []string {
	var lines []string
	for _, b := range e.Blocked {
		lines = append(lines, fmt.Sprintf("  %9s  of threads in %s", signed(b.Value), clean(b.Name)))
	}
	return lines
}

// workLines are the rows of work, and what they leave.
func workLines(e why.Explanation) []string {
	var lines []string
	shown := e.Rows[:min(len(e.Rows), mostWhy)]
	for _, r := range shown {
		line := fmt.Sprintf("  %9s  %s", signed(r.Value), shortName(r.Name))
		if len(r.Functions) > 0 {
			line += " (" + mostlyIn(r) + ")"
		}
		lines = append(lines, clip(line, textWidth))
	}
	if more := len(e.Rows) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("  %9s  and %d more: --full", "", more))
	}
	if rest := e.Unnamed(); len(e.Rows) > 0 {
		lines = append(lines, fmt.Sprintf("  %9s  (%.0f %%) not named", signed(rest), 100*math.Abs(rest/e.CPU.Value)))
	}
	return lines
}

// mostInShort are the comparisons of a page of several that say why, and mostRowsInShort the rows of each.
const (
	mostInShort     = 4
	mostRowsInShort = 3
)

// whyInShort says of several comparisons why, each in a sentence with the rows that differ most.
func (d *Document) whyInShort(list []Comparison) []string {
	var texts []string
	for _, c := range list {
		_, e, known := d.explanation(c)
		if !known {
			if said := d.notDiagnosed(c); said != nil && !slices.Contains(texts, said[0]) {
				texts = append(texts, said[0])
			}
			continue
		}
		texts = append(texts, "Why, "+asked(c)+": "+inShort(e))
	}
	var lines []string
	for _, text := range texts[:min(len(texts), mostInShort)] {
		lines = append(lines, wrapped(text)...)
	}
	if more := len(texts) - mostInShort; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: --full", more))
	}
	return lines
}

// asked tells a comparison apart from others of a page.
func asked(c Comparison) string {
	where := fmt.Sprintf("%s at concurrency %d", clean(c.Candidate), c.Concurrency)
	if c.Part != "" {
		return clean(c.Part) + ", " + where
	}
	return where
}

// inShort is what explains most, in one sentence: waiting or CPU time, and the rows that differ most.
func inShort(e why.Explanation) string {
	text := strings.TrimPrefix(strings.TrimPrefix(whySentences(e)[0], "Why: "), clean(e.Candidate)+" ")
	for i, r := range e.Rows[:min(len(e.Rows), mostRowsInShort)] {
		text += either(i == 0, either(waitsFirst(e), "; CPU time ", ": "), ", ") + signed(r.Value) + " " + shortName(r.Name)
	}
	return text
}

// explanation returns what is known of why a comparison came out as it did.
func (d *Document) explanation(c Comparison) (*trial.Diagnosis, why.Explanation, bool) {
	for _, t := range d.Trials {
		if t.Place != c.Place || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			if e.Baseline == c.Baseline && e.Candidate == c.Candidate && e.Concurrency == c.Concurrency {
				return t.Why, e, true
			}
		}
	}
	return nil, why.Explanation{}, false
}

// notDiagnosed says why there is no explanation, where one was asked for.
func (d *Document) notDiagnosed(c Comparison) []string {
	for _, t := range d.Trials {
		if t.Place == c.Place && t.Why != nil {
			said, words := d.noWhy(t.Why)
			return append(indented(said, "", textWidth), words...)
		}
	}
	return nil
}

// noWhy says why a diagnosis explains nothing, and what a server that failed has left.
func (d *Document) noWhy(of *trial.Diagnosis) (said string, words []string) {
	switch {
	case of.Failed != "":
		f := d.failedArm(of.Failed)
		who := f.name
		switch {
		case who != "" && f.died:
			who += " died while it was sampled: "
		case who != "":
			who += ": "
		}
		return "Why: not known: " + clean(who+f.why) + "; the comparison does not rest on that", f.words
	case len(of.Profiles) == 0:
		return "Why: it cannot be sampled here: " + clean(strings.Join(of.Missing, "; ")), nil
	}
	return fmt.Sprintf("Why: not known: right answers and CPU time of both were seen in fewer than %d rounds", why.LeastRounds), nil
}
