package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/expect"
	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
	"contend/trial"
	"contend/usl"
)

// A reply is what an experiment says to its question.
type reply struct {
	standing standing
	answer   []remark // what answers it
	beside   []remark // what its other parts say
	broken   []string // expectations that failed
	warnings *findings
}

// A standing says how far a question is answered, the furthest first.
type standing int

const (
	answered standing = iota + 1
	undecided
	disbelieved
	unmeasured
	interrupted
	failed
	planned
)

// standingWords say why a question is not answered.
var standingWords = map[standing]string{undecided: "inconclusive", disbelieved: "INVALID", unmeasured: "not measured",
	interrupted: "interrupted", failed: "failed", planned: "planned"}

// A remark is something that a part of an experiment says.
type remark struct {
	part     string
	standing standing
	verdict  string
	text     string
	code     string  // why it is INVALID
	means    string  // a sentence; "": nothing beyond the text
	level    float64 // 1 − the confidence of the intervals in the text; 0: it has none
}

// reply reads what the experiment answers from the document.
func (d *Document) reply(e Experiment) reply {
	r := reply{warnings: d.warningsOf(e)}
	byPart := map[string][]remark{}
	for _, p := range e.Parts {
		byPart[p.Name] = d.remarks(Place{e.ID, p.Name})
	}
	answering := e.answering()
	for _, f := range e.Answer.Figures {
		r.answer = append(r.answer, d.figureRemark(e, f))
	}
	for _, part := range answering {
		r.answer = append(r.answer, byPart[part]...)
	}
	for _, p := range e.Parts {
		if !slices.Contains(answering, p.Name) {
			r.beside = append(r.beside, byPart[p.Name]...)
		}
	}
	r.standing = e.standing(r.answer)
	byStanding := func(a, b remark) int { return int(a.standing - b.standing) }
	slices.SortStableFunc(r.answer, byStanding)
	slices.SortStableFunc(r.beside, byStanding)
	for _, x := range e.Expectations {
		if !x.Held {
			r.broken = append(r.broken, d.brokenAt(e, x))
		}
	}
	return r
}

// refused says what is INVALID, and in which parts where that is not all of it.
func (r reply) refused() string {
	refused := slices.DeleteFunc(slices.Concat(r.answer, r.beside), func(o remark) bool { return o.standing != disbelieved })
	codes, parts := distinct(refused, func(o remark) string { return o.code }), distinct(refused, func(o remark) string { return o.part })
	switch {
	case len(refused) == 0:
		return ""
	case len(refused) == len(r.answer)+len(r.beside):
		return " (" + enumerated(codes) + ")"
	}
	return fmt.Sprintf("; INVALID in %s: %s", enumerated(parts), enumerated(codes))
}

// answering are the parts that answer the question: those that the file names, or all;
// none where it names figures.
func (e Experiment) answering() []string {
	var all []string
	for _, p := range e.Parts {
		all = append(all, p.Name)
	}
	switch {
	case len(e.Answer.Figures) > 0:
		return nil
	case len(e.Answer.Parts) > 0:
		return slices.DeleteFunc(slices.Clone(e.Answer.Parts), func(name string) bool { return !slices.Contains(all, name) })
	}
	return all
}

func (e Experiment) standing(answer []remark) standing {
	switch {
	case e.Status == "planned":
		return planned
	case e.Error != "":
		return failed
	case e.interrupted():
		return interrupted
	}
	best := unmeasured
	for _, r := range answer {
		best = min(best, r.standing)
	}
	return best
}

// remarks are what a part says: what was counted, or its comparisons, or else its sweeps, or its results.
func (d *Document) remarks(at Place) []remark {
	var remarks []remark
	for _, c := range d.counted() {
		if c.of.Place == at {
			remarks = append(remarks, c.remark())
		}
	}
	if list := slices.DeleteFunc(d.primary(), func(c Comparison) bool { return c.Place != at }); len(list) > 0 {
		return compared(list)
	}
	for _, c := range d.Curves {
		if c.Place == at {
			remarks = append(remarks, sweptRemark(c))
		}
	}
	if len(remarks) > 0 {
		return remarks
	}
	for _, c := range d.Cells(at) {
		remarks = append(remarks, cellRemark(at.Part, c))
	}
	return remarks
}

