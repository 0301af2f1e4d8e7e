package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/expect"
	"contend/finding"
	"contend/search"
	"contend/stat"
	"contend/trial"
)

// answer begins the view of what has no page of a terminal with what follows from all of it.
func (d *Document) answer(v *view) {
	if d.uplinks(v) {
		return
	}
	if line, refused := d.resultLine(); line != "" {
		v.answer("%s", line)
		d.advise(v, refused)
	}
}

func (d *Document) advise(v *view, refused []string) {
	for _, line := range d.advice(refused) {
		v.say("%s", line)
	}
}

// advice says what went wrong most often, where that is why something is refused, and
// what to do about what is.
func (d *Document) advice(refused []string) []string {
	var lines []string
	if slices.Contains(refused, finding.Errors.Code) || slices.Contains(refused, finding.NothingSucceeded.Code) {
		if cause := d.cause(); cause != "" {
			lines = append(lines, "Most often: "+cause)
		}
	}
	if advice := d.whatToDo(refused); advice != "" {
		lines = append(lines, "What to do: "+advice+".")
	}
	return lines
}

// Failed reports whether what the document is about could not be measured to its end.
func (d *Document) Failed() bool { return d.failure() != "" }

// failure is why the only experiment of the document, or a document without
// experiments, could not be completed. It is "" on success, and with several
// experiments, which report their own failures.
func (d *Document) failure() string {
	if len(d.Experiments) != 1 {
		return d.Failure
	}
	return d.Experiments[0].Error
}

// cause is the most frequent error of the first result with too many failures and
// errors, in the words of its first example; "" without such a result.
func (d *Document) cause() string {
	var cells []trial.Cell
	for _, r := range d.Results {
		cells = append(cells, r.Cell)
	}
	for _, c := range d.Curves {
		cells = append(cells, c.Visits...)
	}
	for _, s := range d.Searches {
		if s.Alone != nil {
			cells = append(cells, *s.Alone)
		}
	}
	i := slices.IndexFunc(cells, func(c trial.Cell) bool {
		return c.Plan.TooManyErrors(c.Wrong(), c.Planned)
	})
	if i < 0 {
		return ""
	}
	list := append(failures(cells[i].Result), kindsOf(cells[i].Result)...)
	if len(list) == 0 {
		return "" // a document of an older version may not say
	}
	most := slices.MaxFunc(list, func(a, b wrong) int { return cmp.Compare(a.count, b.count) })
	return most.what + ": " + most.example
}

func ofVerdict(all []Comparison, verdict stat.Verdict) []Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return c.Verdict != verdict })
}

// several lists a few places, or counts the rest: at concurrency 1, 2.
func several(where []string) string {
	const most = 3
	where = slices.Clone(where)
	for i, last := 0, ""; i < len(where); i++ {
		level := strings.LastIndexByte(where[i], ' ') + 1
		repeated := strings.HasSuffix(where[i][:level], "concurrency ") && strings.HasPrefix(last, where[i][:level])
		if last = where[i]; repeated {
			where[i] = where[i][level:]
		}
	}
	if rest := len(where) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(where[:most], ", "), rest)
	}
	return strings.Join(where, ", ")
}

// A Refusal is something that was asked for and is INVALID.
type Refusal struct {
	Place
	Codes []string
	Text  string // INVALID, the codes, and what about
}

// Refused returns what was asked for and is INVALID, part by part: the primary
// verdicts; in a part without any, the optima of its sweeps and the rates that were
// searched for; in a part without these either, its results.
func (d *Document) Refused() []Refusal {
	var list []Refusal
	answered := map[Place]bool{}
	refuse := func(at Place, codes []string, format string, args ...any) {
		list = append(list, Refusal{at, codes, fmt.Sprintf("INVALID (%s): ", strings.Join(codes, ", ")) + fmt.Sprintf(format, args...)})
	}
	for _, c := range d.Comparisons {
		if answered[c.Place] = true; c.Primary && c.Verdict == stat.Invalid && c.Reason != nil {
			refuse(c.Place, []string{c.Reason.Code}, "%s against %s %s", c.Candidate, c.Baseline, atConcurrency(c.Concurrency))
		}
	}
	for _, c := range d.counted() {
		if answered[c.of.Place] = true; c.Verdict == stat.Invalid && c.Reason != nil {
			refuse(c.of.Place, []string{c.Reason.Code}, "%s against %s %s", c.Candidate, c.Baseline, atConcurrency(c.of.Concurrency))
		}
	}
	for _, c := range d.Curves {
		answered[c.Place] = true
		if codes := refusedLevels(c.Curve); len(codes) > 0 {
			refuse(c.Place, codes, "the sweep of %s", cmp.Or(c.Arm, "the target"))
		}
	}
	for _, s := range d.Searches {
		if answered[s.Place] = true; s.Verdict == search.RateInvalid && s.Reason != nil {
			refuse(s.Place, []string{s.Reason.Code}, "the rate of %s", cmp.Or(s.Arm, "the target"))
		}
	}
	for _, r := range d.Results {
		if answered[r.Place] {
			continue
		}
		if doubt := d.doubt(r.Cell); doubt != nil {
			refuse(r.Place, []string{doubt.Code}, "%s", named(cmp.Or(r.Arm, r.Target), r.Concurrency))
		}
	}
	return list
}

// doubt is why a result is INVALID. The result of a run is compared with nothing, so only what falsifies its
// figures, or a claim about them, makes it INVALID.
func (d *Document) doubt(c trial.Cell) *finding.Warning {
	if d.Command == "run" {
		return expect.Doubt(c, d.Expectations)
	}
	return c.Doubt()
}

// resultLine lists the INVALID results.
func (d *Document) resultLine() (line string, refused []string) {
	var cells []trial.Cell
	for _, r := range d.Results {
		cells = append(cells, r.Cell)
	}
	return doubtful(cells, "results", d.doubt)
}

// doubtful says how many cells are INVALID, and why.
func doubtful(cells []trial.Cell, what string, doubt func(trial.Cell) *finding.Warning) (line string, refused []string) {
	found := new(findings)
	count, text := 0, ""
	for _, c := range cells {
		r := doubt(c)
		if r == nil {
			continue
		}
		if count++; count == 1 {
			text = r.Text
		}
		found.add(finding.Warning{Code: r.Code}, named(c.Arm, c.Concurrency))
	}
	for _, f := range found.list {
		refused = append(refused, f.Code)
	}
	switch {
	case count == 0:
		return "", nil
	case len(cells) == 1:
		return fmt.Sprintf("INVALID (%s): %s", refused[0], text), refused
	}
	return fmt.Sprintf("INVALID (%s): %d of %d %s, %s: %s", strings.Join(refused, ", "),
		count, len(cells), what, several(found.list[0].where), text), refused
}
