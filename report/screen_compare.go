package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// compareScreen answers which of two or more is faster, by how much.
func (d *Document) compareScreen() *screen {
	if len(d.counted()) > 0 {
		return d.countScreen()
	}
	list := d.primary()
	s := &screen{care: d.compareCare(), hidden: len(d.Notes), mood: moodOf(list)}
	s.next = d.afterComparing(s, list)
	if len(list) == 1 {
		s.first = sentence(list[0].Comparison)
		s.trust = trust(list[0].Comparison, d.where(list[0]), len(s.marked()))
	} else {
		s.first, s.trust = summary(list)
		if n := len(ofVerdict(list, stat.Invalid)); n > 0 {
			s.inAll = fmt.Sprintf("%s in %d of %d", refusals(list), n, len(list))
		}
	}
	if e, own := d.own(); own && e.Question != "" {
		s.aside("question: %s", e.Question)
	}
	if len(list) == 1 {
		if d.because(&s.view, list[0]); len(s.elements) > 0 {
			s.draw("")
		}
	}
	s.standFor(d.typed(list))
	expected := new(view)
	if failed := d.expected(expected); failed > 0 {
		s.aside("%s", s.first)
		s.first, s.mood = d.unmet(failed), bad
	}
	s.elements = append(s.elements, expected.elements...)
	if without := d.nothingRight(list); len(without) > 0 {
		d.withoutAnswers(s, without)
		return s
	}
	s.asides(whyAtRate(list))
	s.asides(d.atOnce(list))
	s.asides(d.killed())
	if scale := axisOf(list); len(list) == 1 {
		s.onlyOne(d, list[0], scale)
	} else {
		s.rows(verdictTable(list, scale))
		d.becauseInShort(&s.view, list)
	}
	return s
}

// atOnce says that variants were driven at the same time though nobody asked for it.
func (d *Document) atOnce(list []Comparison) []string {
	for _, c := range list {
		if slices.ContainsFunc(d.Trials, func(t Trials) bool { return t.Place == c.Place && slices.Contains(t.AtOnce, c.Concurrency) }) {
			return []string{"the servers respond slowly and hardly use the CPU, so they were driven at the same time after the first round"}
		}
	}
	return nil
}

// killed says which servers ignored SIGTERM.
func (d *Document) killed() (lines []string) {
	for _, e := range d.Experiments {
		for _, w := range e.Warnings {
			if w.Is(finding.Killed) {
				lines = append(lines, w.Text)
			}
		}
	}
	return lines
}

// onlyOne is what the page of one comparison has of it.
func (s *screen) onlyOne(d *Document, c Comparison, scale axis) {
	if plain.Width(s.first) <= textWidth {
		s.draw(onAxis(c.Comparison, scale)...)
	}
	if c.Reason.Is(finding.Errors) {
		s.asides(d.wrongOf(c))
	}
	s.rows(d.bothArms(c))
}

// wrongOf says what went wrong most often with either side.
func (d *Document) wrongOf(c Comparison) []string {
	var lines []string
	for _, r := range d.Results {
		if wrong := wrongKinds(r.Result); len(wrong) > 0 && r.Place == c.Place && r.Concurrency == c.Concurrency {
			lines = append(lines, r.Arm+": "+wrong[0])
		}
	}
	return lines[:min(2, len(lines))]
}

func moodOf(list []Comparison) mood {
	is := func(verdicts ...stat.Verdict) bool {
		return slices.ContainsFunc(list, func(c Comparison) bool { return slices.Contains(verdicts, c.Verdict) })
	}
	switch {
	case is(stat.Invalid, stat.Inconclusive):
		return doubted
	case is(stat.Slower, stat.More):
		return bad
	}
	return good
}

// trust is the status of the comparison: its verdict, the number of caveats that the page marks, and how and where it was made.
func trust(c trial.Comparison, where string, caveats int) string {
	rounds := plural(c.Rounds, "round")
	switch {
	case c.Verdict == stat.Invalid && c.Reason == nil: // as in a document of another version
		return "INVALID: no reason is given"
	case c.Verdict == stat.Invalid:
		return invalid(*c.Reason)
	case c.Verdict == stat.Inconclusive && c.Reason != nil:
		return fmt.Sprintf("INCONCLUSIVE (%s): %s", c.Reason.Code, c.Reason.Text)
	case c.Verdict == stat.Inconclusive:
		text := fmt.Sprintf("INCONCLUSIVE, which is not \"equal\": %s %s", rounds, where)
		if c.RoundsNeeded > 0 {
			needed := unit.Count(c.RoundsNeeded)
			if c.TimeNeeded > 0 {
				needed = roughly(c.TimeNeeded)
			}
			text += fmt.Sprintf("; about %s more would settle it%s", needed, beyond(c))
		}
		return text
	}
	how := ", servers restarted in each,"
	switch {
	case finding.NotInterleaved.In(c.Warnings):
		how = ", each side measured separately,"
	case finding.RoundsNotFresh.In(c.Warnings):
		how = ""
	}
	return fmt.Sprintf("%s, valid%s: %s%s %s", c.Verdict, withCaveats(caveats), rounds, how, where)
}