// sweptRemark says which concurrency to use.
func sweptRemark(c Curve) remark {
	r := remark{part: c.Part, standing: answered, verdict: "USE"}
	of := ""
	if c.Arm != "" {
		of = c.Arm + ": "
	}
	if codes := refusedLevels(c.Curve); len(codes) > 0 {
		return remark{part: c.Part, standing: disbelieved, verdict: string(stat.Invalid), code: codes[0],
			text: fmt.Sprintf("No result: the sweep of %s (%s)", cmp.Or(c.Arm, "the target"), enumerated(codes)), means: explained(codes[0])}
	}
	use := c.Recommended()
	if use == nil {
		return remark{part: c.Part, standing: undecided, verdict: "-", text: of + "no concurrency can be recommended: " + c.NoFit}
	}
	if use.N.Interval != nil {
		r.level = 1 - usl.Confidence
	}
	r.text = fmt.Sprintf("%s%s %s: %s", of, either(c.Done(), "use concurrency", "so far concurrency"), ranged(use.N), unit.Rate(use.Throughput))
	if at := atLevel(c.Curve, use.N.Value); at != nil {
		r.text += ", median " + p50(at)
	}
	if c.Design.Within > 0 && c.Knee != nil {
		r.text += "; knee at " + ranged(c.Knee.N)
	}
	r.means = "This is " + rule(c.Design) + "."
	if c.Bound != nil {
		r.verdict, r.means = "LOWER BOUND", "Above it the load generator is the bottleneck, not the server."
	}
	if c.TimeUp != nil {
		r.standing, r.text = undecided, r.text+"; out of time: "+c.TimeUp.Lacks
	}
	if c.Crowded != nil {
		r.standing, r.text = undecided, r.text+"; more callers may pay: "+c.Crowded.Text
	}
	return r
}

// cellRemark says what a variant did that is not compared.
func cellRemark(part string, c trial.Cell) remark {
	r := remark{part: part, standing: answered, verdict: "-", text: runSentence(c.Result)}
	if c.Arm != "" {
		r.text = c.Arm + ": " + r.text
	}
	if doubt := c.Doubt(); doubt != nil {
		r.standing, r.verdict, r.code, r.means = disbelieved, string(stat.Invalid), doubt.Code, explained(doubt.Code)
		r.text = fmt.Sprintf("No result (%s: %s); measured, not usable: %s", doubt.Code, doubt.Text, r.text)
	}
	return r
}

// figureRemark says a figure that answers the question, with the range of its rounds,
// which holds the median of all rounds at a confidence of 1 − 2^(1−n) where there are n.
func (d *Document) figureRemark(e Experiment, f AnswerFigure) remark {
	at := Place{e.ID, f.Part}
	r := remark{part: f.Part, standing: unmeasured, verdict: "-", text: fmt.Sprintf("%s: no %s was measured", f.Arm, f.Metric.Words())}
	i := slices.IndexFunc(d.Results, func(c Result) bool { return c.Place == at && c.Arm == f.Arm })
	if i < 0 {
		return r
	}
	cell := d.Results[i].Cell
	value, ok := f.Metric.Beside(cell.Result)
	if !ok {
		return r
	}
	r.standing = answered
	r.text = fmt.Sprintf("%s: %s %s", f.Arm, f.Metric.Words(), f.Metric.Format(value))
	low, high, n := d.rangeOf(at, f)
	switch {
	case n >= stat.FewestRounds(significance):
		r.text += fmt.Sprintf(" (%s to %s in %d rounds)", f.Metric.Format(low), f.Metric.Format(high), n)
		r.level = math.Exp2(float64(1 - n))
	case n > 0:
		r.text += fmt.Sprintf(" (%s: too few for an interval)", plural(n, "round"))
	}
	if doubt := cell.Doubt(); doubt != nil {
		r.standing, r.verdict, r.code, r.means = disbelieved, string(stat.Invalid), doubt.Code, explained(doubt.Code)
		r.text = "No result (" + doubt.Code + "); measured, not usable: " + r.text
		return r
	}
	r.means = e.nextToPublished(f)
	return r
}

