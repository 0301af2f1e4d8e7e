package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"contend/internal/unit"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// mostSaid bounds the comparisons of a part that are listed one by one.
const mostSaid = 3

// compared says the comparisons of a part: those that are decided, then the inconclusive and the INVALID ones.
func compared(list []Comparison) []remark {
	var remarks []remark
	levels := distinct(list, func(c Comparison) int { return c.Concurrency })
	decided := slices.DeleteFunc(slices.Clone(list), func(c Comparison) bool { return !believed(c) })
	means := meaning(list, decided)
	if len(decided) > mostSaid {
		remarks = append(remarks, remark{part: list[0].Part, standing: answered, verdict: tally(decided), text: extremes(decided), means: means, level: levelOf(decided...)})
	} else {
		for _, c := range decided {
			remarks = append(remarks, remark{part: c.Part, standing: answered, verdict: string(c.Verdict),
				text: briefly(c.Comparison) + atLevels(c.Comparison, levels), means: means, level: levelOf(c)})
		}
	}
	if open := ofVerdict(list, stat.Inconclusive); len(open) > 0 {
		remarks = append(remarks, remark{part: list[0].Part, standing: undecided, verdict: string(stat.Inconclusive), text: notDecided(open, levels), means: settles(open), level: levelOf(open...)})
	}
	if refused := ofVerdict(list, stat.Invalid); len(refused) > 0 {
		codes := distinct(refused, codeOf)
		remarks = append(remarks, remark{part: list[0].Part, standing: disbelieved, verdict: string(stat.Invalid), code: codes[0],
			text: fmt.Sprintf("No result: %s (%s)", which(refused, levels), enumerated(codes)), means: explained(codes[0])})
	}
	return remarks
}

func believed(c Comparison) bool {
	return c.Rounds > 0 && c.Verdict != stat.Invalid && c.Verdict != stat.Inconclusive
}

func codeOf(c Comparison) string {
	if c.Reason == nil {
		return string(stat.Invalid) // a document of another version may have no reason
	}
	return c.Reason.Code
}

// tally counts verdicts: 8 FASTER, 2 SLOWER.
func tally(list []Comparison) string {
	var parts []string
	for _, verdict := range []stat.Verdict{stat.Faster, stat.Slower, stat.More, stat.Less, stat.Equivalent, stat.Inconclusive, stat.Invalid} {
		if n := len(ofVerdict(list, verdict)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	return strings.Join(parts, ", ")
}

// atLevels says at which concurrency, unless that is 1 throughout.
func atLevels(c trial.Comparison, levels []int) string {
	text := ""
	if len(levels) > 1 || levels[0] > 1 {
		text = " " + atConcurrency(c.Concurrency)
	}
	if c.ChangedOver != nil {
		text += " and a constant " + unit.Rate(c.ChangedOver.RatePerSec)
	}
	return text
}

// which names the candidates of comparisons and their levels.
func which(list []Comparison, levels []int) string {
	candidates := distinct(list, func(c Comparison) string { return c.Candidate })
	if len(candidates) > 1 && len(levels) > 1 {
		var each []string
		for _, c := range list {
			each = append(each, c.Candidate+atLevels(c.Comparison, levels))
		}
		return several(each)
	}
	text := enumerated(candidates) + " compared with " + list[0].Baseline
	if len(levels) > 1 || levels[0] > 1 {
		text += " at concurrency " + enumerated(texts(distinct(list, func(c Comparison) int { return c.Concurrency })))
	}
	return text
}

func texts(numbers []int) []string {
	var list []string
	for _, n := range numbers {
		list = append(list, unit.Count(n))
	}
	return list
}

// extremes says the least and the greatest of several valid differences.
func extremes(list []Comparison) string {
	byRatio := func(a, b Comparison) int { return cmp.Compare(a.Ratio, b.Ratio) }
	least, greatest := slices.MinFunc(list, byRatio), slices.MaxFunc(list, byRatio)
	levels := distinct(list, func(c Comparison) int { return c.Concurrency })
	say := func(c Comparison) string {
		return fmt.Sprintf("%s, %s%s", c.Candidate, ofServers(c.Metric).changed(c.Effect), atLevels(c.Comparison, levels))
	}
	of := ""
	if m := list[0].Metric; m != metric.Throughput {
		of = m.Words() + " "
	}
	return fmt.Sprintf("%scompared with %s: from %s, to %s; %d in between", of, list[0].Baseline, say(least), say(greatest), len(list)-2)
}

// notDecided says what may still be true.
func notDecided(list []Comparison, levels []int) string {
	if len(list) == 1 {
		return briefly(list[0].Comparison) + atLevels(list[0].Comparison, levels)
	}
	text := "Cannot tell yet: " + which(list, levels)
	widest := list[0].Effect
	for _, c := range list {
		if !c.Bounded() || c.Metric != list[0].Metric {
			return text
		}
		widest.Low, widest.High = min(widest.Low, c.Low), max(widest.High, c.High)
	}
	return fmt.Sprintf("%s (%s)", text, ofServers(list[0].Metric).interval(widest))
}

// settles says what an undecided comparison means, and what would settle it.
func settles(list []Comparison) string {
	c := list[0]
	for _, other := range list {
		if other.Reason != nil {
			return upper(other.Reason.Text) + "."
		}
		if other.TimeNeeded > c.TimeNeeded || other.RoundsNeeded > c.RoundsNeeded {
			c = other
		}
	}
	text := "Any difference is within that range"
	if c.RoundsNeeded > 0 {
		text += "; about " + more(c.Comparison) + " would settle it" + beyond(c.Comparison)
	}
	return text + "."
}

func explained(code string) string {
	return "Nothing follows; contend explain " + code + " says what to do."
}

// upper begins a sentence.
func upper(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// meaning says what follows from the comparisons of a part that are decided.
func meaning(all, decided []Comparison) string {
	if len(decided) == 0 {
		return ""
	}
	candidates := distinct(all, func(c Comparison) string { return c.Candidate })
	if len(candidates) > 1 {
		return theBest(len(candidates)+1, decided)
	}
	winners := distinct(slices.DeleteFunc(slices.Clone(decided), func(c Comparison) bool { return c.Verdict == stat.Equivalent }), winner)
	switch len(winners) {
	case 0:
		return fmt.Sprintf("Either will do: any difference is within %s.", unit.Percent(decided[0].Margin))
	case 1:
		return winners[0] + " is the better of the two here."
	}
	return "Which is better depends on the concurrency."
}

// winner is the better of the two.
func winner(c Comparison) string {
	if gain(c) > 1 {
		return c.Candidate
	}
	return c.Baseline
}

// gain is how many times as good the candidate is.
func gain(c Comparison) float64 {
	if c.Metric.Kind() == metric.Rate {
		return c.Ratio
	}
	return 1 / c.Ratio
}

// theBest names the best of several variants, as far as they clearly differ.
func theBest(variants int, decided []Comparison) string {
	best := slices.MaxFunc(decided, func(a, b Comparison) int { return cmp.Compare(gain(a), gain(b)) })
	among := distinct(decided, func(c Comparison) string { return c.Candidate })
	of := strconv.Itoa(variants)
	if len(among)+1 < variants {
		of = fmt.Sprintf("the %d that clearly differ", len(among)+1)
	}
	return fmt.Sprintf("%s is the best of %s here.", winner(best), of)
}