// invalid is the status of what is refused for a reason.
func invalid(reason finding.Warning) string {
	return fmt.Sprintf("INVALID (%s): %s", reason.Code, reason.Text)
}

// withCaveats says how many caveats a page marks.
func withCaveats(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" with %s (!)", plural(n, "caveat"))
}

// levelOf is 1 − the confidence of the intervals that a page shows of these, of the least certain
// of them; 0: it shows none.
func levelOf(list ...Comparison) float64 {
	level := 0.0
	for _, c := range list {
		if c.Verdict != stat.Invalid && c.Bounded() {
			level = max(level, c.Level)
		}
	}
	return level
}

// confident has the confidence of intervals in brackets; "" at the level 0, where there are none.
func confident(level float64) string {
	if level == 0 {
		return ""
	}
	return " (" + ci(level) + ")"
}

// summary puts several comparisons into a sentence, with the largest valid difference first, and
// counts how many of them are valid.
func summary(list []Comparison) (first, trust string) {
	believed := slices.DeleteFunc(slices.Clone(list), func(c Comparison) bool {
		return c.Verdict == stat.Invalid || c.Verdict == stat.Inconclusive || c.Rounds == 0
	})
	var parts []string
	for _, v := range []struct {
		verdict stat.Verdict
		words   string
	}{{stat.Slower, "slower"}, {stat.Faster, "faster"}, {stat.More, "with more"}, {stat.Less, "with less"}, {stat.Equivalent, "equal"}} {
		if n := len(ofVerdict(list, v.verdict)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, v.words, v.verdict))
		}
	}
	trust = fmt.Sprintf("All %d comparisons are valid: %s", len(list), enumerated(parts))
	if len(believed) < len(list) {
		var not []string
		if n := len(ofVerdict(list, stat.Invalid)); n > 0 {
			not = append(not, fmt.Sprintf("%d of %d %s", n, len(list), refusals(list)))
		}
		if n := len(ofVerdict(list, stat.Inconclusive)); n > 0 {
			not = append(not, fmt.Sprintf("%d of %d INCONCLUSIVE", n, len(list)))
		}
		trust = strings.Join(not, ", ")
		if len(parts) > 0 {
			trust += "; valid: " + enumerated(parts)
		}
	}
	if len(believed) == 0 {
		return fmt.Sprintf("No result in any of %d comparisons", len(list)), trust
	}
	most := slices.MaxFunc(believed, func(a, b Comparison) int { return cmp.Compare(max(a.Ratio, 1/a.Ratio), max(b.Ratio, 1/b.Ratio)) })
	return fmt.Sprintf("%s%s %s; %s below", ahead(list, believed), sentence(most.Comparison), at(most.Comparison), plural(len(list)-1, "other")), trust
}

// refusals has INVALID with the codes of all that are.
func refusals(list []Comparison) string {
	because := slices.DeleteFunc(ofVerdict(list, stat.Invalid), func(c Comparison) bool { return c.Reason == nil })
	if len(because) > 0 {
		return fmt.Sprintf("INVALID (%s)", strings.Join(distinct(because, codeOf), ", "))
	}
	return string(stat.Invalid)
}

// typed are the alternatives as they were typed, or else what was driven.
func (d *Document) typed(list []Comparison) []Arm {
	if len(d.Arms) > 0 {
		return d.Arms
	}
	names := []string{list[0].Baseline}
	for _, c := range list {
		if !slices.Contains(names, c.Candidate) {
			names = append(names, c.Candidate)
		}
	}
	var arms []Arm
	for _, name := range names {
		if i := slices.IndexFunc(d.Results, func(r Result) bool { return r.Arm == name }); i >= 0 {
			arms = append(arms, Arm{Name: name, Does: d.Results[i].Target})
		}
	}
	return arms
}

// onAxis draws one valid comparison, and says what its signs are.
func onAxis(c trial.Comparison, scale axis) []string {
	if c.Verdict == stat.Invalid || c.Rounds == 0 {
		return nil
	}
	words, drawn := ofServers(c.Metric), scale.draw(c)
	line := fmt.Sprintf("  %7s %s %-7s", words.less, drawn, words.more)
	legend := ""
	if c.Bounded() {
		legend = "  ─ " + ci(c.Level)
	}
	if strings.ContainsAny(drawn, "├┤") {
		legend += "  ├ ┤ ±" + unit.Percent(c.Margin)
	}
	for _, name := range []string{c.Candidate, "measured"} {
		if full := line + "  ● " + plain.Line(name) + legend; plain.Width(full) <= textWidth {
			return []string{full}
		}
	}
	return []string{line}
}

