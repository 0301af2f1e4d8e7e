package report

import (
	"fmt"
	"math"
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
			if len(e.Rows) > 0 {
				v.say("Work that differs, in CPU time per operation over %s of their own; %s looked at, whose intervals hold together at %s, and what is not named is %s:",
					plural(e.Rounds, "round"), wereLooked(e.Looked), confidence(float64(e.Looked)*e.Rows[0].Level), signed(e.Unnamed()))
				v.table(whyTable(e, e.Rows))
			}
			if len(e.Functions) > 0 {
				v.say("Functions that differ with all that they call, one of which may contain the other:")
				v.table(whyTable(e, e.Functions))
			}
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
	case !cpu.Excludes0() && e.Wait.Excludes0():
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

// whySentences say what differs in waiting, if that does, and in work.
func whySentences(e why.Explanation) []string {
	if wait := waitSentence(e); wait != "" {
		return []string{"Why: " + wait, whySentence(e)}
	}
	return []string{"Why: " + whySentence(e)}
}

// waitSentence says how much longer or shorter an operation takes than its work explains;
// "" where that is not told apart.
func waitSentence(e why.Explanation) string {
	wait := e.Wait
	switch {
	case !wait.Excludes0():
		return ""
	case wait.Value > 0:
		return fmt.Sprintf("%s waits %s longer an operation than its work explains (%s to %s)", clean(e.Candidate),
			metric.Duration(wait.Value), metric.Duration(wait.Low), metric.Duration(wait.High))
	}
	return fmt.Sprintf("%s waits %s less an operation than its work explains (%s to %s)", clean(e.Candidate),
		metric.Duration(-wait.Value), metric.Duration(-wait.High), metric.Duration(-wait.Low))
}

// signed formats a difference of times.
func signed(ns float64) string {
	switch {
	case ns > 0:
		return "+" + metric.Duration(ns)
	case ns < 0:
		return "−" + metric.Duration(-ns)
	}
	return "0 ns"
}

// mostWhy are the rows of work on a page.
const mostWhy = 10

// whyLines are what a page says about why: a sentence, and a line for each row.
func (d *Document) whyLines(c Comparison) []string {
	e, known := d.explanation(c)
	if !known {
		return d.notDiagnosed(c)
	}
	sentences := whySentences(e)
	lines := wrapped(sentences[0])
	for _, b := range e.Blocked { // only where the first one is on waiting
		lines = append(lines, fmt.Sprintf("  %9s  of threads in %s", signed(b.Value), clean(b.Name)))
	}
	for _, sentence := range sentences[1:] {
		lines = append(lines, wrapped(sentence)...)
	}
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

// explanation returns what is known of why a comparison came out as it did.
func (d *Document) explanation(c Comparison) (why.Explanation, bool) {
	for _, t := range d.Trials {
		if t.Place != c.Place || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			if e.Baseline == c.Baseline && e.Candidate == c.Candidate && e.Concurrency == c.Concurrency {
				return e, true
			}
		}
	}
	return why.Explanation{}, false
}

// notDiagnosed says why there is no explanation, where one was asked for.
func (d *Document) notDiagnosed(c Comparison) []string {
	for _, t := range d.Trials {
		if t.Place == c.Place && t.Why != nil {
			said, words := d.noWhy(t.Why)
			return append(indented(said, ""), words...)
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
