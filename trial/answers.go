package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"contend/finding"
	"contend/internal/unit"
	"contend/load"
)

// answersDiffer returns the refusal answers_differ if two arms do not do the same
// work, as finding.AnswersDiffer describes it; nil: they do, it is not known, or the
// design allows it.
func (t *Trials) answersDiffer(base, cand Cell) *finding.Warning {
	if t.Design.AnswersMayDiffer {
		return nil
	}
	return AnswersDiffer(base, cand)
}

// AnswersDiffer is answersDiffer of what was not measured in trials.
func AnswersDiffer(base, cand Cell) *finding.Warning {
	if alike(base, cand, 0) {
		return nil
	}
	return finding.AnswersDiffer.Refusal("the responses differ, so the servers do not do the same work: %s; %s", described(base), described(cand))
}

// plainlyDiffer reports whether the answers of two arms differ by more than few of them do by
// chance: a share of n answers is off by up to 1 ÷ √n, twice the largest standard
// deviation that it can have.
func (t *Trials) plainlyDiffer(base, cand Cell) bool {
	fewest := min(base.Answers.Count(), cand.Answers.Count())
	return !t.Design.AnswersMayDiffer && !alike(base, cand, 1/math.Sqrt(float64(max(1, fewest))))
}

// alike reports whether the answers of two arms are alike, if each share of an arm's answers may
// be off by chance; also true if that is not known.
func alike(base, cand Cell, chance float64) bool {
	a, b := base.Answers, cand.Answers
	known := a.Count() > 0 && b.Count() > 0
	return !known || bothChecked(a, b) || sameKinds(a, b, chance) && sameLengths(a, b, chance)
}

// bothChecked: every right answer has passed a check of its content.
func bothChecked(a, b *load.Answers) bool { return a.Checked == a.Count() && b.Checked == b.Count() }

// sameKinds: the shares of the statuses and types are alike. Their distance is
// the share of the answers that would have to be of another kind (total variation).
func sameKinds(a, b *load.Answers, chance float64) bool {
	distance := 0.0
	for _, k := range a.Kinds {
		distance += math.Abs(share(a, k) - share(b, k))
	}
	for _, k := range b.Kinds {
		if share(a, k) == 0 {
			distance += share(b, k)
		}
	}
	return distance/2 <= finding.AnswersDiffer.Refuses+2*chance // of either arm
}

// share is that of the answers of the same status and type as another.
func share(a *load.Answers, like load.AnswerKind) float64 {
	i := slices.IndexFunc(a.Kinds, func(k load.AnswerKind) bool { return k.Status == like.Status && k.ContentType == like.ContentType })
	if i < 0 {
		return 0
	}
	return float64(a.Kinds[i].Count) / float64(a.Count())
}

// aroundMedian is how far from the median, in shares of the bodies, those of two arms
// may meet: where each has two lengths, half of the bodies each, the median is either
// by chance.
const aroundMedian = 0.05

// sameLengths: the median answers are about as long, or would be with a few more or
// fewer short ones.
func sameLengths(a, b *load.Answers, chance float64) bool {
	around := func(a *load.Answers) (low, high int64) {
		return a.BodyQuantile(max(0, 0.5-aroundMedian-chance)), a.BodyQuantile(min(1, 0.5+aroundMedian+chance))
	}
	lowA, highA := around(a)
	lowB, highB := around(b)
	apart := max(lowA-highB, lowB-highA)
	return float64(apart) <= max(finding.SameLength, finding.AnswersDiffer.Refuses*float64(a.BodyQuantile(0.5)))
}

// described says what most of an arm's answers are like.
func described(c Cell) string {
	a := c.Answers
	most := slices.MaxFunc(a.Kinds, func(x, y load.AnswerKind) int { return cmp.Compare(x.Count, y.Count) })
	var words []string
	switch {
	case most.StatusName != "":
		words = append(words, most.StatusName)
	case most.Status != 0:
		words = append(words, strconv.Itoa(most.Status))
	}
	if most.ContentType != "" {
		words = append(words, most.ContentType)
	}
	if most.Count < a.Count() {
		words = append(words, fmt.Sprintf("(%.0f%% of them)", 100*share(a, most)))
	}
	if a.Redirects == a.Count() {
		words = append(words, "to "+a.Location)
	}
	size := unit.Count(a.BodyQuantile(0.5)) + " bytes"
	if len(words) == 0 {
		return c.Arm + ": " + size
	}
	return fmt.Sprintf("%s: %s, %s", c.Arm, strings.Join(words, " "), size)
}
