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
	"contend/sweep"
	"contend/trial"
)

// answer begins every view with what follows from all of it, in one line: the
// verdict, or why there is none, and what to do then.
func (d *Document) answer(v *view) {
	if d.uplinks(v) {
		return
	}
	if why := d.failure(); why != "" {
		v.answer("FAILED: %s", why)
		return
	}
	line, refused := d.verdictLine()
	if line == "" {
		line, refused = d.sweepLine()
	}
	if line == "" {
		line, refused = d.resultLine()
		if d.Command == "run" && len(d.Results) == 1 {
			d.runAnswer(v)
			d.advise(v, refused)
			return
		}
	}
	if line == "" {
		return
	}
	v.answer("%s", line)
	d.advise(v, refused)
}

// runAnswer writes the first lines of the page of a run, and which claims about it failed.
func (d *Document) runAnswer(v *view) {
	s := d.runScreen(d.Results[0].Cell)
	v.answer("%s", s.first)
	v.say("%s", s.trust)
	for _, x := range d.Expectations {
		if !x.Held {
			v.bullet("%s", outcome(x))
		}
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

// Failed says whether what the document is about could not be measured to its end.
func (d *Document) Failed() bool { return d.failure() != "" }

// failure is why the only experiment of the document, or what has none, could not be
// completed; "" if it could, or if there are several, each of which says so itself.
func (d *Document) failure() string {
	if len(d.Experiments) != 1 {
		return d.Failure
	}
	return d.Experiments[0].Error
}

// cause is what went wrong most often in the first result that has too many failures
// and errors, in the words of the first such one; "" if there is none.
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

// verdictLine says the one verdict, or sums up several, and returns the codes of
// those that are refused.
func (d *Document) verdictLine() (line string, refused []string) {
	var all []Comparison
	for _, c := range d.Comparisons {
		if c.Primary {
			all = append(all, c)
		}
	}
	switch len(all) {
	case 0:
		return "", nil
	case 1:
		verdict, about, text := said(all[0], false)
		line = fmt.Sprintf("%s: %s: %s", verdict, about, text)
	default:
		line = summed(all, placed(all))
	}
	for _, c := range all {
		if c.Reason != nil && !slices.Contains(refused, c.Reason.Code) {
			refused = append(refused, c.Reason.Code)
		}
	}
	return line, refused
}

// summed says several verdicts in a line, the refused ones first.
func summed(all []Comparison, label func(Comparison) string) string {
	var parts []string
	if refused := ofVerdict(all, stat.Invalid); len(refused) > 0 {
		byCode := new(findings)
		for _, c := range refused {
			if c.Reason != nil {
				byCode.add(finding.Warning{Code: c.Reason.Code}, label(c))
			}
		}
		reason := "" // a document of another version may have none
		for i, f := range byCode.list {
			if i > 0 {
				reason += ", "
			}
			reason += fmt.Sprintf("%s (%s)", f.Code, several(f.where))
		}
		if first := refused[0].Reason; first != nil {
			reason += ": " + first.String()
		}
		parts = append(parts, fmt.Sprintf("%d of %d verdicts INVALID: %s", len(refused), len(all), reason))
	}
	for _, verdict := range []stat.Verdict{stat.Slower, stat.Faster, stat.More, stat.Less, stat.Equivalent, stat.Inconclusive} {
		if list := ofVerdict(all, verdict); len(list) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", verdict, several(whereOf(list, label))))
		}
	}
	return strings.Join(parts, "; ")
}

func ofVerdict(all []Comparison, verdict stat.Verdict) []Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return c.Verdict != verdict })
}

// placed tells comparisons apart by candidate and level and, where they come
// from several, by experiment and part.
func placed(all []Comparison) func(Comparison) string {
	differs := func(of func(Comparison) string) bool {
		return slices.ContainsFunc(all, func(c Comparison) bool { return of(c) != of(all[0]) })
	}
	experiments := differs(func(c Comparison) string { return c.Experiment })
	parts := differs(func(c Comparison) string { return c.Part })
	return func(c Comparison) string {
		text := c.Candidate + " " + at(c.Comparison)
		if parts && c.Part != "" {
			text = c.Part + ": " + text
		}
		if experiments && c.Experiment != "" {
			text = c.Experiment + ": " + text
		}
		return text
	}
}

func whereOf(list []Comparison, label func(Comparison) string) []string {
	var where []string
	for _, c := range list {
		text := label(c)
		if c.Rounds > 0 {
			text += fmt.Sprintf(" (%s of %s)", percent(c.Ratio), c.Metric.Words())
		}
		where = append(where, text)
	}
	return where
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

// sweepLine says where the best level of each sweep is, or which visits spoil it.
func (d *Document) sweepLine() (line string, refused []string) {
	var parts []string
	for _, c := range d.Curves {
		of := ""
		if len(d.Curves) > 1 {
			of = c.Arm + ": "
		}
		text, codes := best(c.Curve)
		if c.TimeUp != nil {
			of += fmt.Sprintf("out of time: %s; so far ", c.TimeUp.Lacks)
		}
		parts = append(parts, of+text)
		for _, code := range codes {
			if !slices.Contains(refused, code) {
				refused = append(refused, code)
			}
		}
	}
	return strings.Join(parts, "; "), refused
}

func best(c sweep.Curve) (text string, refused []string) {
	if c.Bound != nil {
		return bounded(c), nil
	}
	use := "no concurrency can be recommended"
	if k := c.Recommended(); k != nil {
		use = fmt.Sprintf("use concurrency %s: %s, %s", ranged(k.N), perSec(k.Throughput), rule(c.Design))
	}
	if text, refused := doubtful(c.Results, "levels", trial.Cell.Doubt); len(refused) > 0 && (c.Fit == nil || c.Fit.Peak == nil) {
		return text, refused
	}
	switch {
	case c.Fit == nil:
		return use + "; no curve is fitted: " + c.NoFit, nil
	case c.Fit.Peak == nil:
		return use + "; the peak is unknown: " + c.Fit.NoPeak, nil
	}
	peak := fmt.Sprintf("the fitted curve peaks at %s, concurrency %s", perSec(c.Fit.Peak.Throughput.Value), whole(c.Fit.Peak.N.Value))
	if code := missed(c.Fit); code != "" {
		peak += fmt.Sprintf(", but misses the levels (%s)", code)
	}
	return use + "; " + peak, nil
}

// A Refusal is something that was asked for and is INVALID.
type Refusal struct {
	Place
	Codes []string
	Text  string // INVALID, the codes, and what about
}

// Refused returns what was asked for and is INVALID, part by part: of the
// primary verdicts; where a part has none, of the optima of its sweeps and of the rates
// that were searched for; and where it has none of these either, of its results.
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
	for _, c := range d.Curves {
		answered[c.Place] = true
		if _, codes := best(c.Curve); len(codes) > 0 {
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

// doubt is why a result must not be believed. One of a run is compared with nothing: only what makes its figures,
// or a claim about them, false spoils it.
func (d *Document) doubt(c trial.Cell) *finding.Warning {
	if d.Command == "run" {
		return expect.Doubt(c, d.Expectations)
	}
	return c.Doubt()
}

// resultLine says which results must not be believed.
func (d *Document) resultLine() (line string, refused []string) {
	var cells []trial.Cell
	for _, r := range d.Results {
		cells = append(cells, r.Cell)
	}
	return doubtful(cells, "results", d.doubt)
}

// doubtful says how many cells must not be believed, and why.
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