// significance is 1 − the confidence of the intervals of figures.
const significance = 0.05

// rangeOf is the range of a figure over the rounds of a part.
func (d *Document) rangeOf(at Place, f AnswerFigure) (low, high float64, n int) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, t := range d.Trials {
		for _, c := range t.Rounds {
			if value, ok := f.Metric.Beside(c.Result); ok && t.Place == at && c.Arm == f.Arm {
				low, high, n = min(low, value), max(high, value), n+1
			}
		}
	}
	return low, high, n
}

// nextToPublished adds the published figure to ours, where the two can be compared.
func (e Experiment) nextToPublished(f AnswerFigure) string {
	for _, p := range e.Published {
		if may, _ := p.comparable(f.Metric); p.Part != f.Part || may != "yes" {
			continue
		}
		for _, row := range p.Rows {
			if row.Arm == f.Arm && row.Metric == f.Metric && row.Ratio != nil {
				return fmt.Sprintf("Its %s is %s the published one.", f.Metric.Words(), multiple(*row.Ratio))
			}
		}
	}
	return ""
}

// multiple says a ratio: 4.01×, 0.0227×, 93% of.
func multiple(ratio float64) string {
	if unit.AsFactor(ratio) {
		return unit.Factor(ratio)
	}
	return unit.Percent(ratio) + " of"
}

// brokenAt says for which arms and levels an expectation failed.
func (d *Document) brokenAt(e Experiment, x expect.Expectation) string {
	text := x.Text
	if x.Part != "" {
		text += " (" + x.Part + ")"
	}
	byArm := map[string][]string{}
	broken := x.Broken(d.Cells(Place{e.ID, x.Part}))
	for _, c := range broken {
		byArm[c.Arm] = append(byArm[c.Arm], unit.Count(c.Concurrency))
	}
	var where []string
	for _, arm := range distinct(broken, func(c trial.Cell) string { return c.Arm }) {
		where = append(where, fmt.Sprintf("%s at concurrency %s", arm, enumerated(byArm[arm])))
	}
	if len(where) == 0 {
		return text + ": " + x.Detail
	}
	return text + ": " + strings.Join(where, ", ")
}

// warningsOf are those of an experiment, with where each was found.
func (d *Document) warningsOf(e Experiment) *findings {
	found := new(findings)
	for _, w := range e.Warnings {
		found.add(w, "")
	}
	for _, r := range d.Results {
		if r.Experiment == e.ID {
			for _, w := range r.Warnings {
				found.add(w, "")
			}
		}
	}
	for _, c := range d.Comparisons {
		if c.Experiment == e.ID {
			for _, w := range c.Warnings {
				found.add(w, "")
			}
		}
	}
	return found
}

// level is that of the least certain intervals of what is valid, or inconclusive; 0: there are none.
func (r reply) level() float64 {
	level := 0.0
	for _, remark := range slices.Concat(r.answer, r.beside) {
		if remark.standing <= undecided {
			level = max(level, remark.level)
		}
	}
	return level
}

// counted says how many caveats there are of each code, the gravest first.
func (f *findings) counted() string {
	byCode := map[string]int{}
	for _, w := range f.list {
		byCode[w.Code]++
	}
	codes := distinct(f.list, func(w located) string { return w.Code })
	slices.SortStableFunc(codes, func(a, b string) int { return finding.Rank(a) - finding.Rank(b) })
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%s in %d", code, byCode[code])
		if i == 0 {
			codes[i] += either(byCode[code] == 1, " result", " results")
		}
	}
	return strings.Join(codes, ", ")
}