// verdictTable has a row for each of several comparisons, with its interval on an axis where
// there is room.
func verdictTable(list []Comparison, scale axis) table {
	within := "interval"
	if level := levelOf(list...); level > 0 {
		within = ci(level)
	}
	differ := slices.ContainsFunc(list, func(c Comparison) bool { return c.Baseline != list[0].Baseline })
	t := table{columns: []string{"", "concurrency", "difference", within, "verdict"}}
	for _, c := range list {
		who, difference, within, drawn := c.Candidate, "", "", ""
		if name := withoutSource(c.Candidate); differ && name == withoutSource(c.Baseline) {
			who = name
		} else if differ {
			who += " against " + c.Baseline
		}
		if c.Rounds > 0 && c.Verdict != stat.Invalid {
			difference, within = ofServers(c.Metric).change(c.Effect), ofServers(c.Metric).interval(c.Effect)
			drawn = narrow(scale.draw(c.Comparison))
			if c.Metric != metric.Throughput {
				difference += " " + c.Metric.ShortWords()
			}
		}
		if c.Verdict == stat.Invalid && c.Reason != nil {
			within = c.Reason.Code
		}
		load := strings.Replace(strings.TrimPrefix(at(c.Comparison), "at concurrency "), " and a constant ", " at ", 1)
		t.rows, t.bars = append(t.rows, []string{who, load, difference, within, string(c.Verdict)}), append(t.bars, bar{signs: drawn})
	}
	if t = withValues(t, list); slices.ContainsFunc(t.lines(), func(line string) bool { return plain.Width(line) > textWidth }) {
		t.bars = nil
	}
	return t
}

// withoutSource is the name of an arm without the document that it is from: mutex (monday.json).
func withoutSource(arm string) string {
	name, _, _ := strings.Cut(arm, " (")
	return name
}

// narrow keeps every third column of an axis, and its special signs.
func narrow(drawn string) string {
	var b strings.Builder
	signs := []rune(drawn)
	for i := 0; i < len(signs); i += 3 {
		most := signs[i]
		for _, sign := range signs[i:min(i+3, len(signs))] {
			if strings.IndexRune(" ─├┤0●", sign) > strings.IndexRune(" ─├┤0●", most) {
				most = sign
			}
		}
		b.WriteRune(most)
	}
	return b.String()
}

// toTheLimit reports whether all that was compared is the throughput of callers that wait for their
// answers, which is that of a server at its limit.
func (d *Document) toTheLimit(list []Comparison) bool {
	return !slices.ContainsFunc(list, func(c Comparison) bool { return c.Metric != metric.Throughput || c.ChangedOver != nil }) &&
		!slices.ContainsFunc(d.Results, func(r Result) bool { return r.Model != load.ClosedModel })
}

// compareCare are the warnings of what was compared, each code once.
func (d *Document) compareCare() *findings {
	list := d.primary()
	care := &findings{places: 1 + len(distinct(list, func(c Comparison) string { return c.Candidate }))}
	meant, differ := d.toTheLimit(list), !slices.ContainsFunc(list, func(c Comparison) bool { return !c.Reason.Is(finding.AnswersDiffer) })
	add := func(w finding.Warning, where string) {
		if meant && w.Is(finding.ServerBusy) || differ && !tells(w) {
			return
		}
		if len(list) == 1 && list[0].Reason != nil && (list[0].Reason.Code == w.Code || w.Is(finding.NothingSucceeded)) {
			return // the second line says it
		}
		care.addCode(w, where)
	}
	for _, r := range d.Results {
		for _, w := range r.Warnings {
			add(w, r.Arm)
		}
	}
	for _, c := range d.Comparisons {
		for _, w := range c.Warnings {
			add(w, w.Arm)
		}
	}
	for _, e := range d.Experiments {
		for _, w := range e.Warnings {
			if !w.Is(finding.Killed) { // which has a line of its own
				add(w, w.Arm)
			}
		}
	}
	return care
}

// afterComparing says what to do next.
func (d *Document) afterComparing(s *screen, list []Comparison) Step {
	if e, own := d.own(); own && len(ofVerdict(list, stat.Inconclusive)) == len(list) && longerProfile(e.Profile) != "" {
		return Step{"measure longer what is inconclusive", fmt.Sprintf("contend lab %s --profile %s", e.name(), longerProfile(e.Profile))}
	}
	if d.Settle != "" {
		return d.settles()
	}
	for _, verdict := range []stat.Verdict{stat.Invalid, stat.Inconclusive} {
		for _, c := range ofVerdict(list, verdict) {
			if c.Reason != nil {
				return d.afterDoubt(c.Reason.Code)
			}
		}
	}
	if what := d.curing(s.marked()); what != (Step{}) {
		return what
	}
	if d.Again != "" {
		return Step{EveryNumber, d.Again + " --full"}
	}
	return cmp.Or(d.goesOn(), advise(addFull+"every number, or -o FILE to keep the result"))
}
